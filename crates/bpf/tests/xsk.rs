//! The steering program in the kernel's test runs: its return values and counters.

use crate::support;
use std::num::NonZeroU32;
use std::os::fd::AsFd;

use abi::bpf::TestRun;
use lab::generator::pin_to_cpu;
use tapline_bpf::{
    Insn, PacketSelection, Sampling, UnmatchedAction, XskProgram, XskProgramOptions,
};
use wire::record::METADATA_MARK;

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// Runs the program `count` times on a packet of 64 bytes that starts with `first`. Returns the last verdict and the
/// bytes written in front of the packet.
fn run(redirect: &XskProgram, first: u8, count: u32) -> (u32, Vec<u8>) {
    let packet: Vec<u8> = std::iter::once(first).chain(0..63).collect();
    let run = TestRun {
        data: &packet,
        ..TestRun::default()
    };
    let mut last = (0, Vec::new());
    for _ in 0..count {
        let mut after = vec![0; 256];
        let result = redirect.program().test_run(&run, &mut after).unwrap();
        after.truncate(result.data_bytes as usize);
        let begin = after.len() - packet.len();
        assert_eq!(after.split_off(begin), packet, "the packet is as it was");
        last = (result.return_value, after);
    }
    last
}

/// Selects packets whose first byte is 7.
fn sevens() -> Vec<Insn<'static>> {
    support::first_byte_is(7, PacketSelection::MATCH, PacketSelection::NO_MATCH)
}

#[test]
fn packets_of_a_queue_without_a_socket_go_on_and_are_counted() {
    for (stamp, multi_buffer) in [(false, false), (true, false), (false, true), (true, true)] {
        let options = XskProgramOptions {
            stamp,
            multi_buffer,
            ..XskProgramOptions::new(1)
        };
        let redirect = XskProgram::load(&options).unwrap();
        let before_ns = abi::clock::monotonic_ns();
        let (verdict, metadata) = run(&redirect, 7, 5);
        let after_ns = abi::clock::monotonic_ns();
        assert_eq!(verdict, XDP_PASS);
        if stamp {
            let (words, _) = metadata.as_chunks();
            let [monotonic_ns, mark] = [0, 1].map(|at| u64::from_ne_bytes(words[at]));
            assert_eq!((metadata.len(), mark), (16, METADATA_MARK));
            assert!((before_ns..=after_ns).contains(&monotonic_ns));
        } else {
            assert!(metadata.is_empty());
        }
        let counts = redirect.counters().unwrap();
        assert_eq!((counts.delivered, counts.lost), (0, 5));
        assert_eq!((counts.unmatched, counts.unstamped), (0, 0));
    }
}

#[test]
fn what_is_not_chosen_is_passed_or_dropped() {
    for (others, expected) in [
        (UnmatchedAction::Pass, XDP_PASS),
        (UnmatchedAction::Drop, XDP_DROP),
    ] {
        let options = XskProgramOptions {
            selection: PacketSelection {
                code: &sevens(),
                unmatched: others,
                ..PacketSelection::default()
            },
            ..XskProgramOptions::new(1)
        };
        let redirect = XskProgram::load(&options).unwrap();
        assert_eq!(run(&redirect, 8, 3), (expected, vec![]));
        assert_eq!(run(&redirect, 7, 4).0, XDP_PASS);
        let counts = redirect.counters().unwrap();
        assert_eq!((counts.unmatched, counts.lost), (3, 4));
    }
}

#[test]
fn what_sampling_leaves_out_is_counted_and_goes_the_way_of_others() {
    for (others, expected) in [
        (UnmatchedAction::Pass, XDP_PASS),
        (UnmatchedAction::Drop, XDP_DROP),
    ] {
        let options = XskProgramOptions {
            selection: PacketSelection {
                code: &sevens(),
                sampling: Some(Sampling::OneIn(NonZeroU32::new(5).unwrap())),
                unmatched: others,
            },
            ..XskProgramOptions::new(1)
        };
        let redirect = XskProgram::load(&options).unwrap();
        pin_to_cpu(0).unwrap();
        let verdicts: Vec<u32> = (0..11).map(|_| run(&redirect, 7, 1).0).collect();
        let expected: Vec<u32> = (0..11)
            .map(|at| if at % 5 == 0 { XDP_PASS } else { expected })
            .collect();
        assert_eq!(verdicts, expected);
        run(&redirect, 8, 2);
        let counts = redirect.counters().unwrap();
        assert_eq!((counts.lost, counts.sampled_out), (3, 8));
        assert_eq!((counts.unmatched, counts.delivered), (2, 0));
    }
}

#[test]
fn what_is_no_socket_or_beyond_the_queues_is_not_taken() {
    let redirect = XskProgram::load(&XskProgramOptions::new(2)).unwrap();
    let socket = abi::xdp::socket().unwrap();
    let told = |queue, socket| redirect.insert(queue, socket).unwrap_err().to_string();
    let file = std::fs::File::open("/dev/null").unwrap();
    let file = file.as_fd();
    assert_eq!(
        told(0, file),
        "cannot redirect packets of queue 0 to a socket"
    );
    let socket = socket.as_fd();
    assert_eq!(
        told(2, socket),
        "cannot redirect packets of queue 2 to a socket"
    );
}
