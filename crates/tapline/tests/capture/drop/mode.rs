//! Drop mode: which packets a capture takes from the driver and which it leaves to the stack, compared with the number
//! sent.

use std::net::UdpSocket;

use lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use lab::kernel::{AF_XDP_FRAGMENTS, LIVE_FRAMES, XDP_FRAGMENTS};
use lab::skip::without;
use lab::{Host, Net, wait};
use ring::{DirectionFilter, TimestampSource};
use tapline::Stop;
use tapline::capture::{
    Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, Ended, Mode, ModeError,
    UnmatchedAction, XdpAttachMode, XdpMode,
};

use crate::support::{
    self, DEADLINE, Pair, TWO_PROCESSORS, Teller, Witness, assert_account, drop_options,
    expression, frames, number, run, send, summary, until_received,
};

/// At the interface's MTU each packet takes one chunk of 2048 bytes.
const CHUNK_BYTES: usize = 2048;

/// Automatic (memory filled by the program, if suitable) and AF_XDP sockets.
const WAYS: [Option<Backend>; 2] = [None, Some(Backend::Xdp)];

fn options(host: &Host) -> CaptureOptions {
    drop_options(host, 4096 * CHUNK_BYTES)
}

/// Captures these frames until `received` packets are accounted for.
#[track_caller]
fn take(
    [left, right]: &[Host; 2],
    options: CaptureOptions,
    sent: &[Vec<u8>],
) -> (CaptureSummary, Teller) {
    let (mut teller, told) = Teller::telling();
    let (outcome, ()) = run(right, options, &mut teller, |stopper| {
        send(left, sent);
        until_received(&told, sent.len() as u64);
        stopper.stop();
    });
    assert!(matches!(outcome.ended, Ended::Stopped), "{outcome:?}");
    assert_eq!(
        outcome.account.received(),
        Some(sent.len() as u64),
        "{outcome:?}"
    );
    assert_eq!(outcome.timestamp_source(), Some(TimestampSource::Kernel));
    assert_eq!(outcome.account.delivered, teller.kept.len() as u64);
    (outcome, teller)
}

#[test]
pub fn what_matches_is_taken_and_the_stack_sees_the_others() {
    // AF_XDP sockets, where a program cannot fill memory that it shares with the reader.
    let automatic = match (XDP_FRAGMENTS.probe)() {
        Ok(()) => bpf::RingBufferProgram::cpu_count().unwrap(),
        Err(_) => 1,
    };
    for (place, mode) in [
        (XdpAttachMode::Native, XdpMode::Native),
        (XdpAttachMode::Generic, XdpMode::Generic),
    ] {
        for (backend, rings) in [(None, automatic), (Some(Backend::Xdp), 1)] {
            let hosts = Net::new().pair();
            let mut stack = Witness::on(&hosts[1]);
            let wanted = options(&hosts[1])
                .with_filter(expression("udp"))
                .xdp(place)
                .backend(backend);
            let datagrams = vec![udp_frame(200); 30];
            let before_ns = abi::clock::realtime_ns();
            let (outcome, teller) = take(
                &hosts,
                wanted,
                &[frames(0, 20), datagrams, frames(20, 5)].concat(),
            );
            let after_ns = abi::clock::realtime_ns();
            assert_account(&outcome.account, 30, 25, 0);
            stack.until(25);
            assert_eq!((outcome.rings(), outcome.xdp_mode()), (rings, Some(mode)));
            assert!(teller.kept.is_sorted_by_key(|kept| kept.time_ns));
            for kept in &teller.kept {
                assert!((before_ns..=after_ns).contains(&kept.time_ns));
                // There is one queue, which tells nothing.
                assert_eq!((&kept.bytes[..], kept.queue), (&udp_frame(200)[..96], None));
            }
        }
    }
}

#[test]
fn others_may_be_dropped_too() {
    for backend in WAYS {
        let hosts = Net::new().pair();
        let mut stack = Witness::on(&hosts[1]);
        let wanted = options(&hosts[1])
            .with_filter(expression("udp"))
            .others(UnmatchedAction::Drop)
            .backend(backend);
        let (outcome, _) = take(&hosts, wanted, &frames(0, 20));
        assert_account(&outcome.account, 0, 20, 0);
        assert_eq!(stack.count(), 0);
        // The kernel detaches the program a little later if another process has just looked at it.
        wait::until("the stack sees packets", || {
            send(&hosts[0], &frames(20, 1));
            stack.count() > 0
        });
    }
}

