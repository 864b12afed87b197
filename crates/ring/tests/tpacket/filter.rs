//! Filters in the kernel, compared with the frames that were sent.

use std::os::fd::OwnedFd;

use crate::support::{
    BACKENDS, BROADCAST, STRANGER, bytes_of, collect, frame, open, options, send,
};
use abi::bpf::{Instruction, PROG_TYPE_SOCKET_FILTER, ProgramSource, SockFilter, load_program};
use lab::Net;
use tapline_ring::{
    DirectionFilter, PacketRing, RingFilter, RingOpenError, RingOptions, SetupStep,
};

const fn op(code: u16, k: u32) -> SockFilter {
    SockFilter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Accepts whole broadcast frames: `ether broadcast`, by the first four bytes.
fn broadcast() -> Vec<SockFilter> {
    let jump = SockFilter {
        code: 0x15,
        jt: 0,
        jf: 1,
        k: u32::MAX,
    };
    vec![op(0x20, 0), jump, op(0x06, 262_144), op(0x06, 0)]
}

/// Keeps as many bytes of a frame as its 15th byte says: `ldb [14]; ret a`.
fn as_many_as_it_says() -> Vec<SockFilter> {
    vec![op(0x30, 14), op(0x16, 0)]
}

/// A frame of 200 bytes whose 15th byte is `bytes`.
fn that_says(bytes: u8) -> Vec<u8> {
    let mut frame = frame(BROADCAST, 200);
    frame[14] = bytes;
    frame
}

/// An eBPF program that keeps `bytes` bytes of every packet: `r0 = bytes; exit`.
fn program(bytes: i32) -> OwnedFd {
    let source = ProgramSource {
        ifindex: 0,
        program_type: PROG_TYPE_SOCKET_FILTER,
        flags: 0,
        instructions: &[
            Instruction::new(0xb7, 0, 0, 0, bytes),
            Instruction::new(0x95, 0, 0, 0, 0),
        ],
        license: c"MIT",
        name: "take",
        attach_type: 0,
    };
    load_program(&source, &mut []).unwrap()
}

#[test]
fn what_a_classic_filter_refuses_is_not_received() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let filtered = RingOptions {
            filter: RingFilter::Classic(broadcast()),
            ..options(version)
        };
        let mut ring = open(&right, &filtered);
        let frames = [BROADCAST, STRANGER, BROADCAST].map(|to| frame(to, 100));
        send(&left, &frames);
        let taken = bytes_of(collect(&mut ring, 2));
        assert_eq!(taken, [frames[0].clone(), frames[2].clone()]);
        ring.refresh().unwrap();
        assert_eq!(ring.counters().accepted, 2);
    }
}

#[test]
fn a_classic_filter_and_a_direction_hold_together() {
    for version in BACKENDS {
        for direction in [
            DirectionFilter::Out,
            DirectionFilter::In,
            DirectionFilter::Both,
        ] {
            let [left, right] = Net::new().pair();
            let filter = RingFilter::Classic(broadcast());
            let mut ring = open(
                &left,
                &RingOptions {
                    direction,
                    filter,
                    ..options(version)
                },
            );
            let lengths = [60, 61, 62, 63].map(|bytes| match bytes {
                60 | 62 => frame(BROADCAST, bytes),
                _ => frame(STRANGER, bytes),
            });
            let [sent, foreign, answered, foreign_answer] = lengths;
            send(&left, &[foreign, sent.clone()]);
            send(&right, &[foreign_answer, answered.clone()]);
            let mut expected = match direction {
                DirectionFilter::Out => vec![sent],
                DirectionFilter::In => vec![answered],
                DirectionFilter::Both => vec![sent, answered],
            };
            let mut seen = bytes_of(collect(&mut ring, expected.len()));
            // Two CPUs may have delivered them.
            seen.sort();
            expected.sort();
            assert_eq!(seen, expected, "{version:?} {direction:?}");
            ring.refresh().unwrap();
            assert_eq!(ring.counters().accepted, expected.len() as u64);
        }
    }
}

