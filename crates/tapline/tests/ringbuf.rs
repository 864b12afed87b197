//! Packets copied by a program into ring buffers: what a capture has of them, against the number that was
//! sent and what the stack sees.

use crate::support;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Teller, Told, Witness, frames, number, run, send, until_told};
use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, pin_to_cpu, udp_frame};
use lab::skip::{Feature, without};
use lab::{Host, Net};
use netlink::{Ethtool, IfName};
use ring::{DeliveryMode, DirectionFilter, TimestampSource};
use tapline::capture::{
    Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, Ended, Expression, Filter,
    MirrorLimit, Mode, ModeError, Sampling, XdpAttachMode, XdpMode,
};
use tapline::filter::NoNames;

/// A veth receives on the processor that sends.
const TWO_PROCESSORS: Feature = Feature {
    name: "two processors",
    probe: || match std::thread::available_parallelism() {
        Ok(count) if count.get() >= 2 => Ok(()),
        other => Err(format!("available: {other:?}")),
    },
};

const BATCH: DeliveryMode = DeliveryMode::Batch {
    min_bytes: 1 << 20,
    timeout: Duration::from_millis(5),
};

fn options(host: &Host) -> CaptureOptions {
    support::options(host, Backend::XdpRingbuf)
        .direction(DirectionFilter::In)
        .snaplen(96)
        .buffer_bytes(16 << 20)
}

fn expression(text: &str) -> Filter {
    Filter::Expression(Expression {
        text: text.to_owned(),
        names: Arc::new(NoNames),
    })
}

fn generator(left: &Host) -> Generator {
    let mut options = GeneratorOptions::new(left.interface().index, udp_frame(80));
    options.sequence_at = Some(SEQUENCE_AT);
    left.run(|| Generator::new(options))
}

/// Has `count` frames arrive on `cpu`.
fn deliver(left: &Host, generator: &mut Generator, cpu: usize, count: u64) {
    left.run(|| {
        pin_to_cpu(cpu).unwrap();
        assert_eq!(generator.deliver(count, None).delivered, count);
    });
}

/// The account adds up to `received`, and the final statistics tell the same.
#[track_caller]
fn assert_adds_up(outcome: &CaptureSummary, teller: &Teller, received: u64) {
    let account = outcome.account;
    let sum = account.delivered + account.filtered.unwrap() + account.lost.total();
    assert_eq!((account.received(), sum), (Some(received), received));
    assert_eq!(account.lost.total(), account.lost.program);
    assert_eq!(account.delivered, teller.taken);
    let statistics = teller.finished.as_ref().expect("the end was told");
    assert_eq!(statistics[0].received, Some(received));
    assert_eq!(statistics[0].os_dropped, Some(account.lost.program));
    assert_eq!(outcome.timestamp_source, TimestampSource::Kernel);
}

#[test]
fn what_matches_is_copied_and_the_stack_sees_everything() {
    for (place, mode) in [
        (XdpAttachMode::Native, XdpMode::Native),
        (XdpAttachMode::Generic, XdpMode::Generic),
    ] {
        for delivery in [DeliveryMode::Immediate, BATCH] {
            let [left, right] = Net::new().pair();
            let mut stack = Witness::on(&right);
            let wanted = options(&right)
                .with_filter(Some(expression("ether proto 0x88b5 and ether[17] < 30")))
                .xdp(place)
                .delivery(delivery);
            let mut teller = Teller::new();
            let before_ns = abi::clock::realtime_ns();
            let (outcome, ()) = run(&right, wanted, &mut teller, |stopper| {
                send(&left, &[frames(0, 55), vec![udp_frame(200); 20]].concat());
                stack.until(75);
                stopper.stop();
            });
            let after_ns = abi::clock::realtime_ns();
            assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
            assert_adds_up(&outcome, &teller, 75);
            assert_eq!(outcome.account.filtered, Some(45));
            assert_eq!(outcome.account.lost.total(), 0);
            assert_eq!(outcome.xdp_mode(), Some(mode));
            assert_eq!(teller.kept.len(), 30);
            for (expected, (_, time_ns, bytes)) in (0..).zip(&teller.kept) {
                assert_eq!(number(bytes), expected);
                // The offset of the two clocks is known to some 50 ns.
                assert!((before_ns - 1000..=after_ns + 1000).contains(time_ns));
            }
        }
    }
}

