//! Each counter of the kernel about an AF_XDP socket is provoked on purpose, and found in the account of the ring.
//!
//! # Source
//! `xsk_rcv_check`, `__xsk_rcv` and `xsk_getsockopt`, net/xdp/xsk.c.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use abi::region::Region;
use abi::socket::option;
use abi::xdp::{
    MmapOffsets, SOL_XDP, Statistics, XDP_MMAP_OFFSETS, XDP_PGOFF_RX_RING, XDP_STATISTICS,
    XDP_UMEM_PGOFF_FILL_RING,
};
use lab::bpf::XdpAttachMode;
use lab::{Host, Net};
use tapline_ring::{XdpSendOptions, XdpSender};

use crate::support::xsk_rings::{RingSetup, XskRings, steer};
use crate::support::{self, BROADCAST, collect, frame, send};

/// Chunks of the packet memory.
const CHUNKS: usize = 512;

/// Bytes of an entry of the fill ring, and of one of the receive ring.
const ADDRESS_BYTES: usize = 8;
const DESC_BYTES: usize = 16;

fn steered(right: &Host) -> XskRings {
    steer(right, &RingSetup::new(XdpAttachMode::Native, CHUNKS))
}

fn send_small(left: &Host, count: usize) {
    send(left, &vec![frame(BROADCAST, 60); count]);
}

/// Compares the account and the kernel's counters. The frames were sent one after another, and each was counted then.
#[track_caller]
fn assert_account(steered: &mut XskRings, accepted: u64, dropped: u64, counters: &Statistics) {
    let ring = steered.ring();
    ring.refresh().expect("counters");
    let (account, statistics) = (*ring.counters(), *ring.statistics());
    assert_eq!(
        (account.accepted, account.dropped),
        (accepted, dropped),
        "{statistics:?}"
    );
    assert_eq!(&statistics, counters);
}

#[test]
fn a_packet_without_room_for_all_of_it_is_dropped_and_counted() {
    let hosts = Net::new().pair();
    let [left, right] = &hosts;
    let mut steered = steered(right);
    support::set_mtu(&hosts, 9000);
    send_small(left, CHUNKS - 3);
    // It takes five chunks, or six.
    send(left, &[frame(BROADCAST, 9014)]);
    send_small(left, 3);
    let counters = Statistics {
        rx_dropped: 1,
        ..Statistics::default()
    };
    assert_account(&mut steered, CHUNKS as u64 + 1, 1, &counters);
    assert_eq!(collect(steered.ring(), CHUNKS).len(), CHUNKS);
}

#[test]
fn packets_for_a_full_receive_ring_are_counted() {
    let [left, right] = Net::new().pair();
    let mut steered = steered(&right);
    let ring = steered.ring();
    let socket = ring.as_fd();
    let at: MmapOffsets = option(socket, SOL_XDP, XDP_MMAP_OFFSETS).expect("offsets");
    let bytes = at.rx.desc as usize + CHUNKS * DESC_BYTES;
    let rx = Region::map_at(socket, XDP_PGOFF_RX_RING, bytes).expect("the receive ring");
    send_small(&left, CHUNKS);
    assert_eq!(collect(steered.ring(), CHUNKS).len(), CHUNKS);
    // For the kernel, which reads the index when its copy says that the ring is full, nobody has read the entries.
    let consumer = rx.word(at.rx.consumer as usize);
    let read = consumer.swap(0, Ordering::AcqRel);
    assert_eq!(read as usize, CHUNKS);
    send_small(&left, 10);
    consumer.store(read, Ordering::Release);
    let counters = Statistics {
        rx_ring_full: 10,
        ..Statistics::default()
    };
    assert_account(&mut steered, CHUNKS as u64 + 10, 10, &counters);
    send_small(&left, 1);
    assert_account(&mut steered, CHUNKS as u64 + 11, 10, &counters);
    assert_eq!(collect(steered.ring(), 1).len(), 1);
}

#[test]
fn packets_for_an_empty_fill_ring_are_counted() {
    let [left, right] = Net::new().pair();
    let mut steered = steered(&right);
    send_small(&left, CHUNKS + 10);
    let counters = Statistics {
        rx_dropped: 10,
        rx_fill_ring_empty_descs: 10,
        ..Statistics::default()
    };
    assert_account(&mut steered, CHUNKS as u64 + 10, 10, &counters);
}

/// The kernel skips what is no address, and does not report it (`rx_invalid_descs` is of the receive ring, which has none).
#[test]
fn packets_for_a_fill_ring_of_invalid_entries_are_counted() {
    let [left, right] = Net::new().pair();
    let mut steered = steered(&right);
    let ring = steered.ring();
    let socket = ring.as_fd();
    let at: MmapOffsets = option(socket, SOL_XDP, XDP_MMAP_OFFSETS).expect("offsets");
    let bytes = at.fr.desc as usize + 2 * CHUNKS * ADDRESS_BYTES;
    let fill = Region::map_at(socket, XDP_UMEM_PGOFF_FILL_RING, bytes).expect("the fill ring");
    for entry in 1..CHUNKS {
        let place = at.fr.desc as usize + entry * ADDRESS_BYTES;
        fill.word64(place).store(u64::MAX, Ordering::Release);
    }
    send_small(&left, 10);
    steered.ring().refresh().expect("counters");
    let account = *steered.ring().counters();
    assert_eq!((account.accepted, account.dropped), (10, 9));
    assert_eq!(collect(steered.ring(), 1).len(), 1);
}

#[test]
fn frames_that_were_given_up_are_invalid_entries_and_not_sent() {
    let [left, right] = Net::new().pair();
    let mut steered = steered(&right);
    let interface = left.interface();
    let options = XdpSendOptions {
        queue: 0,
        zero_copy: false,
        longest: 1514,
        has_launch_times: false,
    };
    let (index, name) = (interface.index.0, interface.name.to_string());
    let sender = left.run(|| XdpSender::open(index, &name, &options));
    let mut sender = sender.expect("an AF_XDP socket");
    for _ in 0..10 {
        assert!(sender.push(&frame(BROADCAST, 60)));
    }
    assert_eq!(sender.cancel(), 10);
    assert!(sender.push(&frame(BROADCAST, 61)));
    let mut taken = 0;
    for _ in 0..100 {
        match sender.transmit() {
            Ok(count) => taken += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        if taken > 0 {
            break;
        }
    }
    assert_eq!((taken, sender.waiting()), (1, 0));
    let statistics: Statistics = option(sender.as_fd(), SOL_XDP, XDP_STATISTICS).expect("counters");
    assert_eq!(statistics.tx_invalid_descs, 10);
    let seen = support::bytes_of(collect(steered.ring(), 1));
    assert_eq!(seen, [frame(BROADCAST, 61)]);
    assert_account(&mut steered, 1, 0, &Statistics::default());
}
