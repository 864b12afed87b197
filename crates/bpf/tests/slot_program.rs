//! The program that copies packets into shared slots, in the kernel's test runs: its return values and counters.

#![cfg(target_arch = "x86_64")]

use crate::support;
use std::num::NonZeroU32;

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Insn, PacketSelection, Sampling, SlotProgram, SlotProgramOptions, UnmatchedAction, XdpCounters,
};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// Runs the program on a packet of `bytes` bytes that begins with `first`, `count` times.
#[track_caller]
fn run(program: &SlotProgram, first: u8, bytes: u8, count: u32, verdict: u32) {
    let packet: Vec<u8> = std::iter::once(first).chain(1..bytes).collect();
    let run = TestRun {
        data: &packet,
        ..TestRun::default()
    };
    for _ in 0..count {
        let mut after = vec![0; 256];
        let result = program.program().test_run(&run, &mut after).unwrap();
        assert_eq!(result.return_value, verdict);
        assert_eq!(after[..result.data_bytes as usize], packet);
    }
}

#[track_caller]
fn load(options: &SlotProgramOptions<'_>) -> SlotProgram {
    SlotProgram::load(options).unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

#[track_caller]
fn assert_counts(program: &SlotProgram, expected: [u64; 4]) {
    let XdpCounters {
        delivered: taken,
        unmatched: others,
        sampled_out,
        lost,
        ..
    } = program.counters();
    assert_eq!([taken, others, sampled_out, lost], expected);
}

/// Selects packets whose first byte is 7.
fn sevens() -> Vec<Insn<'static>> {
    support::first_byte_is(7, PacketSelection::MATCH, PacketSelection::NO_MATCH)
}

#[test]
fn every_packet_is_taken_and_counted() {
    for snaplen in [0, 1, 59, 60, 61, 96, SlotProgram::MAX_SNAPLEN, u32::MAX] {
        let program = load(&SlotProgramOptions::new(snaplen));
        run(&program, 7, 60, 5, XDP_DROP);
        assert_counts(&program, [5, 0, 0, 0]);
    }
}

#[test]
fn what_is_not_chosen_goes_where_others_go() {
    for (others, verdict) in [
        (UnmatchedAction::Pass, XDP_PASS),
        (UnmatchedAction::Drop, XDP_DROP),
    ] {
        let program = load(&SlotProgramOptions {
            selection: PacketSelection {
                code: &sevens(),
                unmatched: others,
                ..PacketSelection::default()
            },
            ..SlotProgramOptions::new(96)
        });
        run(&program, 8, 60, 3, verdict);
        run(&program, 7, 60, 4, XDP_DROP);
        assert_counts(&program, [4, 3, 0, 0]);
    }
}

#[test]
fn what_sampling_leaves_out_goes_where_others_go() {
    pin_to_cpu(0).unwrap();
    let program = load(&SlotProgramOptions {
        selection: PacketSelection {
            code: &sevens(),
            sampling: Some(Sampling::OneIn(NonZeroU32::new(3).unwrap())),
            ..PacketSelection::default()
        },
        ..SlotProgramOptions::new(96)
    });
    for _ in 0..4 {
        run(&program, 7, 60, 1, XDP_DROP);
        run(&program, 8, 60, 1, XDP_PASS);
        run(&program, 7, 60, 2, XDP_PASS);
    }
    assert_counts(&program, [4, 4, 8, 0]);
}

/// The minimum memory per CPU is 64 KiB. A packet takes 128 bytes in one case and 512 in the other.
#[test]
fn packets_that_find_no_room_are_dropped_and_counted() {
    pin_to_cpu(0).unwrap();
    for (snaplen, room) in [(96, 512), (97, 256), (480, 128)] {
        let program = load(&SlotProgramOptions {
            buffer_bytes: 0,
            ..SlotProgramOptions::new(snaplen)
        });
        run(&program, 7, 200, 600, XDP_DROP);
        assert_counts(&program, [room, 0, 0, 600 - room]);
    }
}