#[test]
fn a_filter_that_returns_its_accumulator_keeps_that_much_and_no_more_than_the_snaplen() {
    for version in BACKENDS {
        for direction in [DirectionFilter::In, DirectionFilter::Both] {
            let [left, right] = Net::new().pair();
            let filter = RingFilter::Classic(as_many_as_it_says());
            let snaplen = 120;
            let mut ring = open(
                &right,
                &RingOptions {
                    direction,
                    filter,
                    snaplen,
                    ..options(version)
                },
            );
            let frames = [50, 0, 119, 120, 121, 150, 255].map(that_says);
            send(&left, &frames);
            let seen = collect(&mut ring, 6);
            let lengths: Vec<usize> = seen.iter().map(|packet| packet.bytes.len()).collect();
            assert_eq!(lengths, [50, 119, 120, 120, 120, 120]);
            assert!(seen.iter().all(|packet| packet.original_len == 200));
        }
    }
}

/// A program's accumulator is 0 at its start, even after an inserted prologue.
#[test]
fn an_accumulator_that_is_never_loaded_is_zero() {
    for version in BACKENDS {
        let [left, _right] = Net::new().pair();
        // `jeq #0, take, refuse`
        let jump = SockFilter {
            code: 0x15,
            jt: 0,
            jf: 1,
            k: 0,
        };
        let filter = RingFilter::Classic(vec![jump, op(0x06, 96), op(0x06, 0)]);
        let direction = DirectionFilter::Out;
        let mut ring = open(
            &left,
            &RingOptions {
                direction,
                filter,
                ..options(version)
            },
        );
        send(&left, &[frame(BROADCAST, 100)]);
        assert_eq!(collect(&mut ring, 1)[0].bytes, frame(BROADCAST, 100)[..96]);
    }
}

#[test]
fn an_ebpf_program_says_how_much_is_kept() {
    for version in BACKENDS {
        let [left, right] = Net::new().pair();
        let ring = |bytes, snaplen| {
            let filter = RingFilter::Program(program(bytes));
            open(
                &right,
                &RingOptions {
                    filter,
                    snaplen,
                    ..options(version)
                },
            )
        };
        let mut whole = ring(-1, 1800);
        let mut cut = ring(77, 1800);
        let mut cut_by_snaplen = ring(77, 20);
        let mut nothing = ring(0, 1800);
        send(&left, &[frame(BROADCAST, 100)]);
        for (ring, kept) in [(&mut whole, 100), (&mut cut, 77), (&mut cut_by_snaplen, 20)] {
            let seen = collect(ring, 1);
            assert_eq!(seen[0].bytes, frame(BROADCAST, 100)[..kept]);
            assert_eq!(seen[0].original_len, 100);
        }
        nothing.refresh().unwrap();
        assert_eq!(nothing.counters().accepted, 0);
    }
}

#[test]
fn an_invalid_filter_is_rejected() {
    for version in BACKENDS {
        let [left, _right] = Net::new().pair();
        let name = left.interface().name.to_string();
        let error = |filter| {
            let options = RingOptions {
                filter,
                ..options(version)
            };
            match left.run(|| PacketRing::open(&name, &options)) {
                Err(RingOpenError::Setup(error)) => (error.step, error.source.raw_os_error()),
                other => panic!("{other:?}"),
            }
        };
        let invalid = (SetupStep::Filter, Some(libc::EINVAL));
        // No instructions; no return; a jump past the end.
        assert_eq!(error(RingFilter::Classic(vec![])), invalid);
        assert_eq!(error(RingFilter::Classic(vec![op(0x20, 0)])), invalid);
        assert_eq!(
            error(RingFilter::Classic(vec![op(0x05, 7), op(0x06, 0)])),
            invalid
        );
        let not_a_program = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(error(RingFilter::Program(not_a_program.into())), invalid);
    }
}
