//! When packets are delivered, and that a ring wraps around correctly.

use std::time::Duration;

use crate::support::{
    BACKENDS, BROADCAST, bytes_of, collect, frame, open, options, read, send, wait,
};
use lab::Net;
use tapline_ring::{DeliveryMode, RingOptions, TpacketVersion};

fn with_delivery(delivery: DeliveryMode) -> RingOptions {
    RingOptions {
        version: None,
        delivery,
        ..options(TpacketVersion::V3)
    }
}

fn batch(min_bytes: usize, timeout: Duration) -> RingOptions {
    with_delivery(DeliveryMode::Batch { min_bytes, timeout })
}

/// Frames of `bytes` bytes, numbered from `first`.
fn numbered(first: u32, count: u32, bytes: usize) -> Vec<Vec<u8>> {
    let one = |number: u32| {
        let mut frame = frame(BROADCAST, bytes);
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        frame
    };
    (first..first + count).map(one).collect()
}

#[test]
fn the_delivery_chooses_the_ring() {
    let [left, _right] = Net::new().pair();
    let immediate = open(&left, &with_delivery(DeliveryMode::Immediate));
    assert_eq!(immediate.version(), TpacketVersion::V2);
    let batch = open(&left, &with_delivery(DeliveryMode::default()));
    assert_eq!(batch.version(), TpacketVersion::V3);
}

#[test]
fn immediate_delivery_wakes_for_each_packet() {
    let [left, right] = Net::new().pair();
    let mut ring = open(&right, &with_delivery(DeliveryMode::Immediate));
    for frame in numbered(0, 100, 60) {
        send(&left, std::slice::from_ref(&frame));
        wait(&ring);
        let mut batch = ring.next_batch().expect("the ring polled readable");
        let packets: Vec<Vec<u8>> = batch
            .packets()
            .map(|packet| packet.bytes.to_vec())
            .collect();
        assert_eq!(packets, [frame]);
    }
}

#[test]
fn a_block_is_handed_over_when_it_is_full() {
    let [left, right] = Net::new().pair();
    // The youngest ring is offered a packet first (`dev_add_pack` puts it at the head of the list).
    let mut witness = open(&right, &with_delivery(DeliveryMode::Immediate));
    let mut ring = open(&right, &batch(64 << 10, Duration::from_mins(1)));
    // 64 KiB hold 40 frames of 1514 bytes with their headers.
    send(&left, &numbered(0, 30, 1514));
    collect(&mut witness, 30);
    assert!(ring.next_batch().is_none());
    ring.refresh().unwrap();
    assert_eq!(
        (ring.counters().accepted, ring.counters().waiting()),
        (30, 30)
    );

    send(&left, &numbered(30, 20, 1514));
    wait(&ring);
    let mut batch = ring.next_batch().expect("the ring polled readable");
    let packets: Vec<Vec<u8>> = batch
        .packets()
        .map(|packet| packet.bytes.to_vec())
        .collect();
    assert_eq!(packets, numbered(0, 40, 1514));
    drop(batch);
    assert!(ring.next_batch().is_none());
}

#[test]
fn a_block_is_handed_over_when_its_time_is_up() {
    let [left, right] = Net::new().pair();
    let mut ring = open(&right, &batch(256 << 10, Duration::from_millis(1)));
    for frame in numbered(0, 10, 60) {
        send(&left, std::slice::from_ref(&frame));
        assert_eq!(bytes_of(collect(&mut ring, 1)), [frame]);
    }
}

#[test]
fn a_ring_that_wraps_keeps_every_packet_and_their_order() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let small = RingOptions {
            snaplen: 120,
            buffer_bytes: 64 << 10,
            delivery: DeliveryMode::Batch {
                min_bytes: 1,
                timeout: Duration::from_millis(1),
            },
            ..options(version)
        };
        let mut ring = open(&right, &small);
        // 256 frames of V2, or 16 blocks of V3 with a packet or more in each.
        assert_eq!(ring.buffer_bytes(), 64 << 10);
        for round in 0..100 {
            // Unequal steps, so that batches begin and end at every place of the ring.
            let count = 1 + round % 13;
            let frames = numbered(round * 100, count, 110);
            send(&left, &frames);
            assert_eq!(bytes_of(collect(&mut ring, count as usize)), frames);
        }
        ring.refresh().unwrap();
        let account = *ring.counters();
        assert_eq!(account.accepted, account.delivered);
        assert_eq!(
            (account.dropped, account.unreadable, account.waiting()),
            (0, 0, 0)
        );
        assert!(account.delivered > 600);
    }
}

/// A V2 batch does not wrap around the end of the ring and has at most 256 frames.
#[test]
fn a_full_ring_is_read_to_its_end() {
    let [left, right] = Net::new().pair();
    let options = RingOptions {
        snaplen: 120,
        buffer_bytes: 256 * 600,
        ..options(TpacketVersion::V2)
    };
    let mut ring = open(&right, &options);
    send(&left, &numbered(0, 300, 60));
    assert_eq!(bytes_of(collect(&mut ring, 300)), numbered(0, 300, 60));
    send(&left, &numbered(300, 600, 60));
    let (mut seen, mut lengths) = (Vec::new(), Vec::new());
    read(&mut ring, |batch| {
        lengths.push(batch.len());
        seen.extend(batch.packets().map(|packet| packet.bytes.to_vec()));
        seen.len() == 600
    });
    assert_eq!(seen, numbered(300, 600, 60));
    assert!(lengths.iter().all(|&length| length <= 256), "{lengths:?}");
}
