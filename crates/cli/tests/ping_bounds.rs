//! What bounds a run: answers, time, memory.

use std::fs;

use crate::support::Scene;
use crate::support::ping::{command, dead_ends, ping, with_files};
use crate::support::run::spawn;

/// As ping does: who waits for a host to come up gives the time and the number of answers.
#[test]
fn with_a_time_one_target_is_asked_until_it_has_answered_so_often() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let arguments = [
        "--json", "-v", "-c", "2", "-w", "60", "-i", "20ms", "-W", "20ms", "10.1.0.2",
    ];
    let mut running = spawn(command(&scene.left, &arguments));
    for _ in 0..5 {
        running.event(|event| event["event"] == "lost");
    }
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "0");
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    assert!(summary.number("lost") >= 5, "{summary:?}");
    assert_eq!(summary.number("received"), 2);
    assert_eq!(summary.0["ended"], "count");

    // An error is an answer, too, though none that was wanted.
    dead_ends(&scene.left, &scene.right);
    let refused = ping(
        &scene.left,
        &["--json", "-c", "2", "-w", "60", "-i", "20ms", "10.9.0.1"],
    );
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let summary = refused.summary();
    assert_eq!(
        (summary.number("received"), summary.number("errors")),
        (0, 1)
    );
}

/// A run that has no room is refused before it takes any.
#[test]
fn a_run_that_finds_no_memory_is_refused() {
    let scene = Scene::new();
    let memory = scene.file("meminfo");
    let text =
        "MemTotal:        2097152 kB\nMemFree:           65536 kB\nMemAvailable:     524288 kB\n";
    fs::write(&memory, text).expect("a file");
    let files = [[&*memory, "/proc/meminfo"]];
    let arguments = ["-q", "-c", "1", "-w", "1ms", "127.0.0.0/8"];
    let refused = with_files(&scene.left, &files, &arguments);
    assert_eq!(
        refused.refusal(1),
        "the statistics of 16 777 214 targets take 1.6 GB of memory, and 537 MB are available"
    );
    let small = with_files(
        &scene.left,
        &files,
        &["-q", "-c", "1", "10.1.0.2", "127.0.0.1"],
    );
    small.exit(0);
}