/// A filter that is too long for a socket runs completely in the kernel here.
#[test]
fn a_list_of_hosts_is_a_set_in_the_kernel() {
    let hosts = (0..5000).map(|n: u32| format!("10.1.{}.{}", n / 250, n % 250));
    let list = format!(
        "src host ({} or 198.18.0.1)",
        hosts.collect::<Vec<_>>().join(" or ")
    );
    for backend in WAYS {
        let hosts = Net::new().pair();
        let wanted = options(&hosts[1])
            .with_filter(expression(&list))
            .backend(backend);
        let mut other = udp_frame(100);
        other[29] = 9;
        let (outcome, _) = take(
            &hosts,
            wanted,
            &[vec![udp_frame(100); 7], vec![other; 4]].concat(),
        );
        assert_account(&outcome.account, 7, 4, 0);
    }
}

/// The consumer stalls while ten times the ring's capacity arrives.
#[test]
fn at_overload_every_packet_is_delivered_filtered_or_lost() {
    const SENT: u64 = 40_000;
    if without(&LIVE_FRAMES) {
        return;
    }
    for backend in WAYS {
        let mut pair = Pair::new();
        let wanted = options(&pair.right)
            .with_filter(expression("udp"))
            .backend(backend);
        let (mut teller, release, told) = Teller::stalling();
        let outcome = pair.run(wanted, &mut teller, |pair, stopper| {
            // Each CPU has its own memory and loses packets separately.
            pin_to_cpu(0).unwrap();
            pair.send(0, 100);
            pair.deliver(SENT);
            release.send(()).unwrap();
            until_received(&told, SENT + 100);
            // And a packet that tells of the loss.
            send(&pair.left, &[udp_frame(128)]);
            until_received(&told, SENT + 101);
            stopper.stop();
        });
        let account = outcome.account;
        let lost = match backend {
            Some(_) => account.lost.ring,
            None => account.lost.program,
        };
        assert!(lost > 0, "{account:?}");
        assert_account(&account, SENT + 1 - lost, 100, lost);
        assert_eq!(
            (teller.taken, teller.lost_before),
            (account.delivered, lost)
        );
    }
}

/// A buffer has 4096 bytes, 3840 of them for the packet; frames are truncated to the snap length.
#[test]
fn frames_of_several_buffers_are_whole_or_cut_to_the_snaplen() {
    if without(&AF_XDP_FRAGMENTS) {
        return;
    }
    let sent = [60, 3839, 3840, 3841, 9014, 1514, 7681, 14].map(|length: usize| {
        let mut frame = frames(7, 1).remove(0);
        frame.resize(length, 0xa5);
        frame
    });
    let ways = [262_144, 9014, 9013, 5000, 3841, 3840, 1000, 96].map(|snaplen| (snaplen, None));
    let ways = ways
        .into_iter()
        .chain([96, 1].map(|snaplen| (snaplen, Some(Backend::Xdp))));
    for (place, (snaplen, backend)) in [XdpAttachMode::Native, XdpAttachMode::Generic]
        .into_iter()
        .flat_map(|place| ways.clone().map(move |way| (place, way)))
    {
        let hosts = Net::new().pair();
        for host in &hosts {
            host.ip(&format!("link set {} mtu 9000", host.interface().name));
        }
        let wanted = drop_options(&hosts[1], 4 << 20)
            .snaplen(snaplen)
            .xdp(place)
            .backend(backend);
        let (outcome, teller) = take(&hosts, wanted, &[(); 10].map(|()| sent.clone()).concat());
        assert_account(&outcome.account, 80, 0, 0);
        for (kept, sent) in teller.kept.iter().zip(sent.iter().cycle()) {
            assert_eq!(
                (kept.len, &kept.bytes[..]),
                (sent.len(), &sent[..sent.len().min(snaplen as usize)])
            );
            assert!(kept.bytes.len() < 18 || number(&kept.bytes) == 7);
        }
    }
}

#[test]
fn a_queue_that_was_just_left_is_waited_for() {
    let pair = Pair::new();
    let options = options(&pair.right).backend(Backend::Xdp);
    for _ in 0..5 {
        drop(pair.open(options.clone()));
    }
    // One that somebody keeps is not had.
    let _kept = pair.open(options.clone());
    let refusal = pair
        .right
        .run(|| Capture::open(options.clone()).err().unwrap());
    assert!(
        refusal.to_string().contains("another AF_XDP socket has"),
        "{refusal}"
    );
}

