//! Linux 6.1 under user-mode-linux, which has no tcx and is built without AF_XDP, BTF, tracepoints for
//! programs and a compiler for them: what works there all the same, and what is said of the rest.

use crate::UML;
use crate::support;
use crate::support::count::{counted, send_back, tally, totals};
use crate::support::files::count;
use crate::support::frames::frames;
use crate::support::run::{run, start};
use crate::support::{Scene, name};
use lab::{Host, wait};
use rustix::process::Signal;

/// Whether the test has been run there.
#[track_caller]
fn has_run() -> bool {
    UML.has_run()
}

/// What tc(8) shows of our filters, and of the discipline they are on.
fn left_at_tc(host: &Host) -> String {
    let link = name(host);
    let show = |words: &[&str]| {
        let mut command = host.command("tc");
        command.args(words).args(["show", "dev", &link]);
        let output = command.output().expect("tc runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let mut command = host.command("tc");
    command.args(["filter", "show", "dev", &link, "egress"]);
    let filters = command.output().expect("tc runs").stdout;
    show(&["qdisc"]) + &String::from_utf8(filters).expect("text")
}

#[test]
fn drop_mode_says_that_the_kernel_has_no_af_xdp() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let link = name(&scene.right);
    for flags in [&["--mode", "drop"][..], &["--mode", "drop", "-s", "96"]] {
        assert_eq!(
            run(&scene.right, flags).refusal(4),
            format!(
                "cannot open an AF_XDP socket for {link} (this kernel is built without AF_XDP): \
                 Address family not supported by protocol (use --mode mirror)"
            )
        );
    }
}

#[test]
fn packets_are_counted_in_both_directions() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let classes = ["test=ether proto 0x88b5", "--by", "src"];
    let mut running = support::count::start(&scene.right, &classes);
    scene.send(&frames(40, 100));
    send_back(&scene, &frames(20, 100));
    counted(&mut running, "test", 60);
    let ended = running.stop();
    ended.exit(0);
    let of_class = totals(&ended, "test");
    assert_eq!(tally(&of_class), (60, 6000));
    let summary = ended.summary().0;
    let hooks = summary["interfaces"].as_array().expect("places");
    let hooks: Vec<_> = hooks.iter().map(|place| &place["hook"]).collect();
    assert_eq!(hooks, ["xdp-native", "clsact"]);
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
        let running = support::count::start(&scene.right, &["all="]);
        let shown = left_at_tc(&scene.right);
        assert!(
            shown.contains("clsact") && shown.contains("tapline-tc/"),
            "{shown}"
        );
        assert_eq!(guards(), 1);
        running.signal(signal);
        running.finish();
        wait::until("the second process has ended", || guards() == 0);
        let shown = left_at_tc(&scene.right);
        assert!(
            !shown.contains("clsact") && !shown.contains("tapline-tc/"),
            "{shown}"
        );
    }
}

/// Nothing is at tc that has to be taken away.
#[test]
fn a_count_of_what_comes_in_by_xdp_has_no_second_process() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let running = support::count::start(&scene.right, &["--direction", "in", "all="]);
    assert_eq!(guards(), 0);
    running.stop().exit(0);
}

/// How many second processes there are, on a machine where nothing else runs.
fn guards() -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let name = |path: std::path::PathBuf| std::fs::read_to_string(path.join("comm"));
    let names = processes.filter_map(|process| name(process.path()).ok());
    names.filter(|name| name == "clsact-guard\n").count()
}

#[test]
fn the_beginnings_of_packets_are_copied_by_xdp() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let flags = ["--backend", "xdp-ringbuf", "--direction", "in", "-s", "96"];
    let flags = [&flags[..], &["-w", &file, "--stats-interval", "5ms"]].concat();
    let mut running = start(&scene.right, &flags);
    scene.send(&frames(40, 100));
    running.received(40);
    let ended = running.stop();
    ended.exit(0);
    let summary = ended.summary();
    summary.conserves(40);
    assert_eq!(summary.0["xdp_mode"], "native");
    assert_eq!((summary.number("written"), count(&file)), (40, 40));
}

#[test]
fn packets_are_filtered_and_sampled_in_the_kernel() {
    if has_run() {
        return;
    }
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let filter = ["ether", "proto", "0x88b5"];
    for (sample, kept) in [(&[][..], 40), (&["--sample", "1/10"], 4)] {
        let flags = ["-w", &file, "--stats-interval", "5ms"];
        let mut running = start(&scene.right, &[&flags[..], sample, &filter].concat());
        scene.send(&frames(40, 100));
        running.received(40);
        let ended = running.stop();
        ended.exit(0);
        let summary = ended.summary();
        summary.conserves(40);
        assert_eq!(summary.number("sampled_out"), 40 - kept);
        assert_eq!((summary.number("written"), count(&file)), (kept, kept));
    }
}
