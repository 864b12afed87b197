//! Receiving by XDP repeatedly, by every method, leaks nothing.
//!
//! `TAPLINE_SOAK_CYCLES=10000 cargo test -p tapline-ring --test main soak:: -- --nocapture` runs the full test.

use std::time::Instant;

use crate::support::xsk_rings::{PLACES, RingSetup, steer};
use crate::support::{BROADCAST, bytes_of, collect, frame, ring_buffers, send, slot_rings};
use lab::bpf::{RingBufferProgramOptions, SlotProgram, SlotProgramOptions, XdpAttachMode};
use lab::resources::{Objects, descriptors, resident_pages};
use lab::{Host, Net, rerun};

const CYCLES: usize = 10;
/// Maximum memory growth after the first tenth of the cycles, in pages.
const MAX_GROWTH_PAGES: usize = 256;

/// Records the programs and maps that this process holds in `seen`, and checks their minimum number.
#[track_caller]
fn note(seen: &mut Objects, programs: usize, maps: usize) {
    let held = Objects::of_process(std::process::id());
    assert!(
        held.programs() >= programs && held.maps() >= maps,
        "{held:?}"
    );
    seen.extend(held);
}

/// Receives a packet by AF_XDP socket, ring buffer and shared slots.
fn cycle([left, right]: &[Host; 2], place: XdpAttachMode, seen: &mut Objects) {
    let packet = frame(BROADCAST, 60);
    let frames = std::slice::from_ref(&packet);
    {
        let mut steered = steer(right, &RingSetup::new(place, 128));
        send(left, frames);
        assert_eq!(bytes_of(collect(steered.ring(), 1)), frames);
        note(seen, 1, 2);
    }
    {
        let options = RingBufferProgramOptions {
            buffer_bytes: 1 << 16,
            ..RingBufferProgramOptions::new(96)
        };
        let mut mirrored = ring_buffers::mirror(right, place, &options);
        send(left, frames);
        assert_eq!(bytes_of(collect(mirrored.first(), 1)), frames);
        note(seen, 1, 2);
    }
    if SlotProgram::SUPPORTED {
        let options = SlotProgramOptions {
            buffer_bytes: 0,
            ..SlotProgramOptions::new(96)
        };
        let mut taken = slot_rings::take(right, place, &options);
        send(left, frames);
        assert_eq!(bytes_of(collect(taken.first(), 1)), frames);
        note(seen, 2, 2);
    }
}

/// Returns how many programs and maps existed; checks that none is left.
fn soak(hosts: &[Host; 2], cycles: usize) -> [usize; 2] {
    let mut sums = [0; 2];
    let places: Vec<_> = PLACES.into_iter().cycle().take(cycles).collect();
    for places in places.chunks(CYCLES) {
        let mut seen = Objects::default();
        for place in places {
            cycle(hosts, *place, &mut seen);
        }
        seen.until_gone();
        sums = [sums[0] + seen.programs(), sums[1] + seen.maps()];
    }
    sums
}

#[test]
fn cycles_of_receiving_leave_nothing() {
    if rerun::has_run_alone() {
        return;
    }
    let cycles = std::env::var("TAPLINE_SOAK_CYCLES").map_or(CYCLES, |n| n.parse().unwrap());
    let hosts = Net::new().pair();
    // What is set up once: the thread's and the hosts'.
    soak(&hosts, cycles.div_ceil(10).max(PLACES.len()));
    let before = (descriptors(), resident_pages());
    let start = Instant::now();
    let [programs, maps] = soak(&hosts, cycles);
    let after = (descriptors(), resident_pages());
    let span = start.elapsed();
    println!(
        "{cycles} cycles in {span:?}: {programs} programs and {maps} maps, of which none is left; \
         descriptors and pages {before:?}, then {after:?}"
    );
    assert_eq!(before.0, after.0, "descriptors");
    assert!(
        after.1 <= before.1 + MAX_GROWTH_PAGES,
        "{before:?} {after:?}"
    );
    let shown = hosts[1].ip("link show");
    assert!(
        !shown.contains("xdp") && shown.contains("right0"),
        "{shown}"
    );
}
