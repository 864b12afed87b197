//! Kernels without bpf(2), and without ring buffers for programs, in whose place a seccomp filter refuses
//! what they would refuse.

use std::process::Command;
use std::thread;

use crate::support::run::{Ended, command, spawn};
use crate::support::{Scene, count, name};
use lab::refusal::{BPF, refuse};

const ENOSYS: u32 = 38;
const EINVAL: u32 = 22;
/// The first argument of bpf(2).
const BPF_MAP_CREATE: u64 = 0;

/// Runs `command` where bpf(2) with these `arguments` is answered by `errno`.
fn run_where(arguments: &[(u8, u64)], errno: u32, command: Command) -> Ended {
    let refused = || {
        refuse(BPF, arguments, errno);
        spawn(command).finish()
    };
    let ended = thread::scope(|scope| scope.spawn(refused).join());
    ended.expect("the program has run")
}

#[test]
fn without_bpf_what_needs_it_says_so() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let without = |command| run_where(&[], ENOSYS, command);
    let capture = |flags: &[&str]| without(command(&scene.right, flags));
    let made = "(this kernel is built without BPF): Function not implemented";
    assert_eq!(
        without(count::command(&scene.right, &["all="])).refusal(4),
        format!("cannot create BPF map tapline_count {made}")
    );
    assert_eq!(
        capture(&["--mode", "drop"]).refusal(4),
        format!(
            "cannot take packets from {link}: cannot create BPF map tapline_xsk {made} (use --mode \
             mirror)"
        )
    );
    let mirror = ["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"];
    assert_eq!(
        capture(&mirror).refusal(4),
        format!(
            "cannot copy packets of {link}: cannot create BPF map tapline_mirror {made} (use \
             --backend auto)"
        )
    );
    let sampled = capture(&["--sample", "1/10"]);
    let complaint = sampled.refusal(4);
    assert!(complaint.contains("built without BPF"), "{complaint}");
}

#[test]
fn without_bpf_a_filter_is_a_classic_one_that_does_not_count() {
    let scene = Scene::new();
    let flags = ["--duration", "1ms", "--json", "udp"];
    let ended = run_where(&[], ENOSYS, command(&scene.right, &flags));
    ended.exit(0);
    let summary = ended.summary().0;
    assert_eq!(summary["filter"], "kernel");
    assert!(summary["filtered"].is_null(), "{summary}");
    let why = summary["interfaces"][0]["uncounted"].as_str();
    let why = why.expect("a reason");
    assert!(why.contains("this kernel is built without BPF"), "{why}");
}

/// The first map that is asked for is a ring buffer.
#[test]
fn without_ring_buffers_the_remedy_is_named_and_works() {
    let scene = Scene::new();
    let link = name(&scene.right);
    let of = |backend| {
        let flags = ["--backend", backend, "--direction", "in", "-s", "96"];
        let flags = [&flags[..], &["--duration", "1ms"]].concat();
        let maps = [(0, BPF_MAP_CREATE)];
        run_where(&maps, EINVAL, command(&scene.right, &flags))
    };
    let ended = of("xdp-ringbuf");
    assert_eq!(
        ended.refusal(4),
        format!(
            "cannot copy packets of {link}: cannot create BPF map tapline_mirror (ring buffers need \
             Linux 5.8, and their size is a power of two and a multiple of the page size): Invalid \
             argument (use --backend auto)"
        )
    );
    of("auto").exit(0);
}
