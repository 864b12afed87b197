//! Shared memory filled by a program, when other processes write to it or its contents are invalid.

#![cfg(target_arch = "x86_64")]

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use crate::support::slot_rings::take;
use crate::support::{BROADCAST, Seen, assert_cut, frame, send};
use abi::region::{Region, page_bytes};
use abi::ring_buffer::BUSY;
use lab::Net;
use lab::bpf::{SlotProgramOptions, XdpAttachMode};
use tapline_ring::{
    BpfRing, BpfRingError, BpfRingOptions, BpfRingSetupStep, PacketSink, RingPacket,
};

/// Minimum memory per CPU: 512 slots of 128 bytes.
const SMALL: usize = 1;
const SMALL_PACKETS: u64 = 512;

#[test]
fn memory_has_one_reader_and_the_right_layout() {
    let [_left, right] = Net::new().pair();
    let name = right.interface().name.to_string();
    let mut taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    let place = taken.slot_program.rings().next().unwrap();
    let open = |place| {
        let options = BpfRingOptions::default();
        let opened = right.run(|| BpfRing::open_slots(&name, &place, &options));
        match opened {
            Err(BpfRingError::Setup { step, source, .. }) => (step, source.kind()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        open(place),
        (BpfRingSetupStep::Map, ErrorKind::ResourceBusy)
    );
    taken.buffers.clear();
    let place = taken.slot_program.rings().next().unwrap();
    let invalid = (BpfRingSetupStep::Map, ErrorKind::InvalidInput);
    for (index, slot_bytes) in [(1000, 128), (0, 100), (0, 4), (0, 16), (0, 1 << 31)] {
        let nowhere = wire::record::SlotRing {
            index,
            slot_bytes,
            ..place
        };
        assert_eq!(open(nowhere), invalid);
    }
    let no_array = wire::record::SlotRing {
        map: place.wakes.as_fd(),
        ..place
    };
    assert_eq!(open(no_array), invalid);
}

/// Counts delivered packets.
struct Counting<'c>(&'c mut u64);

impl PacketSink for Counting<'_> {
    fn packet(&mut self, packet: &RingPacket<'_>) {
        assert_eq!(packet.bytes.len(), 60);
        *self.0 += 1;
    }
}

/// Invalid data makes the rest of its batch unreadable; later packets are delivered.
#[test]
fn nonsense_spoils_its_batch() {
    let [left, right] = Net::new().pair();
    let mut taken = take(&right, XdpAttachMode::Native, &SlotProgramOptions::new(96));
    let place = taken.slot_program.rings().next().unwrap();
    let memory = Region::map_at(place.map, 0, 2 * page_bytes() + 128).unwrap();
    send(&left, &vec![frame(BROADCAST, 60); 200]);
    memory.word(2 * page_bytes()).store(0, Ordering::Relaxed);
    let buffer = taken.first();
    let mut delivered = 0;
    while let Some(mut batch) = buffer.next_batch() {
        batch.packets().deliver_to(&mut Counting(&mut delivered));
    }
    let account = buffer.counters();
    assert!(
        account.unreadable > 0 && account.unreadable <= 128,
        "{account:?}"
    );
    assert_eq!(
        (account.delivered, account.unreadable),
        (delivered, 200 - delivered)
    );
}

/// Every process with the map can write to it. The reader validates the contents when it reads them, and a batch does
/// not change afterwards.
#[test]
fn what_somebody_else_writes_is_not_believed() {
    let [left, right] = Net::new().pair();
    let options = SlotProgramOptions {
        buffer_bytes: SMALL,
        ..SlotProgramOptions::new(96)
    };
    // The length of a record, in the first word of its header; 120 is what is right.
    for (length, is_packet) in [
        (0, false),
        (23, false),
        (24, true),
        (119, true),
        (121, false),
        (BUSY - 1, false),
        (BUSY + 120, false),
        (u32::MAX, false),
    ] {
        for is_counted_first in [false, true] {
            let mut taken = take(&right, XdpAttachMode::Native, &options);
            let place = taken.slot_program.rings().next().unwrap();
            let data_bytes = usize::try_from(SMALL_PACKETS).unwrap() * 128;
            let memory = Region::map_at(place.map, 0, 2 * page_bytes() + data_bytes).unwrap();
            let header = memory.word(2 * page_bytes());
            send(&left, &[frame(BROADCAST, 200), frame(BROADCAST, 201)]);
            let buffer = taken.first();
            if is_counted_first {
                let mut batch = buffer.next_batch().expect("both are there");
                header.store(length, Ordering::Relaxed);
                let seen: Vec<_> = batch.packets().map(Seen::from).collect();
                let frames = [200, 201].map(|bytes| frame(BROADCAST, bytes));
                assert_cut(&seen, &frames, 96);
                continue;
            }
            header.store(length, Ordering::Relaxed);
            let walked = buffer.next_batch().map(|mut batch| batch.packets().count());
            assert_eq!(walked, Some(if is_packet { 2 } else { 0 }), "{length}");
        }
    }
    // How far the program has written.
    for begun in [1, 127, 129, 1 << 40, u64::MAX] {
        let mut taken = take(&right, XdpAttachMode::Native, &options);
        let place = taken.slot_program.rings().next().unwrap();
        let memory = Region::map_at(place.map, 0, 2 * page_bytes()).unwrap();
        let written = memory.word64(page_bytes());
        written.store(begun, Ordering::Relaxed);
        let mut read = 0;
        // Never more than the memory holds.
        for _ in 0..SMALL_PACKETS {
            match taken.first().next_batch() {
                Some(mut batch) => read += batch.packets().count() as u64,
                None => break,
            }
        }
        assert!(read <= SMALL_PACKETS, "{begun}: {read}");
        if begun < 256 {
            assert!(taken.first().next_batch().is_none() && !taken.first().holds(1));
        }
    }
}
