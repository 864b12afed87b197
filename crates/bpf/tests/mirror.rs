//! The mirroring program in the kernel's test runs: its return values and counters.

use crate::support;
use std::error::Error;
use std::num::NonZeroU32;

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Insn, PacketSelection, RingBufferProgram, RingBufferProgramOptions, Sampling, XdpProgramError,
};

const XDP_PASS: u32 = 2;

/// Runs the program on a packet of 60 bytes that begins with `first`, `count` times.
fn run(mirror: &RingBufferProgram, first: u8, count: u32) {
    let packet: Vec<u8> = std::iter::once(first).chain(0..59).collect();
    let run = TestRun {
        data: &packet,
        ..TestRun::default()
    };
    for _ in 0..count {
        let mut after = vec![0; 256];
        let result = mirror.program().test_run(&run, &mut after).unwrap();
        assert_eq!(result.return_value, XDP_PASS);
        assert_eq!(after[..result.data_bytes as usize], packet);
    }
}

fn load(options: &RingBufferProgramOptions<'_>) -> RingBufferProgram {
    let loaded = RingBufferProgram::load(options);
    loaded
        .unwrap_or_else(|error| panic!("{error}: {error:?}"))
        .0
}

/// Selects packets whose first byte is 7.
fn sevens() -> Vec<Insn<'static>> {
    support::first_byte_is(7, PacketSelection::MATCH, PacketSelection::NO_MATCH)
}

#[test]
fn every_packet_is_passed_on_and_counted() {
    for (snaplen, multi_buffer) in [
        (1, false),
        (96, true),
        (RingBufferProgram::MAX_SNAPLEN, true),
    ] {
        let options = RingBufferProgramOptions {
            multi_buffer,
            ..RingBufferProgramOptions::new(snaplen)
        };
        let mirror = load(&options);
        run(&mirror, 7, 5);
        let counts = mirror.counters().unwrap();
        assert_eq!((counts.delivered, counts.unmatched, counts.lost), (5, 0, 0));
    }
}

#[test]
fn what_is_not_chosen_is_passed_on_and_counted() {
    let options = RingBufferProgramOptions {
        selection: PacketSelection {
            code: &sevens(),
            ..PacketSelection::default()
        },
        ..RingBufferProgramOptions::new(96)
    };
    let mirror = load(&options);
    run(&mirror, 8, 3);
    run(&mirror, 7, 4);
    let counts = mirror.counters().unwrap();
    assert_eq!((counts.delivered, counts.unmatched, counts.lost), (4, 3, 0));
    assert_eq!(counts.total(), 7);
}

#[test]
fn what_sampling_leaves_out_is_passed_on_and_counted() {
    pin_to_cpu(0).unwrap();
    let options = RingBufferProgramOptions {
        selection: PacketSelection {
            code: &sevens(),
            sampling: Some(Sampling::OneIn(NonZeroU32::new(3).unwrap())),
            ..PacketSelection::default()
        },
        ..RingBufferProgramOptions::new(96)
    };
    let mirror = load(&options);
    for _ in 0..4 {
        run(&mirror, 7, 1);
        run(&mirror, 8, 1);
        run(&mirror, 7, 2);
    }
    let counts = mirror.counters().unwrap();
    let told = [
        counts.delivered,
        counts.unmatched,
        counts.sampled_out,
        counts.lost,
    ];
    assert_eq!((told, counts.total()), ([4, 4, 8, 0], 16));
}

/// The kernel keeps at least one byte of the buffer free (`__bpf_ringbuf_reserve`): 42 records of 96 bytes, including
/// two headers, fit into 4096.
#[test]
fn packets_that_find_the_buffer_full_are_passed_on_and_counted() {
    pin_to_cpu(0).unwrap();
    let options = RingBufferProgramOptions {
        buffer_bytes: 4096,
        ..RingBufferProgramOptions::new(60)
    };
    let mirror = load(&options);
    run(&mirror, 7, 100);
    let counts = mirror.counters().unwrap();
    assert_eq!((counts.delivered, counts.lost), (42, 58));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refused =
        |options: &RingBufferProgramOptions<'_>| RingBufferProgram::load(options).unwrap_err();
    for snaplen in [0, RingBufferProgram::MAX_SNAPLEN + 1] {
        assert_eq!(
            refused(&RingBufferProgramOptions::new(snaplen)).to_string(),
            format!("cannot copy packets with a snaplen of {snaplen}: it must be 1 to 16384")
        );
    }
    for buffer_bytes in [0, 5000, 2048] {
        let error = refused(&RingBufferProgramOptions {
            buffer_bytes,
            ..RingBufferProgramOptions::new(96)
        });
        assert!(matches!(error, XdpProgramError::Map(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "cannot create BPF map tapline_mirror (ring buffers need Linux 5.8, and their size is a \
             power of two and a multiple of the page size)"
        );
        assert!(error.source().is_some());
    }
}
