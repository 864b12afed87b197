//! Packets that the caller pulls equal those that a consumer would receive.

use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::Duration;

use allocation_counter::measure;
use lab::{Net, wait};
use ring::DeliveryMode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline::Namespace;
use tapline::capture::{Backend, Capture, CaptureOptions, Ended};
use tapline::filter::classic::{ClassicProgram, Instruction};

use crate::support::changes::{batch, open, set};
use crate::support::{
    BACKENDS, Pair, Witness, assert_account, frames, frames_only_split, ipv4_only, number, options,
    send,
};

/// The numbers of all packets that `capture` returns.
fn pull_all(capture: &mut Capture) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(packet) = capture.next().unwrap() {
        assert_eq!((packet.captured_len(), packet.len()), (60, 60));
        numbers.push(number(packet.data()));
    }
    numbers
}

#[test]
fn packets_come_in_order_up_to_the_limit() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut capture = pair.open(options(&pair.right, backend).packets(900));
        pair.send(0, 1000);
        pair.until(1000);
        assert_eq!(pull_all(&mut capture), (0..900).collect::<Vec<_>>());
        assert!(capture.next().unwrap().is_none());
        let summary = capture.finish().unwrap();
        assert!(matches!(summary.ended, Ended::Packets), "{summary:?}");
        assert_account(&summary.account, 900, 100, 0);
        let line = "1000 packets received = 900 delivered + 100 filtered + 0 lost";
        assert!(summary.to_string().starts_with(line), "{summary}");
    }
}

#[test]
fn a_stopped_capture_returns_what_is_in_its_rings() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut capture = pair.open(options(&pair.right, backend).with_filter(ipv4_only()));
        pair.deliver(1000);
        pair.send(0, 250);
        pair.until(1250);
        capture.stopper().stop();
        let mut count = 0;
        while capture.next().unwrap().is_some() {
            count += 1;
        }
        let summary = capture.finish().unwrap();
        assert!(matches!(summary.ended, Ended::Stopped), "{summary:?}");
        assert_account(&summary.account, 1000, 250, 0);
        assert_eq!(count, 1000);
    }
}

#[test]
fn packets_that_nobody_pulled_count_as_filtered() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let mut capture = pair.open(options(&pair.right, backend));
        pair.send(0, 100);
        pair.until(100);
        for expected in 0..10 {
            let packet = capture.next().unwrap().unwrap();
            assert_eq!(number(packet.data()), expected);
        }
        let account = capture.finish().unwrap().account;
        assert_eq!((account.delivered, account.received()), (10, Some(100)));
        assert_eq!(account.lost.total(), 0);
        let unread = pair.open(options(&pair.right, backend));
        assert_eq!(unread.finish().unwrap().account.received(), Some(0));
    }
}

#[test]
fn a_loss_before_refused_packets_is_reported_with_the_next_one_that_is_lent() {
    for backend in BACKENDS {
        let mut pair = Pair::new();
        let small = options(&pair.right, backend)
            .buffer_bytes(128 << 10)
            .stall(Duration::ZERO)
            .with_filter(frames_only_split());
        let mut capture = pair.open(small);
        pair.deliver(30_000);
        pair.until(30_000);
        // Those in the full ring are refused, and so is the one that follows the loss.
        let mut batch = capture.next_batch(Duration::ZERO).unwrap().unwrap();
        assert!(batch.next().is_none());
        pair.deliver(1);
        pair.send(0, 1);
        pair.until(30_002);
        capture.stopper().stop();
        let mut lost = 0;
        while let Some(packet) = capture.next().unwrap() {
            lost += packet.drops_before();
        }
        let account = capture.finish().unwrap().account;
        assert!(account.lost.ring > 20_000, "{account:?}");
        assert_account(&account, 1, 30_001 - account.lost.ring, account.lost.ring);
        assert_eq!(lost, account.lost.ring);
    }
}

/// Options of a capture on both interfaces of `right`.
fn both(right: &lab::Host) -> CaptureOptions {
    let links = right.interfaces().iter().map(|link| link.name.to_string());
    options(right, Backend::PacketV2)
        .links(links.collect())
        .delivery(DeliveryMode::Immediate)
        .tick(Duration::MAX)
}

