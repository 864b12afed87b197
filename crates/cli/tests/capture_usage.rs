//! Wrong usage, and what this build has not: refused in one line before anything is captured.

use std::fs;

use crate::support::run::{self, run, spawn};
use crate::support::{PROGRAM, Scene, name};

#[track_caller]
fn assert_refused(scene: &Scene, arguments: &[&str], said: &str) {
    let ended = run(&scene.right, arguments);
    let complaint = ended.refusal(2);
    assert!(complaint.contains(said), "{arguments:?}: {complaint}");
}

#[test]
fn deliveries_that_a_ring_cannot_make_are_refused() {
    let scene = Scene::new();
    for (arguments, said) in [
        (
            &["--delivery", "slow"][..],
            "possible values: immediate, batch, adaptive",
        ),
        (
            &["--delivery", "batch", "--latency-target", "1ms"],
            "--latency-target needs --delivery adaptive",
        ),
        (
            &["--delivery", "immediate", "--timeout", "1s"],
            "--timeout needs --delivery batch",
        ),
        (
            &["--delivery", "immediate", "--backend", "packet-v3"],
            "packet-v2",
        ),
        (&["--timeout", "0s"], "must not be 0"),
        (
            &["--timeout", "100us", "--backend", "packet-v3"],
            "packet-v2 has any",
        ),
        (&["-s", "0", "--stall", "1h"], "a stall of 3600s takes"),
        (
            &["--mode", "drop", "--stall", "1s"],
            "--stall needs a packet ring",
        ),
        (
            &["--backend", "xdp-ringbuf", "--stall", "1s"],
            "--stall needs a packet ring",
        ),
    ] {
        assert_refused(&scene, arguments, said);
    }
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let scene = Scene::new();
    let file = scene.file("file");
    for (arguments, said) in [
        (
            &["--no-such-flag"][..],
            "unexpected argument '--no-such-flag'",
        ),
        (&["--directoin", "in"], "did you mean '--direction'?"),
        (&["--direction", "up"], "use in, out or both"),
        (
            &["--backend", "pcap"],
            "use packet-v2, packet-v3, xdp, xdp-ringbuf or auto",
        ),
        (&["--backend", "xdp"], "use --mode drop"),
        (&["--mode", "steal"], "use mirror or drop"),
        (&["--others", "drop"], "--others needs --mode drop"),
        (
            &["--xdp", "native"],
            "--xdp needs --mode drop or --backend xdp-ringbuf",
        ),
        (&["--mode", "drop", "--others", "eat"], "use pass or drop"),
        (
            &["--mode", "drop", "--xdp", "fast"],
            "use native, generic or auto",
        ),
        (
            &["--mode", "drop", "--backend", "packet-v3"],
            "use --backend xdp or auto",
        ),
        (&["--timestamp", "sundial"], "use kernel or hardware"),
        (&["-c", "0"], "-c"),
        (&["-c", "many"], "-c"),
        (&["-c"], "a value is required"),
        (&["-s", "-1"], "-1"),
        (&["-s", "x"], "snaplen"),
        (&["--duration", "5"], "a time needs a unit"),
        (&["--buffer", "5G"], "4 GiB"),
        (&["--buffer", "1x"], "unknown unit 'x'"),
        (&["--stats-interval", "0s"], "must not be 0"),
        (&["--fail-loss", "101%"], "--fail-loss"),
        (
            &["--compress", "gzip", "-w", &file],
            "use zstd or zstd:LEVEL",
        ),
        (&["--compress", "zstd:99", "-w", &file], "1 to 22"),
        (&["--rotate-packets", "5"], "--write"),
        (&["--rotate-size", "0", "-w", &file], "must not be 0"),
        (&["--json", "-w", "-"], "standard output"),
        (&["-i", &name(&scene.right)], "named twice"),
        (
            &["-w", "-", "--rotate-packets", "5"],
            "rotation needs a file name",
        ),
        (&["-w", &file, "--keep", "5"], "--keep needs --rotate-size"),
        (&["--bpf", &file, "tcp"], "cannot be used with"),
    ] {
        assert_refused(&scene, arguments, said);
    }
    let mut without_interface = scene.right.command(PROGRAM);
    without_interface.arg("capture");
    let ended = spawn(without_interface).finish();
    assert!(ended.refusal(2).contains("--interface <IF>"));
    let mut unknown = scene.right.command(PROGRAM);
    unknown.arg("juggle");
    assert!(spawn(unknown).finish().refusal(2).contains("'juggle'"));
    assert!(
        !fs::exists(&file).expect("it can be told"),
        "no file was made"
    );
}

#[test]
fn filter_files_are_checked_before_anything_is_captured() {
    let scene = Scene::new();
    let filter = scene.file("filter");
    let file = scene.file("file");
    let arguments = ["--bpf", &filter, "-w", &file];
    let ended = run(&scene.right, &arguments);
    let expected = format!("cannot read filter file {filter}: No such file or directory");
    assert_eq!(ended.refusal(1), expected);
    for (program, place) in [
        ("", "line"),
        ("this is not a program\n", "line 1"),
        ("2\n6 0 0 1\n", "2"),
        // A jump beyond the end, and one that never returns: the kernel takes neither.
        ("2\n21 9 0 1\n6 0 0 1\n", "instruction 0"),
        ("1\n0 0 0 1\n", "instruction"),
        ("1\n255 0 0 1\n", "instruction 0"),
    ] {
        fs::write(&filter, program).expect("a file");
        let ended = run(&scene.right, &arguments);
        let complaint = ended.refusal(2);
        let start = format!("filter file {filter} is invalid: ");
        assert!(complaint.starts_with(&start), "{complaint}");
        assert!(complaint.contains(place), "{program:?}: {complaint}");
    }
    assert!(!fs::exists(&file).expect("it can be told"));
}

/// Which is said before anything is opened, so also to who may not open anything.
#[test]
fn what_is_no_filter_is_shown_with_its_place() {
    let scene = Scene::new();
    let file = scene.file("file");
    let link = name(&scene.right);
    for (expression, said, below) in [
        (
            &["udp", "prot", "53"][..],
            "column 5: expected \"and\", \"or\" or the end, found \"prot\" (did you mean \"port\"?)",
            ["  udp prot 53", "      ^^^^"],
        ),
        (
            &["type mgt or tcp"],
            "not supported on DLT_EN10MB",
            ["  type mgt or tcp", "  ^"],
        ),
        (
            &["tcp", "port http and"],
            "found the end",
            ["  tcp port http and", "                   ^"],
        ),
    ] {
        let mut command = scene.right.command("setpriv");
        command.args(["--bounding-set", "-all", PROGRAM, "capture", "-i", &link]);
        command.args(["-w", &file]).args(expression);
        for command in [command, run::command(&scene.right, expression)] {
            let ended = spawn(command).finish();
            let complaint = ended.exit(2);
            let start = format!("filter for {link} is invalid: ");
            assert!(complaint.starts_with(&start), "{complaint}");
            assert!(complaint.contains(said), "{complaint}");
            assert_eq!(ended.stderr.len(), 3, "{ended:?}");
            assert_eq!(ended.stderr[1], below[0]);
            assert!(ended.stderr[2].starts_with(below[1]), "{ended:?}");
            assert!(ended.stdout.is_empty());
        }
    }
    assert!(!fs::exists(&file).expect("it can be told"));
}
