//! Packets that a program copies into ring buffers, compared with the number sent and what the stack receives.

use std::num::NonZeroU32;
use std::time::Duration;

use lab::Host;
use lab::generator::{pin_to_cpu, udp_frame};
use lab::skip::without;
use netlink::{Ethtool, IfName};
use ring::{DeliveryMode, DirectionFilter, TimestampSource};
use tapline::capture::{
    Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, Ended, MirrorLimit, Mode,
    ModeError, Sampling, XdpAttachMode, XdpMode,
};

use crate::support::{
    self, Pair, TWO_PROCESSORS, Teller, Told, assert_account, expression, frames, send,
    until_reported,
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

/// Checks the numbers of filtered and lost packets of `received`, and the final statistics.
#[track_caller]
fn assert_adds_up(outcome: &CaptureSummary, teller: &Teller, received: u64, filtered: u64) {
    let account = outcome.account;
    let lost = account.lost.program;
    assert_account(&account, received - filtered - lost, filtered, lost);
    assert_eq!(account.delivered, teller.taken);
    let statistics = &teller.finished.as_ref().expect("the end was told")[0];
    assert_eq!(
        (statistics.received, statistics.os_dropped),
        (Some(received), Some(lost))
    );
    assert_eq!(outcome.timestamp_source(), Some(TimestampSource::Kernel));
}

#[test]
pub fn what_matches_is_copied_and_the_stack_sees_everything() {
    for (place, mode) in [
        (XdpAttachMode::Native, XdpMode::Native),
        (XdpAttachMode::Generic, XdpMode::Generic),
    ] {
        for delivery in [DeliveryMode::Immediate, BATCH] {
            let mut pair = Pair::new();
            let wanted = options(&pair.right)
                .with_filter(expression("ether proto 0x88b5 and ether[17] < 30"))
                .xdp(place)
                .delivery(delivery);
            let mut teller = Teller::new();
            let before_ns = abi::clock::realtime_ns();
            let outcome = pair.run(wanted, &mut teller, |pair, stopper| {
                send(
                    &pair.left,
                    &[frames(0, 55), vec![udp_frame(200); 20]].concat(),
                );
                pair.until(75);
                stopper.stop();
            });
            let after_ns = abi::clock::realtime_ns();
            assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
            assert_adds_up(&outcome, &teller, 75, 45);
            assert_eq!(
                (outcome.xdp_mode(), outcome.account.lost.total()),
                (Some(mode), 0)
            );
            assert!(teller.numbers().eq(0..30));
            // The offset of the two clocks is known to some 50 ns.
            let sending = before_ns - 1000..=after_ns + 1000;
            assert!(
                teller
                    .kept
                    .iter()
                    .all(|kept| sending.contains(&kept.time_ns))
            );
        }
    }
}

/// A list that is too long for a socket filter becomes a map of the program.
#[test]
fn a_list_of_hosts_is_a_set_in_the_kernel() {
    let mut pair = Pair::new();
    let hosts = (0..5000).map(|n: u32| format!("10.1.{}.{}", n / 250, n % 250));
    let hosts = hosts.collect::<Vec<_>>().join(" or ");
    let text = format!("src host ({hosts} or 198.18.0.1)");
    let wanted = options(&pair.right).with_filter(expression(&text));
    let mut teller = Teller::new();
    let outcome = pair.run(wanted, &mut teller, |pair, stopper| {
        let mut other = udp_frame(100);
        other[29] = 9;
        send(
            &pair.left,
            &[vec![udp_frame(100); 7], vec![other; 4]].concat(),
        );
        pair.until(11);
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 11, 4);
}

/// The consumer stalls while many times the buffer's capacity arrives.
#[test]
fn at_overload_what_found_no_room_is_counted_and_reported_with_a_packet() {
    for filter in [None, Some(expression("ip"))] {
        let mut pair = Pair::new();
        let (mut teller, release, told) = Teller::stalling();
        let small = options(&pair.right).buffer_bytes(1).with_filter(filter);
        let outcome = pair.run(small, &mut teller, |pair, stopper| {
            pin_to_cpu(0).unwrap();
            pair.deliver(1);
            until_reported(&told, Told::Holding);
            pair.deliver(30_000);
            pair.until(30_001);
            release.send(()).unwrap();
            // The buffer is empty; a packet that finds room brings the loss to light.
            until_reported(&told, Told::Idle);
            pair.deliver(1);
            pair.until(30_002);
            stopper.stop();
        });
        assert_adds_up(&outcome, &teller, 30_002, 0);
        assert!(outcome.account.lost.program > 20_000, "{outcome:?}");
        assert_eq!(teller.lost_before, outcome.account.lost.program);
    }
}

#[test]
fn packets_of_several_processors_are_all_delivered() {
    if without(&TWO_PROCESSORS) {
        return;
    }
    let mut pair = Pair::new();
    let mut teller = Teller::new();
    let outcome = pair.run(options(&pair.right), &mut teller, |pair, stopper| {
        for round in 1..=10 {
            for (cpu, count) in [(0, 1000), (1, 3000)] {
                pin_to_cpu(cpu).unwrap();
                pair.deliver(count);
            }
            pair.until(round * 4000);
        }
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 40_000, 0);
    assert_eq!(teller.taken, 40_000);
    assert!(outcome.rings() >= 2);
}

/// Sampling comes before copying; sampled-out packets count as filtered.
#[test]
fn a_sample_of_what_matches_is_copied() {
    let mut pair = Pair::new();
    let sampled = options(&pair.right)
        .with_filter(expression("ether proto 0x88b5"))
        .sampling(Sampling::OneIn(NonZeroU32::new(10).unwrap()));
    let mut teller = Teller::new();
    let outcome = pair.run(sampled, &mut teller, |pair, stopper| {
        send(
            &pair.left,
            &[frames(0, 95), vec![udp_frame(200); 20]].concat(),
        );
        pair.until(115);
        stopper.stop();
    });
    assert_adds_up(&outcome, &teller, 115, 105);
    assert_eq!(outcome.account.sampled_out, Some(85));
    assert!(teller.numbers().eq((0..95).step_by(10)));
}

#[test]
fn after_the_last_packet_asked_for_the_others_count_as_filtered() {
    let mut pair = Pair::new();
    let (mut teller, release, told) = Teller::stalling();
    let limited = options(&pair.right).packets(777);
    let outcome = pair.run(limited, &mut teller, |pair, _| {
        pair.deliver(1);
        until_reported(&told, Told::Holding);
        pair.deliver(4999);
        pair.until(5000);
        release.send(()).unwrap();
    });
    assert!(matches!(outcome.ended, Ended::Packets), "{outcome:?}");
    assert_adds_up(&outcome, &teller, 5000, 5000 - 777);
}

#[test]
fn an_interface_that_goes_ends_the_capture() {
    for (command, is_down) in [("link set right0 down", true), ("link del right0", false)] {
        let mut pair = Pair::new();
        let mut teller = Teller::new();
        let outcome = pair.run(options(&pair.right), &mut teller, |pair, _| {
            pair.send(0, 10);
            pair.until(10);
            pair.right.ip(command);
        });
        match &outcome.ended {
            Ended::LinkDown { link } => assert!(is_down && link == "right0"),
            Ended::LinkRemoved { link } => assert!(!is_down && link == "right0"),
            other => panic!("{other:?}"),
        }
        assert_eq!((outcome.account.delivered, teller.taken), (10, 10));
    }
}

/// Why a program copies packets in the driver only on request: native XDP disables segmentation offload of the veth's
/// peer (`veth_xdp_set`, drivers/net/veth.c); a packet socket does not.
#[test]
fn a_program_in_the_driver_takes_segmentation_from_the_other_end() {
    let pair = Pair::new();
    let name = IfName::new("left0").unwrap();
    let is_whole = || {
        let told = pair.left.run(|| Ethtool::open()?.features(name));
        told.unwrap().is_active("tx-tcp-segmentation")
    };
    assert!(is_whole());
    for (backend, expected) in [(Backend::PacketV3, true), (Backend::XdpRingbuf, false)] {
        let options = options(&pair.right)
            .xdp(XdpAttachMode::Native)
            .backend(backend);
        let capture = pair.open(options);
        assert_eq!(is_whole(), expected, "{backend:?}");
        drop(capture);
        assert!(is_whole());
    }
}

#[test]
fn what_the_program_cannot_do_is_refused() {
    let pair = Pair::new();
    let good = || options(&pair.right);
    let mirror = ModeError::Mirror;
    let of_drop_mode = ModeError::Backend {
        backend: Backend::XdpRingbuf,
        mode: Mode::Drop,
    };
    for (options, expected) in [
        (
            good().direction(DirectionFilter::Both),
            mirror(MirrorLimit::Direction),
        ),
        (
            good().with_filter(support::ipv4_only()),
            mirror(MirrorLimit::ClassicProgram),
        ),
        (
            good().snaplen(16_385),
            mirror(MirrorLimit::Snaplen { snaplen: 16_385 }),
        ),
        (good().mode(Mode::Drop), of_drop_mode),
    ] {
        match pair.right.run(|| Capture::open(options)) {
            Err(CaptureError::Mode(error)) => assert_eq!(error, expected),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    }
}