#[test]
fn packets_of_several_interfaces_are_merged_by_time_without_allocation() {
    let merging = |count: u32| {
        let net = Net::new();
        let [mut left, mut right] = net.pair();
        net.join(&mut left, &mut right);
        let mut witnesses = [0, 1].map(|number| Witness::of_link(&right, number));
        let mut capture = right.run(|| both(&right).open()).unwrap();
        let links: Vec<_> = left.interfaces().iter().map(|link| link.index).collect();
        left.run(|| {
            lab::generator::pin_to_cpu(0).unwrap();
            for number in 0..count {
                let link = links[number as usize % 2];
                lab::generator::send_frames(link, frames(number, 1)).unwrap();
            }
        });
        for witness in &mut witnesses {
            witness.until(u64::from(count) / 2);
        }
        capture.stopper().stop();
        let mut next = 0;
        let info = measure(|| {
            while let Some(packet) = capture.next().unwrap() {
                assert_eq!(number(packet.data()), next);
                assert_eq!(packet.interface(), next as usize % 2);
                next += 1;
            }
        });
        assert_eq!(next, count);
        assert_eq!(
            capture.finish().unwrap().account.delivered,
            u64::from(count)
        );
        info.count_total
    };
    let [few, many] = [10, 1000].map(merging);
    // What is done from time to time may fall into either.
    assert!(few.abs_diff(many) < 10, "{few} and {many}");
}

/// The frames of a TPACKET_V2 ring can stay in it while packets of another interface are older. A block of TPACKET_V3 cannot.
#[test]
fn packets_of_several_interfaces_are_all_pulled_after_blocks_took_over_from_frames() {
    const COUNT: u32 = 11;
    let net = Net::new();
    let [mut left, mut right] = net.pair();
    net.join(&mut left, &mut right);
    let frame_rings = both(&right).backend(None::<Backend>);
    let (mut capture, control) = open(&right, frame_rings.packets(COUNT.into()));
    let has =
        |capture: &Capture, backend: Backend| capture.links().all(|link| link.backend == backend);
    assert!(has(&capture, Backend::PacketV2));
    // The reader waits so long for a batch that it has blocks of both interfaces.
    set(&control, batch(usize::MAX, 100)).unwrap();
    control.set_buffer(16 << 20).unwrap();
    wait::until("blocks have taken over", || {
        let mut ready = capture.next_batch(Duration::from_millis(1)).unwrap();
        assert!(ready.as_mut().unwrap().next().is_none());
        has(&capture, Backend::PacketV3)
    });
    let mut ready = capture.next_batch(Duration::from_millis(5)).unwrap();
    assert!(ready.as_mut().unwrap().next().is_none());
    let links: Vec<_> = left.interfaces().iter().map(|link| link.index).collect();
    left.run(|| {
        lab::generator::send_frames(links[0], frames(0, 1)).unwrap();
        lab::generator::send_frames(links[1], frames(1, COUNT - 1)).unwrap();
    });
    assert_eq!(pull_all(&mut capture), (0..COUNT).collect::<Vec<_>>());
    let account = capture.finish().unwrap().account;
    assert_account(&account, COUNT.into(), 0, 0);
}

#[test]
fn pulling_allocates_nothing_per_packet() {
    let pulling = |packets: u64| {
        let mut pair = Pair::new();
        let quiet = options(&pair.right, Backend::PacketV2)
            .buffer_bytes(64 << 20)
            .tick(Duration::MAX);
        let mut capture = pair.open(quiet);
        let stopper = capture.stopper();
        let (count, info) = thread::scope(|scope| {
            let running = scope.spawn(|| {
                let mut count = 0;
                let info = measure(|| {
                    while let Some(packet) = capture.next().unwrap() {
                        count += u64::from(packet.captured_len() > 0);
                    }
                });
                (count, info)
            });
            pair.deliver(packets);
            pair.until(packets);
            stopper.stop();
            running.join().unwrap()
        });
        assert_eq!(count, packets);
        assert_eq!(capture.finish().unwrap().account.delivered, packets);
        info.count_total
    };
    assert_eq!(pulling(20_000), pulling(200_000));
}

/// Whether the descriptor of `capture` is readable within `ms`.
fn is_readable(capture: &Capture, ms: i64) -> bool {
    let timeout = Timespec {
        tv_sec: ms / 1000,
        tv_nsec: ms % 1000 * 1_000_000,
    };
    let mut polled = [PollFd::from_borrowed_fd(capture.as_fd(), PollFlags::IN)];
    poll(&mut polled, Some(&timeout)).unwrap() > 0
}

