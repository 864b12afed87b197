//! Loss accounting of an AF_XDP ring, compared with the number of frames that arrived.

use crate::support;
use std::slice;
use std::time::Instant;

use crate::support::xsk_rings::{PLACES, RingSetup, XskRings, steer};
use crate::support::{
    DEADLINE, Seen, bytes_of, end_frame, frame, read, send, until_accepted, wait,
};
use lab::bpf::XdpAttachMode;
use lab::generator::{Generator, GeneratorOptions, SEQUENCE_AT, udp_frame};
use lab::{Host, Net};

/// Chunks of the packet memory: the number of packets that a ring holds.
const CHUNKS: usize = 512;

fn generator(left: &Host) -> Generator {
    let options = GeneratorOptions {
        sequence_at: Some(SEQUENCE_AT),
        ..GeneratorOptions::new(left.interface().index, udp_frame(80))
    };
    left.run(|| Generator::new(options))
}

/// The number that the generator wrote into a frame.
fn number(frame: &[u8]) -> u64 {
    let at = &frame[usize::from(SEQUENCE_AT)..];
    u64::from_be_bytes(*at.first_chunk().unwrap())
}

#[track_caller]
fn assert_closed(steered: &mut XskRings, sent: u64) {
    let counts = steered.counters();
    assert_eq!((counts.delivered, counts.lost), (sent, 0));
    until_accepted(slice::from_mut(steered.ring()), sent);
    let account = *steered.ring().counters();
    assert_eq!(
        account.delivered + account.dropped + account.waiting(),
        sent
    );
    assert_eq!(account.unreadable, 0);
}

#[test]
fn slow_packets_are_all_delivered() {
    for place in PLACES {
        let [left, right] = Net::new().pair();
        let mut steered = steer(&right, &RingSetup::new(place, CHUNKS));
        // Three times round the ring.
        for _ in 0..CHUNKS * 3 / 64 {
            send(&left, &[const { [0xff; 60] }; 64]);
            let mut packets = 0;
            read(steered.ring(), |batch| {
                assert!(batch.packets().all(|packet| packet.bytes == [0xff; 60]));
                assert_eq!(batch.lost_before(), 0);
                packets += batch.len();
                packets == 64
            });
        }
        assert_closed(&mut steered, CHUNKS as u64 * 3);
        assert_eq!(steered.ring().counters().dropped, 0);
    }
}

#[test]
fn a_reader_that_stalls_learns_of_each_packet_it_lost() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, CHUNKS));
    let mut generator = generator(&left);
    let (mut sent, mut packets, mut lost) = (0, 0, 0);
    let mut next = 0;
    for round in 1..=4 {
        sent += left.run(|| generator.deliver(5000 * round, None)).delivered;
        until_accepted(slice::from_mut(steered.ring()), sent);
        // What is in the ring, and then one more, which brings the loss to light.
        while let Some(mut batch) = steered.ring().next_batch() {
            lost += batch.lost_before();
            packets += batch.len() as u64;
            for number in batch.packets().map(|packet| number(packet.bytes)) {
                assert!(number >= next, "{number} comes after {next}");
                next = number + 1;
            }
        }
        send(&left, &[end_frame()]);
        sent += 1;
        read(steered.ring(), |batch| {
            lost += batch.lost_before();
            packets += batch.len() as u64;
            batch.packets().any(|packet| packet.bytes == end_frame())
        });
        assert_closed(&mut steered, sent);
        let account = *steered.ring().counters();
        assert_eq!((account.delivered, account.dropped), (packets, lost));
        assert_eq!(account.waiting(), 0);
    }
    assert_eq!(packets, 4 * (CHUNKS as u64 + 1));
}

/// Compares the kernel's counters: it counts each packet without a free chunk as such and as a drop.
#[test]
fn loss_for_want_of_memory_is_counted_once() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, CHUNKS));
    let mut generator = generator(&left);
    left.run(|| generator.deliver(10_000, None));
    assert_closed(&mut steered, 10_000);
    let ring = steered.ring();
    let (account, statistics) = (*ring.counters(), *ring.statistics());
    assert_eq!(account.waiting(), CHUNKS as u64);
    assert_eq!(account.dropped, 10_000 - CHUNKS as u64);
    assert_eq!(statistics.rx_dropped, account.dropped);
    assert_eq!(statistics.rx_fill_ring_empty_descs, account.dropped);
    assert_eq!(
        (statistics.rx_ring_full, statistics.rx_invalid_descs),
        (0, 0)
    );
}

/// Reads and sends concurrently on two threads. The frame numbers show the order.
#[test]
fn under_load_every_frame_is_delivered_or_counted() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, CHUNKS));
    let mut generator = generator(&left);
    let count = 300_000;
    let (mut packets, mut lost, mut next) = (0, 0, 0);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| left.run(|| generator.deliver(count, None)));
        let deadline = Instant::now() + DEADLINE;
        let ring = steered.ring();
        // A ring that drops what it is offered has no event to wait for; and a reader that never
        // rests gives chunks back as soon as they come.
        while !sender.is_finished() || ring.counters().accepted < count {
            assert!(Instant::now() < deadline, "not all came: {ring:?}");
            while let Some(mut batch) = ring.next_batch() {
                lost += batch.lost_before();
                packets += batch.len() as u64;
                for number in batch.packets().map(|packet| number(packet.bytes)) {
                    assert!(number >= next, "{number} comes after {next}");
                    next = number + 1;
                }
            }
            ring.refresh().unwrap();
        }
    });
    assert_closed(&mut steered, count);
    let account = *steered.ring().counters();
    assert_eq!((account.delivered, account.waiting()), (packets, 0));
    assert!(account.dropped >= lost);
    // No chunk of the memory has gone astray: as many packets as there are chunks find room.
    left.run(|| generator.deliver(2 * CHUNKS as u64, None));
    assert_closed(&mut steered, count + 2 * CHUNKS as u64);
    assert_eq!(steered.ring().counters().waiting(), CHUNKS as u64);
}

#[test]
fn a_held_batch_is_not_written_to() {
    let [left, right] = Net::new().pair();
    let mut steered = steer(&right, &RingSetup::new(XdpAttachMode::Native, CHUNKS));
    let mut generator = generator(&left);
    send(&left, &[end_frame()]);
    wait(steered.ring());
    let mut batch = steered
        .ring()
        .next_batch()
        .expect("the ring polled readable");
    // Enough to go round the ring many times, if it went round.
    left.run(|| generator.deliver(20_000, None));
    let held: Vec<_> = batch.packets().map(Seen::from).collect();
    assert_eq!(bytes_of(held), [end_frame()]);
    drop(batch);
    assert_closed(&mut steered, 20_001);
    assert_eq!(steered.ring().counters().waiting(), CHUNKS as u64 - 1);
}

#[test]
fn packets_of_an_mtu_that_was_raised_later_are_delivered() {
    let hosts = Net::new().pair();
    let [left, right] = &hosts;
    let mut steered = steer(right, &RingSetup::new(XdpAttachMode::Native, CHUNKS));
    support::set_mtu(&hosts, 9000);
    let frames = [60, 9014, 61].map(|bytes| frame([0xff; 6], bytes));
    send(left, &frames);
    let seen = support::collect(steered.ring(), 3);
    assert_eq!(bytes_of(seen), frames);
    assert_closed(&mut steered, 3);
}