/// A list that is too long for a socket is a set of the program's.
#[test]
fn a_list_of_hosts_is_a_set_in_the_kernel() {
    let [left, right] = Net::new().pair();
    let mut stack = Witness::on(&right);
    let hosts = (0..5000).map(|n: u32| format!("10.1.{}.{}", n / 250, n % 250));
    let hosts = hosts.chain(["198.18.0.1".to_owned()]);
    let text = format!("src host ({})", hosts.collect::<Vec<_>>().join(" or "));
    let wanted = options(&right).with_filter(Some(expression(&text)));
    let mut teller = Teller::new();
    let (outcome, ()) = run(&right, wanted, &mut teller, |stopper| {
        let mut other = udp_frame(100);
        other[29] = 9;
        send(&left, &[vec![udp_frame(100); 7], vec![other; 4]].concat());
        stack.until(11);
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 11);
    assert_eq!(teller.taken, 7);
}

/// The consumer is away while many times as many packets come as the buffer holds.
#[test]
fn at_overload_what_found_no_room_is_counted_and_told_with_a_packet() {
    for filter in [None, Some(expression("ip"))] {
        let [left, right] = Net::new().pair();
        let mut stack = Witness::on(&right);
        let mut generator = generator(&left);
        let (mut teller, release, told) = Teller::stalling();
        let small = options(&right).buffer_bytes(1).with_filter(filter);
        let (outcome, ()) = run(&right, small, &mut teller, |stopper| {
            deliver(&left, &mut generator, 0, 1);
            until_told(&told, Told::Holding);
            deliver(&left, &mut generator, 0, 30_000);
            stack.until(30_001);
            release.send(()).unwrap();
            // The buffer is empty; a packet that finds room brings the loss to light.
            until_told(&told, Told::Idle);
            deliver(&left, &mut generator, 0, 1);
            stack.until(30_002);
            stopper.stop();
        });
        assert_adds_up(&outcome, &teller, 30_002);
        let account = outcome.account;
        assert_eq!(account.filtered, Some(0));
        assert!(account.lost.program > 20_000, "{outcome:?}");
        assert_eq!(teller.lost_before, account.lost.program);
    }
}

#[test]
fn packets_of_several_processors_are_all_delivered() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut stack = Witness::on(&right);
    let mut generator = generator(&left);
    let mut teller = Teller::new();
    let (outcome, ()) = run(&right, options(&right), &mut teller, |stopper| {
        for round in 1..=10 {
            deliver(&left, &mut generator, 0, 1000);
            deliver(&left, &mut generator, 1, 3000);
            stack.until(round * 4000);
        }
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 40_000);
    assert_eq!((outcome.account.delivered, teller.taken), (40_000, 40_000));
    assert!(outcome.rings() >= 2);
}

/// A sample is chosen before anything is copied; what it leaves out is filtered.
#[test]
fn a_sample_of_what_matches_is_copied() {
    let [left, right] = Net::new().pair();
    let mut stack = Witness::on(&right);
    let sampled = options(&right)
        .with_filter(Some(expression("ether proto 0x88b5")))
        .sampling(Sampling::OneIn(NonZeroU32::new(10).unwrap()));
    let mut teller = Teller::new();
    let (outcome, ()) = run(&right, sampled, &mut teller, |stopper| {
        send(&left, &[frames(0, 95), vec![udp_frame(200); 20]].concat());
        stack.until(115);
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 115);
    let account = outcome.account;
    assert_eq!(
        (account.filtered, account.sampled_out),
        (Some(105), Some(85))
    );
    let numbers: Vec<u32> = (teller.kept.iter())
        .map(|(_, _, bytes)| number(bytes))
        .collect();
    assert_eq!(numbers, (0..95).step_by(10).collect::<Vec<_>>());
}

#[test]
fn after_the_last_packet_asked_for_the_others_count_as_filtered() {
    let [left, right] = Net::new().pair();
    let mut stack = Witness::on(&right);
    let mut generator = generator(&left);
    let (mut teller, release, told) = Teller::stalling();
    let mut limited = options(&right);
    limited.limits.packets = Some(777);
    let (outcome, ()) = run(&right, limited, &mut teller, |_| {
        deliver(&left, &mut generator, 0, 1);
        until_told(&told, Told::Holding);
        deliver(&left, &mut generator, 0, 4999);
        stack.until(5000);
        release.send(()).unwrap();
    });
    assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
    assert_adds_up(&outcome, &teller, 5000);
    assert_eq!(outcome.account.filtered, Some(5000 - 777));
}

#[test]
fn an_interface_that_goes_ends_the_capture() {
    for (command, is_down) in [("set right0 down", true), ("del right0", false)] {
        let [left, right] = Net::new().pair();
        let mut stack = Witness::on(&right);
        let mut teller = Teller::new();
        let (outcome, ()) = run(&right, options(&right), &mut teller, |_| {
            send(&left, &frames(0, 10));
            stack.until(10);
            let mut ip = right.command("ip");
            let status = ip.arg("link").args(command.split(' ')).status();
            assert!(status.unwrap().success());
        });
        match &outcome.ended {
            Ended::LinkDown { link } => assert!(is_down && link == "right0"),
            Ended::LinkRemoved { link } => assert!(!is_down && link == "right0"),
            other => panic!("{other:?}"),
        }
        assert_eq!((outcome.account.delivered, teller.taken), (10, 10));
    }
}

/// Why a program copies packets in the driver only where it is asked for: a packet socket leaves the
/// other end of a veth its segmentation, the program takes it away (`veth_xdp_set`, drivers/net/veth.c).
#[test]
fn a_program_in_the_driver_takes_segmentation_from_the_other_end() {
    let [left, right] = Net::new().pair();
    let name = IfName::new("left0").unwrap();
    let is_whole = || {
        let told = left.run(|| Ethtool::open()?.features(name));
        told.unwrap().is_active("tx-tcp-segmentation")
    };
    assert!(is_whole());
    for (backend, expected) in [(Backend::PacketV3, true), (Backend::XdpRingbuf, false)] {
        let options = options(&right).xdp(XdpAttachMode::Native).backend(backend);
        let capture = right.run(|| Capture::open(options)).unwrap();
        assert_eq!(is_whole(), expected, "{backend:?}");
        drop(capture);
        assert!(is_whole());
    }
}

#[test]
fn what_the_program_cannot_do_is_refused() {
    let [_left, right] = Net::new().pair();
    let limits = [
        (
            options(&right).direction(DirectionFilter::Both),
            MirrorLimit::Direction,
        ),
        (
            options(&right).timestamps(TimestampSource::Hardware),
            MirrorLimit::HardwareTime,
        ),
        (
            options(&right).with_filter(Some(support::ipv4_only())),
            MirrorLimit::ClassicProgram,
        ),
        (
            options(&right).snaplen(16_385),
            MirrorLimit::Snaplen { snaplen: 16_385 },
        ),
    ];
    let cases = limits.map(|(options, limit)| (options, ModeError::Mirror(limit)));
    let drop_mode = options(&right).mode(Mode::Drop);
    let of_drop_mode = ModeError::Backend {
        backend: Backend::XdpRingbuf,
        mode: Mode::Drop,
    };
    for (options, expected) in cases.into_iter().chain([(drop_mode, of_drop_mode)]) {
        match right.run(|| Capture::open(options)) {
            Err(CaptureError::Mode(error)) => assert_eq!(error, expected),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    }
}