#[test]
fn the_descriptor_is_readable_when_there_are_packets_or_a_stop() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut capture = right.run(|| options(&right, backend).open()).unwrap();
        assert!(!is_readable(&capture, 20));
        let mut batch = capture
            .next_batch(Duration::from_millis(1))
            .unwrap()
            .unwrap();
        assert!(batch.next().is_none());
        let mut count = 0;
        for first in [0, 50] {
            send(&left, &frames(first, 50));
            while count < first + 50 {
                assert!(is_readable(&capture, 10_000));
                let mut batch = capture.next_batch(Duration::ZERO).unwrap().unwrap();
                while let Some(packet) = batch.next() {
                    assert_eq!(number(packet.data()), count);
                    count += 1;
                }
            }
        }
        let mut rest = capture
            .next_batch(Duration::from_millis(5))
            .unwrap()
            .unwrap();
        assert!(rest.next().is_none());
        assert!(!is_readable(&capture, 20));
        capture.stopper().stop();
        assert!(is_readable(&capture, 10_000));
        while capture.next_batch(Duration::ZERO).unwrap().is_some() {}
        assert_eq!(capture.finish().unwrap().account.delivered, 100);
    }
}

#[test]
fn the_descriptor_is_readable_from_the_time_limit_on() {
    const LIMIT: Duration = Duration::from_millis(200);
    for backend in BACKENDS {
        let [_left, right] = Net::new().pair();
        let limited = options(&right, backend).duration(LIMIT);
        let mut capture = right.run(|| limited.open()).unwrap();
        // Nothing arrives: this is all that ends the wait.
        assert!(is_readable(&capture, 10_000));
        assert!(capture.next_batch(Duration::ZERO).unwrap().is_none());
        assert!(matches!(capture.ended(), Some(Ended::Duration)));
        assert!(is_readable(&capture, 0));
        assert!(capture.finish().unwrap().duration >= LIMIT);
    }
}

#[test]
fn a_capture_opens_and_changes_in_another_namespace() {
    let [left, right] = Net::new().pair();
    let mut witness = Witness::on(&right);
    let descriptor = right.namespace().as_fd().as_raw_fd();
    let namespace = Namespace::open(format!("/proc/self/fd/{descriptor}")).unwrap();
    let configured = options(&right, Backend::PacketV3).packets(200);
    let mut capture = configured.namespace(namespace).open().unwrap();
    send(&left, &frames(0, 100));
    witness.until(100);
    let control = capture.control();
    control.set_buffer(16 << 20).unwrap();
    send(&left, &frames(100, 100));
    assert_eq!(pull_all(&mut capture), (0..200).collect::<Vec<_>>());
    assert_eq!(capture.finish().unwrap().account.received(), Some(200));
}

#[test]
fn a_closure_receives_what_a_loop_would() {
    let mut pair = Pair::new();
    let capture = pair.open(options(&pair.right, Backend::PacketV3).packets(100));
    pair.send(0, 100);
    pair.until(100);
    let mut numbers = Vec::new();
    let summary = capture.run(|packet| {
        numbers.push(number(packet.data()));
        Ok(())
    });
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    assert_eq!(summary.unwrap().account.delivered, 100);
}

/// The program tests the last byte of a frame, which is beyond the snaplen: the reader, which runs it on packets that were in the
/// ring, refuses them.
#[test]
fn a_new_filter_is_run_by_the_reader_on_packets_that_were_in_the_ring_only() {
    let mut pair = Pair::new();
    let short = options(&pair.right, Backend::PacketV2).snaplen(20);
    let mut capture = pair.open(short.packets(10));
    pair.send(0, 1);
    pair.until(1);
    let program = ClassicProgram::new(vec![
        Instruction::new(0x30, 59),
        Instruction::jump(0x15, 0x5a, 0, 1),
        Instruction::new(0x06, 262_144),
        Instruction::new(0x06, 0),
    ]);
    capture.replace_filter(&program.unwrap()).unwrap();
    pair.send(1, 10);
    pair.until(11);
    let mut numbers = Vec::new();
    let summary = capture.run(|packet| {
        numbers.push(number(packet.data()));
        Ok(())
    });
    assert_eq!(numbers, (1..11).collect::<Vec<_>>());
    assert_account(&summary.unwrap().account, 10, 1, 0);
}

#[test]
fn a_failed_consumer_is_an_error_with_the_summary() {
    let mut pair = Pair::new();
    let capture = pair.open(options(&pair.right, Backend::PacketV2));
    pair.send(0, 100);
    pair.until(100);
    let mut taken = 0;
    let error = capture.run(|_| {
        taken += 1;
        if taken > 10 {
            Err("the disk is full".into())
        } else {
            Ok(())
        }
    });
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
    let account = error.summary().unwrap().account;
    assert_eq!((account.delivered, account.lost.writer), (10, 90));
    assert_eq!(account.received(), Some(100));
}
