//! A tap interface, whose driver does not use NAPI unless enabled.

#![cfg(target_arch = "x86_64")]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use crate::support::xsk_rings::PLACES;
use crate::support::{BROADCAST, DEADLINE, Seen, collect, frame, tun, wait};
use lab::Host;
use lab::bpf::{
    SlotProgram, SlotProgramOptions, XdpAttachMode, XdpLink, XskProgram, XskProgramOptions,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tapline_ring::{BpfRing, BpfRingOptions, XdpRing, XdpRingOptions};

/// Creates interface `tap0` on the host. It receives frames that are written to the file.
fn tap(host: &Host, more_flags: i32) -> File {
    tun::open(host, c"tap0", libc::IFF_TAP | more_flags, None)
}

fn index(host: &Host) -> u32 {
    let name = c"tap0";
    // SAFETY: the name ends with a zero.
    let index = host.run(|| unsafe { libc::if_nametoindex(name.as_ptr()) });
    assert_ne!(index, 0);
    index
}

fn frames() -> [Vec<u8>; 3] {
    [60, 1514, 61].map(|bytes| frame(BROADCAST, bytes))
}

#[test]
fn af_xdp_receives_from_a_tap_and_wakes_the_reader() {
    for place in PLACES {
        let host = Host::new("alone");
        let mut tap = tap(&host, 0);
        let options = XdpRingOptions {
            buffer_bytes: 256 * 2048,
            ..XdpRingOptions::default()
        };
        let mut ring = host.run(|| XdpRing::open("tap0", &options)).unwrap();
        let redirect = XskProgram::load(&XskProgramOptions {
            multi_buffer: ring.takes_multi_buffer(),
            ..XskProgramOptions::new(1)
        });
        let redirect = redirect.unwrap();
        redirect.insert(0, ring.as_fd()).unwrap();
        let link = host
            .run(|| XdpLink::attach(redirect.program(), index(&host), place))
            .unwrap();
        for frame in frames() {
            tap.write_all(&frame).unwrap();
            wait(&ring);
            let seen = collect(&mut ring, 1).remove(0);
            assert_eq!(seen.bytes, frame);
        }
        drop(link);
    }
}

/// The program at the end of a NAPI poll wakes the reader. A driver without NAPI has no such end, so the reader has to
/// poll there.
#[test]
fn a_program_that_takes_packets_wakes_the_reader_where_the_driver_has_napi() {
    for more_flags in [0, libc::IFF_NAPI] {
        let host = Host::new("alone");
        let mut tap = tap(&host, more_flags);
        let (slot_program, link, mut buffers) = take(&host, XdpAttachMode::Generic);
        for frame in frames() {
            // From now on it counts as asleep.
            assert!(buffers.iter_mut().flat_map(read).next().is_none());
            tap.write_all(&frame).unwrap();
            if more_flags == libc::IFF_NAPI {
                wait_for_any(&buffers);
            }
            let seen: Vec<Seen> = buffers.iter_mut().flat_map(read).collect();
            assert_eq!(seen.len(), 1);
            assert_eq!(seen[0].bytes, frame[..frame.len().min(96)]);
            assert_eq!(seen[0].original_len as usize, frame.len());
        }
        assert_eq!(
            (
                slot_program.counters().delivered,
                slot_program.counters().lost
            ),
            (3, 0)
        );
        drop(link);
    }
}

fn take(host: &Host, place: XdpAttachMode) -> (SlotProgram, XdpLink, Vec<BpfRing>) {
    let slot_program = SlotProgram::load(&SlotProgramOptions::new(96)).unwrap();
    let link = host
        .run(|| XdpLink::attach(slot_program.program(), index(host), place))
        .unwrap();
    let options = BpfRingOptions::default();
    let buffers = (slot_program.rings())
        .map(|place| host.run(|| BpfRing::open_slots("tap0", &place, &options)))
        .collect::<Result<_, _>>();
    (slot_program, link, buffers.unwrap())
}

/// Waits until one of the buffers polls readable.
fn wait_for_any(buffers: &[BpfRing]) {
    let deadline = Timespec::try_from(DEADLINE).unwrap();
    let mut polled: Vec<_> = (buffers.iter())
        .map(|buffer| PollFd::new(buffer, PollFlags::IN))
        .collect();
    let woken = poll(&mut polled, Some(&deadline)).unwrap();
    assert!(woken > 0, "nobody was woken");
}

/// Reads all available packets.
fn read(buffer: &mut BpfRing) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(mut batch) = buffer.next_batch() {
        seen.extend(batch.packets().map(Seen::from));
    }
    seen
}
