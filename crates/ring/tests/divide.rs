//! Partly released batches.

use crate::support;
use std::slice;

use crate::support::xsk_rings::{RingSetup, steer};
use crate::support::{BROADCAST, Seen, bytes_of, collect, frame, read, send, until_accepted};
use lab::Net;
use lab::bpf::XdpAttachMode;
use tapline_ring::{Batch, TpacketVersion};

const LENGTHS: [usize; 5] = [60, 3000, 100, 2500, 61];

/// Ends the batch after `packets`. Returns the bytes of those packets and the batch's original length.
fn shortened(batch: &mut Batch<'_>, packets: usize) -> (Vec<Vec<u8>>, usize) {
    let length = batch.len();
    let seen: Vec<_> = batch.packets().take(packets).map(Seen::from).collect();
    batch.truncate(packets);
    (bytes_of(seen), length)
}

#[test]
fn what_is_left_is_lent_again() {
    let hosts = Net::new().pair();
    support::set_mtu(&hosts, 9000);
    let [left, right] = &hosts;
    let frames = LENGTHS.map(|length| frame(BROADCAST, length));
    let mut steered = steer(right, &RingSetup::new(XdpAttachMode::Native, 256));
    send(left, &frames);
    let ring = steered.ring();
    until_accepted(slice::from_mut(ring), 5);
    let mut seen = Vec::new();
    for (given_back, left) in [(0, 5), (1, 5), (2, 4), (0, 2), (9, 2)] {
        let mut batch = ring.next_batch().unwrap();
        let (bytes, length) = shortened(&mut batch, given_back);
        assert_eq!(length, left);
        seen.extend(bytes);
    }
    assert_eq!(seen, frames);
    assert!(ring.next_batch().is_none());
    ring.refresh().unwrap();
    let account = ring.counters();
    assert_eq!((account.delivered, account.waiting()), (5, 0));
}

#[test]
fn frames_are_divided_and_blocks_are_not() {
    let frames = [60, 61, 62, 63, 64].map(|length| frame(BROADCAST, length));
    let [left, right] = Net::new().pair();
    let open = |version| support::open(&right, &support::options(version));
    let [mut by_frame, mut by_block] = [TpacketVersion::V2, TpacketVersion::V3].map(open);
    send(&left, &frames);
    until_accepted(slice::from_mut(&mut by_frame), 5);
    let mut batch = by_frame.next_batch().unwrap();
    assert!(batch.can_truncate());
    assert_eq!(shortened(&mut batch, 2), (frames[..2].to_vec(), 5));
    drop(batch);
    assert_eq!(bytes_of(collect(&mut by_frame, 3)), frames[2..]);

    let mut packets = 0;
    read(&mut by_block, |batch| {
        assert!(!batch.can_truncate());
        packets += shortened(batch, 0).1;
        packets >= 5
    });
    assert_eq!(packets, 5);
    for ring in [&mut by_frame, &mut by_block] {
        ring.refresh().unwrap();
        assert_eq!(
            (ring.counters().delivered, ring.counters().waiting()),
            (5, 0)
        );
    }
}
