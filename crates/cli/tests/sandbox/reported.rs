//! The sandbox that a capture reports is in force when it reports it.

use std::process::Command;

use serde_json::{Value, json};

use super::scene;
use super::trace::{has_restricted_itself, strace};
use crate::support::rpcap::serve;
use crate::support::run::{command, spawn};
use crate::support::{PROGRAM, Scene, words};

/// The start event, under strace(1) with the options `by`. The trace is in the folder.
fn start(scene: &Scene, by: &[&str], line: &str) -> Value {
    let mut traced: Command = scene.right.command("strace");
    let trace = scene.file("trace");
    traced.args(["-f", "-qq", "-o", &trace]).args(by);
    traced.arg(PROGRAM).args(words(line));
    let mut running = spawn(traced);
    let start = running.ready();
    running.finish().exit(0);
    start
}

#[test]
fn the_start_comes_when_the_sandbox_applies() {
    let scene = scene();
    let (server, port) = serve(&scene.right, "");
    for line in [
        "capture -i lo --json --duration 10ms".to_owned(),
        "capture -i lo --json --duration 10s -- true".to_owned(),
        format!("capture -i rpcap://127.0.0.1:{port}/right0 --json --duration 10ms"),
    ] {
        let log = scene.folder.path().join("trace");
        let folder = scene.folder.path();
        let mut running = spawn(strace(&scene.right, &line, folder, &log));
        let start = running.ready();
        running.finish().exit(0);
        assert_eq!(start["sandbox"], true, "{line}: {start}");
        // What was traced before the line was written.
        let trace = std::fs::read_to_string(&log).expect("the trace");
        let (before, _) = trace
            .split_once("write(1, \"{\\\"event\\\":\\\"start\\\"")
            .unwrap_or_else(|| panic!("{line}: no start"));
        std::fs::write(&log, before).expect("written");
        assert!(has_restricted_itself(&log), "{line}: {before}");
    }
    server.stop().exit(0);
}

/// A container may refuse the calls, and an old kernel does not have them.
#[test]
fn a_part_that_the_kernel_refuses_is_named() {
    let scene = Scene::new();
    let line = "capture -i lo --json --duration 10ms";
    let landlock = "inject=landlock_create_ruleset:error=ENOSYS";
    let seccomp = "inject=seccomp:error=EINVAL";
    for (by, applies, lacks) in [
        (&[][..], true, json!([])),
        (&["-e", landlock][..], false, json!(["landlock"])),
        (&["-e", seccomp][..], false, json!(["seccomp"])),
        (
            &["-e", landlock, "-e", seccomp][..],
            false,
            json!(["landlock", "seccomp"]),
        ),
    ] {
        let start = start(&scene, by, line);
        assert_eq!(start["sandbox"], applies, "{by:?}: {start}");
        assert_eq!(start["sandbox_lacks"], lacks, "{by:?}: {start}");
    }
    let start = start(&scene, &[], &format!("{line} --no-sandbox"));
    assert_eq!(start["sandbox"], false, "{start}");
    assert_eq!(start["sandbox_lacks"], json!(["landlock", "seccomp"]));
}

/// Before Linux 5.16 a filter without the flag turns off speculation, and before 4.17 the kernel does not know the flag.
#[test]
fn filters_leave_speculation_and_do_without_the_flag() {
    let scene = Scene::new();
    let line = "capture -i lo --no-control --json --duration 10ms";
    let flag = "SECCOMP_FILTER_FLAG_SPEC_ALLOW";
    // The first call of each thread.
    let unknown = "inject=seccomp:error=EINVAL:when=1";
    for by in [&[][..], &["-e", unknown][..]] {
        let start = start(&scene, &[&["-e", "trace=seccomp"][..], by].concat(), line);
        assert_eq!(start["sandbox"], true, "{by:?}: {start}");
        let trace = std::fs::read_to_string(scene.file("trace")).expect("the trace");
        let made: Vec<_> = trace
            .lines()
            .filter(|line| line.contains("seccomp("))
            .collect();
        let [refused, with, without] = [
            made.iter().filter(|line| line.contains("INJECTED")).count(),
            made.iter()
                .filter(|line| line.contains(flag) && line.ends_with("= 0"))
                .count(),
            made.iter()
                .filter(|line| !line.contains(flag) && line.ends_with("= 0"))
                .count(),
        ];
        // Two filters in each of two threads.
        let expected = if by.is_empty() { [0, 4, 0] } else { [2, 2, 2] };
        assert_eq!([refused, with, without], expected, "{made:#?}");
    }
}

/// Without strace(1), which changes when threads run: the line and the state of the kernel.
#[test]
fn the_main_thread_is_restricted_when_the_start_is_read() {
    let mut running = spawn(command("capture -i lo --json"));
    let start = running.ready();
    let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(status).expect("it runs");
    assert_eq!(start["sandbox"], true);
    assert!(status.contains("Seccomp:\t2\n"), "{status}");
    running.stop().exit(0);
}
