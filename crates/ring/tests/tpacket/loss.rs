//! Loss accounting of a ring whose reader stalls, compared with the number of frames that arrived.

use std::slice;

use crate::support::{
    BACKENDS, Seen, bytes_of, end_frame, open, options, read, send, until_accepted, wait,
};
use lab::generator::{Generator, GeneratorOptions, udp_frame};
use lab::{Host, Net};
use tapline_ring::{RingOptions, TpacketVersion};

/// A ring for a few hundred packets.
fn small(version: TpacketVersion) -> RingOptions {
    RingOptions {
        snaplen: 100,
        buffer_bytes: 128 << 10,
        ..options(version)
    }
}

fn generator(left: &Host, right: &Host) -> Generator {
    let options = GeneratorOptions::new(left.interface().index, udp_frame(80));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    generator
}

#[test]
fn a_full_ring_counts_the_loss() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &small(version));
        let mut generator = generator(&left, &right);
        let sent = 20_000;
        left.run(|| generator.deliver(sent, None));
        until_accepted(slice::from_mut(&mut ring), sent);
        let account = *ring.counters();
        assert!(account.dropped > 15_000, "{account:?}");
        assert_eq!(account.waiting(), sent - account.dropped);
        if version == TpacketVersion::V3 {
            assert!(account.freezes >= 1);
        }

        let (mut packets, mut lost) = (0, 0);
        while let Some(mut batch) = ring.next_batch() {
            lost += batch.lost_before();
            packets += batch.packets().count() as u64;
        }
        assert_eq!(packets, account.waiting());
        assert_eq!(lost, account.dropped);
        assert_eq!(ring.counters().delivered, packets);
        assert_eq!(ring.counters().waiting(), 0);
    }
}

/// The first packet after a loss reports it, even if nobody reads the statistics.
#[test]
fn the_loss_is_reported_before_the_packet_that_follows_it() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &small(version));
        let mut generator = generator(&left, &right);
        let (mut sent, mut delivered, mut lost) = (0, 0, 0);
        for round in 1..=3 {
            left.run(|| generator.deliver(5000 * round, None));
            sent += 5000 * round;
            // What is in the ring, and then one more.
            while let Some(mut batch) = ring.next_batch() {
                lost += batch.lost_before();
                delivered += batch.packets().count() as u64;
            }
            send(&left, &[end_frame()]);
            sent += 1;
            read(&mut ring, |batch| {
                lost += batch.lost_before();
                let last = batch.packets().last().map(|packet| packet.bytes.to_vec());
                delivered += batch.len() as u64;
                last == Some(end_frame())
            });
            until_accepted(slice::from_mut(&mut ring), sent);
            let account = *ring.counters();
            assert_eq!(
                (account.delivered, account.dropped),
                (delivered, lost),
                "{version:?}"
            );
            assert_eq!(account.accepted, delivered + lost);
            assert!(lost > 0);
        }
    }
}

#[test]
fn asking_often_loses_no_count() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &small(version));
        for round in 1..=50 {
            send(&left, &[end_frame(), end_frame()]);
            let mut packets = 0;
            read(&mut ring, |batch| {
                packets += batch.len();
                packets == 2
            });
            for _ in 0..3 {
                ring.refresh().unwrap();
            }
            assert_eq!(ring.counters().accepted, round * 2);
            assert_eq!((ring.counters().waiting(), ring.counters().dropped), (0, 0));
        }
    }
}

#[test]
fn a_held_batch_is_not_written_to() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let mut ring = open(&right, &small(version));
        let mut generator = generator(&left, &right);
        send(&left, &[end_frame()]);
        wait(&ring);
        let mut batch = ring.next_batch().expect("the ring polled readable");
        // Enough to go round the ring many times, if it went round.
        left.run(|| generator.deliver(20_000, None));
        let held: Vec<_> = batch.packets().map(Seen::from).collect();
        assert_eq!(bytes_of(held), [end_frame()]);
        drop(batch);
        until_accepted(slice::from_mut(&mut ring), 20_001);
        assert!(ring.counters().dropped > 15_000);
    }
}