#[test]
fn what_drop_mode_has_not_is_refused() {
    let pair = Pair::new();
    let good = || options(&pair.right);
    let (backend, mode) = (Backend::PacketV3, Mode::Drop);
    for (options, expected) in [
        (good().direction(DirectionFilter::Out), ModeError::Outgoing),
        (
            good().with_filter(support::ipv4_only()),
            ModeError::ClassicProgram,
        ),
        (
            good().backend(backend),
            ModeError::Backend { backend, mode },
        ),
    ] {
        match pair.right.run(|| Capture::open(options)) {
            Err(CaptureError::Mode(error)) => assert_eq!(error, expected),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was opened"),
        }
    }
}

/// Sockets before and after the end of the capture.
#[test]
fn a_socket_receives_again_when_the_capture_is_over() {
    for backend in WAYS {
        let [left, right] = Net::new().pair();
        let to = (right.interface().v4, 7001);
        let bind = |host: &Host, port| host.run(|| UdpSocket::bind(("0.0.0.0", port)).unwrap());
        let (sender, receiver) = (bind(&left, 0), bind(&right, to.1));
        receiver.set_read_timeout(Some(DEADLINE)).unwrap();
        let (mut teller, told) = Teller::telling();
        let wanted = options(&right)
            .with_filter(expression("udp dst port 7001"))
            .backend(backend);
        let (outcome, ()) = run(&right, wanted, &mut teller, |stopper| {
            for _ in 0..3 {
                sender.send_to(b"taken", to).unwrap();
            }
            until_received(&told, 3);
            stopper.stop();
        });
        assert_account(&outcome.account, 3, 0, 0);
        sender.send_to(b"received", to).unwrap();
        let mut buffer = [0; 20];
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], *b"received");
    }
}

/// Packets of all queues share one order and one set of counters. With a short snap length each CPU has its own memory,
/// and packets carry their queue.
#[test]
fn packets_of_all_queues_come_in_one_order() {
    const QUEUES: u32 = 2;
    const EACH: u64 = 3000;
    if without(&LIVE_FRAMES) {
        return;
    }
    if without(&TWO_PROCESSORS) {
        return;
    }
    for (snaplen, backend) in [(262_144, Backend::Xdp), (96, Backend::XdpRingbuf)] {
        let [left, right] = Net::new().pair();
        right.output_of(&format!("ethtool -L right0 rx {QUEUES} tx {QUEUES}"));
        let all = u64::from(QUEUES) * EACH;
        let options = drop_options(&right, 64 << 20).snaplen(snaplen).packets(all);
        let capture = right.run(|| Capture::open(options).unwrap());
        let opened = capture.links().next().unwrap();
        let rings = opened.rings;
        assert_eq!(opened.backend, backend);
        if backend == Backend::Xdp {
            assert_eq!((rings, opened.buffer_bytes), (QUEUES as usize, 64 << 20));
            assert_eq!(opened.xdp_mode, Some(XdpMode::Native));
        }
        // All packets are sent before any is read, so the reader orders all of them. They carry the sender's CPU.
        for queue in (0..QUEUES).rev() {
            left.run(|| {
                pin_to_cpu(queue as usize).unwrap();
                let mut frame = udp_frame(80);
                frame[50] = queue as u8;
                let options = GeneratorOptions::new(left.interface().index, frame);
                let mut generator = Generator::new(options);
                assert_eq!(generator.deliver(EACH, None).delivered, EACH);
            });
        }
        let mut teller = Teller::new();
        let outcome = summary(capture.run_consumer(&mut teller, &Stop::new().unwrap()));
        assert_account(&outcome.account, all, 0, 0);
        assert_eq!(outcome.rings(), rings);
        for queue in 0..QUEUES {
            let of_queue = teller.kept.iter().filter(|kept| kept.queue == Some(queue));
            // The queue is the CPU number that the sender wrote.
            assert!(
                of_queue
                    .clone()
                    .all(|kept| kept.bytes[50] == queue as u8 && kept.interface == 0)
            );
            assert_eq!(of_queue.count() as u64, EACH);
        }
        assert!(teller.kept.is_sorted_by_key(|kept| kept.time_ns));
    }
}
