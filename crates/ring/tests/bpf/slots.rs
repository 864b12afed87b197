//! Packets that a program copied into shared memory, compared with the bytes and the number sent.

#![cfg(target_arch = "x86_64")]

use std::time::Instant;

use crate::support::slot_rings::take;
use crate::support::xsk_rings::PLACES;
use crate::support::{
    BROADCAST, DEADLINE, Seen, assert_cut, bytes_of, collect, end_frame, frame, send, send_and_end,
    tagged_frames, wait,
};
use lab::Net;
use lab::bpf::{SlotProgramOptions, XdpAttachMode};
use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, pin_to_cpu, udp_frame};
use lab::kernel::XDP_FRAGMENTS;
use lab::skip::without;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_ring::BpfRing;

/// Minimum memory per CPU: 512 slots of 128 bytes.
const SMALL: usize = 1;
const SMALL_PACKETS: u64 = 512;

/// The number that the generator wrote into a frame.
fn number(frame: &[u8]) -> u64 {
    let at = &frame[usize::from(SEQUENCE_AT)..];
    u64::from_be_bytes(*at.first_chunk().unwrap())
}

/// Repeated, so that positions wrap around the memory.
#[test]
fn packets_are_what_was_sent_cut_to_the_snaplen() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    for place in PLACES {
        for snaplen in [1, 14, 63, 64, 96, 97, 480] {
            let [left, right] = Net::new().pair();
            let options = SlotProgramOptions {
                buffer_bytes: SMALL,
                ..SlotProgramOptions::new(snaplen)
            };
            let mut taken = take(&right, place, &options);
            let frames = [tagged_frames(), vec![frame(BROADCAST, 14)]].concat();
            let before_ns = abi::clock::realtime_ns();
            for _ in 0..20 {
                send(&left, &frames);
                let deadline = Instant::now() + DEADLINE;
                while !taken.first().holds(1) {
                    assert!(Instant::now() < deadline, "no packet came");
                }
                let oldest_ns = taken.first().oldest_ns().unwrap();
                let seen = collect(taken.first(), frames.len());
                assert!(oldest_ns.abs_diff(seen[0].timestamp_ns) < 1000);
                assert_cut(&seen, &frames, snaplen as usize);
                assert!(seen.is_sorted_by_key(|packet| packet.timestamp_ns));
                // The offset of the two clocks is known to some 50 ns.
                let range = before_ns - 1000..=abi::clock::realtime_ns() + 1000;
                assert!(
                    seen.iter()
                        .all(|packet| range.contains(&packet.timestamp_ns))
                );
            }
            let sent = 20 * frames.len() as u64;
            let counts = taken.slot_program.counters();
            assert_eq!((counts.delivered, counts.lost), (sent, 0));
            let buffer = taken.first();
            buffer.refresh();
            assert_eq!(buffer.counters().accepted, sent);
            assert_eq!(buffer.counters().delivered, sent);
        }
    }
}

/// Each packet arrives while the reader sleeps, having received the previous one.
#[test]
fn a_reader_that_sleeps_is_woken_by_every_packet() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut taken = take(&right, place, &SlotProgramOptions::new(96));
        for bytes in 60..560 {
            assert!(taken.first().next_batch().is_none());
            let frame = frame(BROADCAST, bytes);
            send(&left, std::slice::from_ref(&frame));
            wait(taken.first());
            let seen = collect(taken.first(), 1);
            assert_cut(&seen, &[frame], 96);
        }
    }
}

/// The descriptor stays readable until the reader announces that it goes to sleep again.
#[test]
fn a_sign_whose_packets_were_read_is_put_away() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    for _ in 0..100 {
        send(&left, &[frame(BROADCAST, 60)]);
        wait(taken.first());
        let mut batch = taken.buffers[0].next_batch().expect("it polled readable");
        assert_eq!(batch.packets().count(), 1);
        drop(batch);
        assert!(is_readable(taken.first()));
        taken.first().rearm();
        assert!(!is_readable(taken.first()) && !taken.first().holds(1));
    }
}

fn is_readable(buffer: &BpfRing) -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut descriptors = [PollFd::new(buffer, PollFlags::IN)];
    poll(&mut descriptors, Some(&now)).unwrap() == 1
}

/// A reader that sleeps whenever the ring is empty, while packets arrive at full speed.
#[test]
fn no_packet_lies_unseen_by_a_sleeper() {
    const COUNT: u64 = 300_000;
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    let options = GeneratorOptions {
        sequence_at: Some(SEQUENCE_AT),
        ..GeneratorOptions::new(left.interface().index, udp_frame(128))
    };
    let mut generator = left.run(|| Generator::new(options));
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            left.run(|| {
                pin_to_cpu(0).unwrap();
                // Pauses between packets make it fall asleep.
                generator.deliver(COUNT, Some(400_000))
            })
        });
        let (mut packets, mut next) = (0, 0);
        while packets < COUNT {
            wait(taken.first());
            while let Some(mut batch) = taken.first().next_batch() {
                assert_eq!(batch.lost_before(), 0);
                packets += batch.len() as u64;
                for number in batch.packets().map(|packet| number(packet.bytes)) {
                    assert!(number >= next, "{number} comes after {next}");
                    next = number + 1;
                }
            }
        }
        assert_eq!((packets, sender.join().unwrap().delivered), (COUNT, COUNT));
    });
    assert_eq!(taken.slot_program.counters().lost, 0);
}

