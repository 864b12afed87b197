//! Kernels without bpf(2) and without BPF ring buffers, simulated by a seccomp filter.

use std::thread;

use lab::refusal::{BPF, refuse};
use serde_json::Value;

use crate::support::run::{Ended, spawn};
use crate::support::{RINGBUF, Scene, assert_refused};

const ENOSYS: u32 = 38;
const EINVAL: u32 = 22;
/// The first argument of bpf(2).
const BPF_MAP_CREATE: u64 = 0;

/// Runs `tapline LINE` where bpf(2) with these `arguments` is answered by `errno`.
fn run_where(arguments: &[(u8, u64)], errno: u32, scene: &Scene, line: &str) -> Ended {
    let command = scene.command(line);
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
    let made = "(this kernel is built without BPF): Function not implemented";
    assert_refused(
        |line| run_where(&[], ENOSYS, &scene, line),
        &[
            (
                "count -i right0 all=",
                4,
                &format!("tapline: cannot create BPF map tapline_count {made}"),
            ),
            (
                "capture -i right0 --mode drop",
                4,
                &format!(
                    "tapline: cannot take packets from right0: cannot create BPF map tapline_xsk {made} (use --mode \
                     mirror)"
                ),
            ),
            (
                &format!("capture -i right0 {RINGBUF}"),
                4,
                &format!(
                    "tapline: cannot copy packets of right0: cannot create BPF map tapline_mirror {made} (use \
                     --backend auto)"
                ),
            ),
            ("capture -i right0 --sample 1/10", 4, "built without BPF"),
        ],
    );
}

#[test]
fn without_bpf_a_filter_is_a_classic_one_that_does_not_count() {
    let scene = Scene::new();
    let line = "capture -i right0 --duration 1ms --json udp";
    let summary = run_where(&[], ENOSYS, &scene, line).done().0;
    assert_eq!(
        (&summary["filter"], &summary["filtered"]),
        (&"kernel".into(), &Value::Null)
    );
    let why = summary["interfaces"][0]["uncounted"]
        .as_str()
        .expect("a reason");
    assert!(why.contains("this kernel is built without BPF"), "{why}");
}

/// The first map that is asked for is a ring buffer.
#[test]
fn without_ring_buffers_the_remedy_is_named_and_works() {
    let scene = Scene::new();
    let run = |line: &str| {
        let line =
            format!("capture -i right0 --direction in -s 96 --duration 1ms --backend {line}");
        run_where(&[(0, BPF_MAP_CREATE)], EINVAL, &scene, &line)
    };
    let said = "tapline: cannot copy packets of right0: cannot create BPF map tapline_mirror (ring buffers need \
                Linux 5.8, and their size is a power of two and a multiple of the page size): Invalid argument \
                (use --backend auto)";
    assert_refused(run, &[("xdp-ringbuf", 4, said)]);
    run("auto").exit(0);
}
