//! The mirroring program on given packets, by the kernel's test runs: what it returns and counts.

mod support;

use std::error::Error;
use std::num::NonZeroU32;

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{Insn, Mirror, MirrorError, MirrorOptions, Sampling};

const XDP_PASS: u32 = 2;

/// Runs the program on a packet of 60 bytes that begins with `first`, `count` times.
fn run(mirror: &Mirror, first: u8, count: u32) {
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

fn load(options: &MirrorOptions<'_>) -> Mirror {
    let loaded = Mirror::load(options);
    loaded
        .unwrap_or_else(|error| panic!("{error}: {error:?}"))
        .0
}

/// Takes packets whose first byte is 7.
fn sevens() -> Vec<Insn<'static>> {
    support::first_byte_is(7, Mirror::TAKE, Mirror::OTHERS)
}

#[test]
fn every_packet_is_passed_on_and_counted() {
    for (snaplen, multi_buffer) in [(1, false), (96, true), (Mirror::MAX_SNAPLEN, true)] {
        let options = MirrorOptions {
            multi_buffer,
            ..MirrorOptions::new(snaplen)
        };
        let mirror = load(&options);
        run(&mirror, 7, 5);
        let counts = mirror.counts().unwrap();
        assert_eq!((counts.mirrored, counts.others, counts.lost), (5, 0, 0));
    }
}

#[test]
fn what_is_not_chosen_is_passed_on_and_counted() {
    let options = MirrorOptions {
        select: &sevens(),
        ..MirrorOptions::new(96)
    };
    let mirror = load(&options);
    run(&mirror, 8, 3);
    run(&mirror, 7, 4);
    let counts = mirror.counts().unwrap();
    assert_eq!((counts.mirrored, counts.others, counts.lost), (4, 3, 0));
    assert_eq!(counts.seen(), 7);
}

#[test]
fn what_sampling_leaves_out_is_passed_on_and_counted() {
    pin_to_cpu(0).unwrap();
    let options = MirrorOptions {
        select: &sevens(),
        sampling: Some(Sampling::OneIn(NonZeroU32::new(3).unwrap())),
        ..MirrorOptions::new(96)
    };
    let mirror = load(&options);
    for _ in 0..4 {
        run(&mirror, 7, 1);
        run(&mirror, 8, 1);
        run(&mirror, 7, 2);
    }
    let counts = mirror.counts().unwrap();
    let told = [
        counts.mirrored,
        counts.others,
        counts.sampled_out,
        counts.lost,
    ];
    assert_eq!((told, counts.seen()), ([4, 4, 8, 0], 16));
}

/// The kernel leaves at least a byte of the buffer free (`__bpf_ringbuf_reserve`): 42 records of 96
/// bytes, two of them headers, fit into 4096.
#[test]
fn packets_that_find_the_buffer_full_are_passed_on_and_counted() {
    pin_to_cpu(0).unwrap();
    let options = MirrorOptions {
        buffer_bytes: 4096,
        ..MirrorOptions::new(60)
    };
    let mirror = load(&options);
    run(&mirror, 7, 100);
    let counts = mirror.counts().unwrap();
    assert_eq!((counts.mirrored, counts.lost), (42, 58));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refused = |options: &MirrorOptions<'_>| Mirror::load(options).unwrap_err();
    for snaplen in [0, Mirror::MAX_SNAPLEN + 1] {
        assert_eq!(
            refused(&MirrorOptions::new(snaplen)).to_string(),
            format!("cannot mirror with a snaplen of {snaplen}: it is 1 to 16384")
        );
    }
    for buffer_bytes in [0, 5000, 2048] {
        let error = refused(&MirrorOptions {
            buffer_bytes,
            ..MirrorOptions::new(96)
        });
        assert!(matches!(error, MirrorError::Map(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "cannot create BPF map tapline_mirror (ring buffers need Linux 5.8, and their size is a \
             power of two and a multiple of the page size)"
        );
        assert!(error.source().is_some());
    }
}