/// Reads and sends concurrently on two threads. The frame numbers show the order, and a gap between two batches equals
/// the loss that the later batch reports.
#[test]
fn under_load_every_packet_is_delivered_or_reported_at_its_place() {
    const COUNT: u64 = 1_000_000;
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let options = SlotProgramOptions {
        buffer_bytes: SMALL,
        ..SlotProgramOptions::new(96)
    };
    let mut taken = take(&right, XdpAttachMode::Native, &options);
    let options = GeneratorOptions {
        sequence_at: Some(SEQUENCE_AT),
        ..GeneratorOptions::new(left.interface().index, udp_frame(128))
    };
    let mut generator = left.run(|| Generator::new(options));
    let (mut packets, mut lost, mut next) = (0, 0, 0);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            left.run(|| {
                pin_to_cpu(0).unwrap();
                generator.deliver(COUNT, None).delivered
            })
        });
        let deadline = Instant::now() + DEADLINE;
        let mut is_over = false;
        while !is_over {
            assert!(Instant::now() < deadline, "not all came");
            // All that was sent before this is found after it.
            is_over = sender.is_finished();
            while let Some(mut batch) = taken.first().next_batch() {
                lost += batch.lost_before();
                packets += batch.len() as u64;
                for packet in batch.packets() {
                    let number = number(packet.bytes);
                    assert!(number >= next, "{number} comes after {next}");
                    next = number + 1;
                    assert_eq!(packet.bytes.len(), 96);
                    assert_eq!(packet.original_len, 128);
                }
            }
        }
    });
    let counts = taken.slot_program.counters();
    assert_eq!(counts.delivered, packets);
    assert_eq!(counts.delivered + counts.lost, COUNT);
    // Only the counter includes packets that were lost after the last one.
    send(&left, &[end_frame()]);
    let mut batch = taken.first().next_batch().expect("the last packet");
    assert_eq!(batch.lost_before(), counts.lost - lost);
    assert_eq!(batch.packets().count(), 1);
}

#[test]
fn a_held_batch_is_not_written_to() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let options = SlotProgramOptions {
        buffer_bytes: SMALL,
        ..SlotProgramOptions::new(96)
    };
    let mut taken = take(&right, XdpAttachMode::Native, &options);
    assert!(taken.first().next_batch().is_none());
    send(&left, &[end_frame()]);
    wait(taken.first());
    let mut batch = taken.buffers[0].next_batch().expect("it polled readable");
    // Enough to go round the memory many times, if it went round.
    send(&left, &vec![frame(BROADCAST, 60); 2000]);
    let held: Vec<_> = batch.packets().map(Seen::from).collect();
    assert_eq!(bytes_of(held), [end_frame()]);
    drop(batch);
    let counts = taken.slot_program.counters();
    assert_eq!(counts.delivered, SMALL_PACKETS);
    assert_eq!(counts.delivered + counts.lost, 2001);
}

#[test]
fn what_was_taken_can_be_read_when_the_program_is_gone() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    send_and_end(&left, &[frame(BROADCAST, 60)]);
    let mut buffers = taken.buffers;
    drop(taken.link);
    drop(taken.slot_program);
    let seen = collect(&mut buffers[0], 2);
    assert_eq!(bytes_of(seen), [frame(BROADCAST, 60), end_frame()]);
}

/// The next batch starts with the packets that the previous one left.
#[test]
fn a_batch_can_be_divided() {
    if without(&XDP_FRAGMENTS) {
        return;
    }
    let [left, right] = Net::new().pair();
    let mut taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    let frames = (60..80)
        .map(|bytes| frame(BROADCAST, bytes))
        .collect::<Vec<_>>();
    send(&left, &frames[..10]);
    let mut seen = Vec::new();
    for (number, keep) in [3, 0, 7].into_iter().enumerate() {
        let mut batch = taken.first().next_batch().expect("there are some");
        let first = batch
            .packets()
            .take(keep)
            .map(Seen::from)
            .collect::<Vec<_>>();
        batch.truncate(keep);
        assert_eq!((batch.len(), first.len()), (keep, keep));
        seen.extend(first);
        drop(batch);
        if number == 0 {
            send(&left, &frames[10..]);
        }
    }
    seen.extend(collect(taken.first(), 10));
    assert_cut(&seen, &frames, 96);
    let buffer = taken.first();
    buffer.refresh();
    assert_eq!(
        (buffer.counters().delivered, buffer.counters().accepted),
        (20, 20)
    );
}
