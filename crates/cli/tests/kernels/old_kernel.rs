//! Linux 6.1 under user-mode-linux, without tcx, AF_XDP, BTF, tracepoint programs and a BPF JIT: supported features
//! work, and the others are rejected with an error.

use std::fs;

use lab::{Host, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::UML;
use crate::support::count::{start, tally, totals};
use crate::support::files::count;
use crate::support::frames::frames;
use crate::support::{RINGBUF, Scene, assert_refused, output};

/// Whether the test has been run there.
#[track_caller]
fn has_run() -> bool {
    UML.has_run()
}

/// What tc(8) shows of our filters, and of the discipline they are on.
fn left_at_tc(host: &Host) -> String {
    let mut command = host.command("tc");
    command.args(["filter", "show", "dev", "right0", "egress"]);
    let filters = command.output().expect("tc runs").stdout;
    output(host, "tc", "qdisc show dev right0") + &String::from_utf8(filters).expect("text")
}

#[test]
fn drop_mode_says_that_the_kernel_has_no_af_xdp() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let said = "tapline: cannot open an AF_XDP socket for right0 (this kernel is built without AF_XDP): Address \
                family not supported by protocol (use --mode mirror)";
    let rows = [
        ("capture -i right0 --mode drop", 4, said),
        ("capture -i right0 --mode drop -s 96", 4, said),
    ];
    assert_refused(|line| scene.run(line), &rows);
}

#[test]
fn packets_are_counted_in_both_directions() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let running = start(&scene, "'test=ether proto 0x88b5' --by src");
    scene.send(&frames(40, 100));
    scene.send_back(&frames(20, 100));
    let ended = running.stop_counted("test", 60);
    assert_eq!(tally(&totals(&ended, "test")), (60, 6000));
    let hooks = ["xdp-native", "clsact"].map(|hook| json!({"hook": hook}));
    ended.summary().has(&json!({"interfaces": hooks}));
    assert!(!left_at_tc(&scene.right).contains("clsact"));
}

/// A second process sees to it, and ends then.
#[test]
fn a_count_that_is_killed_leaves_no_filter() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    for signal in [Signal::KILL, Signal::ABORT, Signal::INT] {
        let running = start(&scene, "all=");
        let parts = |shown: String| ["clsact", "tapline-tc/"].map(|part| shown.contains(part));
        assert_eq!(parts(left_at_tc(&scene.right)), [true; 2]);
        assert_eq!(guards(), 1);
        running.signal(signal);
        running.finish();
        wait::until("the second process has ended", || guards() == 0);
        assert_eq!(parts(left_at_tc(&scene.right)), [false; 2]);
    }
}

/// Nothing is at tc that has to be taken away.
#[test]
fn a_count_of_what_comes_in_by_xdp_has_no_second_process() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let running = start(&scene, "--direction in all=");
    assert_eq!(guards(), 0);
    running.stop().exit(0);
}

/// How many second processes there are, on a machine where nothing else runs.
fn guards() -> usize {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let names =
        processes.filter_map(|process| fs::read_to_string(process.path().join("comm")).ok());
    names.filter(|name| name == "clsact-guard\n").count()
}

/// The beginnings of packets are copied by XDP, and packets are filtered and sampled in the kernel.
#[test]
fn packets_are_captured() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    for (flags, kept) in [
        (RINGBUF, 40),
        ("ether proto 0x88b5", 40),
        ("--sample 1/10 ether proto 0x88b5", 4),
    ] {
        let running = scene.capture(&format!("-w file.pcapng {flags}"));
        scene.send(&frames(40, 100));
        let summary = running.stop_after(40).summary();
        let mut expected = json!({"written": kept, "sampled_out": 40 - kept});
        if flags == RINGBUF {
            expected["xdp_mode"] = "native".into();
        }
        summary.has(&expected);
        assert_eq!(count(&scene.file("file.pcapng")), kept);
    }
}
