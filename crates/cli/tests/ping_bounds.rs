//! What bounds a run, or ends it: answers, memory, signals.

use rustix::process::Signal;
use serde_json::json;

use crate::support::ping::{dead_ends, ping, start, with_files};
use crate::support::{ENDING, Scene};

/// As ping does: who waits for a host to come up gives the time and the number of answers.
#[test]
fn with_a_time_one_target_is_asked_until_it_has_answered_so_often() {
    let scene = Scene::new();
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let mut running = start(&scene, "--json -v -c 2 -w 60 -i 20ms -W 20ms 10.1.0.2");
    for _ in 0..5 {
        running.event(|event| event["event"] == "lost");
    }
    scene.right.set_sysctl("ipv4/icmp_echo_ignore_all", "0");
    let summary = running.done();
    assert!(summary.number("lost") >= 5, "{summary:?}");
    summary.has(&json!({"received": 2, "ended": "count"}));

    // An error is an answer, too, though none that was wanted.
    dead_ends(&scene);
    let refused = ping(&scene, "--json -c 2 -w 60 -i 20ms 10.9.0.1");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    refused.summary().has(&json!({"received": 0, "errors": 1}));
}

/// A run that has no room is refused before it takes any.
#[test]
fn a_run_that_finds_no_memory_is_refused() {
    let scene = Scene::new();
    let text =
        "MemTotal:        2097152 kB\nMemFree:           65536 kB\nMemAvailable:     524288 kB\n";
    let memory = scene.write("meminfo", text);
    let files = [[&*memory, "/proc/meminfo"]];
    let refused = with_files(&scene, &files, "-q -c 1 -w 1ms 127.0.0.0/8");
    assert_eq!(
        refused.refusal(1),
        "the statistics of 16 777 214 targets take 1.6 GB of memory, and 537 MB are available"
    );
    with_files(&scene, &files, "-q -c 1 10.1.0.2 127.0.0.1").exit(0);
}

#[test]
fn a_signal_ends_the_run_with_its_summary() {
    let scene = Scene::new();
    for signal in ENDING {
        let mut running = start(&scene, "--json -i 10ms 10.1.0.2");
        running.event(|event| event["seq"] == 3);
        running.signal(signal);
        let summary = running.done();
        assert_eq!(summary.0["ended"], "stopped");
        let [sent, received, pending] =
            ["sent", "received", "pending"].map(|key| summary.number(key));
        assert!(received >= 3 && sent == received + pending, "{summary:?}");
    }
}

#[test]
fn sigquit_asks_for_a_short_status_and_ends_nothing() {
    let scene = Scene::new();
    let mut running = start(&scene, "-i 50ms 10.1.0.2");
    while !running.line().contains("icmp_seq=2 ") {}
    running.signal(Signal::QUIT);
    let status = running.error_line();
    let (counts, times) = status
        .split_once(", min/avg/ewma/max = ")
        .expect("a status");
    assert!(
        counts.starts_with('\r') && counts.contains(" packets, 0% loss"),
        "{status:?}"
    );
    let times = times.strip_suffix(" ms").expect("milliseconds").split('/');
    assert_eq!(times.flat_map(str::parse::<f64>).count(), 4);
    running.line();
    let ended = running.stop();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    ended.assert_says("--- 10.1.0.2 ping statistics ---");
}

#[test]
fn loss_beyond_what_is_tolerated_fails_the_run() {
    let scene = Scene::new();
    for (limit, code) in [("1", 0), ("50%", 0), ("0", 1), ("49.9%", 1)] {
        ping(
            &scene,
            &format!("--fail-loss {limit} -q -c 1 10.1.0.2 192.0.2.1"),
        )
        .exit(code);
    }
}
