//! `tapline ping --backend xdp`, beside the counters of the other host.

use std::collections::BTreeSet;

use rustix::process::Signal;
use serde_json::json;

use crate::support::ping::{ping, start};
use crate::support::run::{Running, spawn};
use crate::support::{Scene, assert_has, ip_json, number};

/// A responder at right in the driver, so that the interface takes XDP frames of left.
pub fn responder(scene: &Scene) -> Running {
    let line = "ping --respond --xdp native -I right0 --rate max --json";
    let mut running = spawn(scene.command(line));
    assert_eq!(running.ready()["mode"], "native");
    running
}

#[test]
fn all_outputs_have_the_numbers_of_the_other_end() {
    let scene = Scene::new();
    let responder = responder(&scene);
    let fast = "--backend xdp -i 0 --rate max -W 30";
    let ended = ping(&scene, &format!("{fast} -q -c 20000 10.1.0.2"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    ended.assert_mentions("20000 packets transmitted, 20000 received, 0% packet loss");
    ended.assert_mentions("rtt min/avg/max/mdev = ");
    let two = "10.1.0.2 fd00:1::2";
    let ended = ping(&scene, &format!("{fast} -c 1000 {two}"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    ended.assert_mentions("fd00:1::2 : xmt/rcv/%loss = 1000/1000/0%, min/avg/max = ");
    let ended = ping(&scene, &format!("{fast} --csv -c 1000 {two}"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(ended.stdout.len(), 3, "{ended:?}");
    assert!(
        ended.stdout[1].contains(",1000,1000,0,0,0,0,0,0,0,"),
        "{ended:?}"
    );
    let ended = ping(&scene, &format!("{fast} --json --histogram -c 1000 {two}"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let events = ended.events();
    let summary = events.last().expect("a summary");
    assert_has(
        summary,
        &json!({
            "sent": 2000, "received": 2000, "lost": 0, "late": 0, "errors": 0, "pending": 0,
            "backend": "xdp", "timestamp_source": "kernel", "forged": 0, "ended": "count",
        }),
    );
    assert!(number(summary, "rtt_p50_ns") > 0 && !summary["histogram"].is_null());
    assert!(events[1]["longest_outage"].is_null(), "{}", events[1]);
    for target in &events[1..3] {
        let times = ["rtt_min_ns", "rtt_p50_ns", "rtt_p99_ns", "rtt_max_ns"];
        let times = times.map(|key| number(target, key));
        assert!(times[0] > 0 && times.is_sorted(), "{target}");
    }
    let ended = responder.stop();
    let answered = ended.events().pop().expect("a summary");
    assert_eq!(number(&answered, "answered"), 20_000 + 3 * 2000);
}

#[test]
fn nothing_stays_attached_after_kill_and_lines_are_refused() {
    let scene = Scene::new();
    let _responder = responder(&scene);
    let is_attached = || {
        ip_json(&scene.left, "link show left0")[0]
            .get("xdp")
            .is_some()
    };
    for path in ["live-frames", "xdp"] {
        let running = start(
            &scene,
            &format!("--backend xdp --send-path {path} -q 10.1.0.2"),
        );
        lab::wait::until("the program is attached", is_attached);
        running.signal(Signal::KILL);
        running.finish();
        lab::wait::until("the program is detached", || !is_attached());
    }
    for line in ["-c 1 10.1.0.2", "-v -c 1 10.1.0.2 fd00:1::2"] {
        let ended = ping(&scene, &format!("--backend xdp {line}"));
        let refusal = ended.refusal(2);
        assert!(
            refusal.ends_with("cannot print each: add -q, --csv or --live"),
            "{refusal}"
        );
    }
    // The start event names the way of the requests.
    for (flags, path) in [
        ("", "live-frames"),
        ("--send-path live-frames", "live-frames"),
        ("--send-path xdp", "xdp"),
    ] {
        let line = format!("--backend xdp --json -q -c 10 -i 10ms {flags} 10.1.0.2");
        let ended = ping(&scene, &line);
        let events = ended.events();
        for event in [&events[0], &events[events.len() - 1]] {
            assert_eq!(event["send_path"], path, "{ended:?}");
        }
        assert_eq!(events[events.len() - 1]["received"], 10, "{ended:?}");
    }
    let ended = ping(&scene, "--backend xdp -q --send-path bypass 10.1.0.2");
    assert!(
        ended.refusal(2).contains("use auto, live-frames or xdp"),
        "{ended:?}"
    );
    let ended = ping(&scene, "--backend xdp -q --paths 2 10.1.0.2");
    assert_eq!(
        ended.refusal(2),
        "the XDP back end does not support paths (use --backend raw)"
    );
    let ended = ping(&scene, "-c 5 --rate 400kpps -i 1us 10.1.0.2");
    ended.assert_mentions("--backend xdp sends more probes per second than sockets can");
}

/// A sweep of 500 targets with a file for its state, to a responder.
struct Sweep {
    scene: Scene,
    state: String,
    line: String,
    _responder: Running,
}

impl Sweep {
    fn new() -> Self {
        let scene = Scene::new();
        scene.left.ip("route add 10.64.0.0/16 via 10.1.0.2");
        let state = scene.file("sweep");
        let line =
            format!("--backend xdp -c 1 -W 0.1 --state {state} --csv -q 10.64.0.0-10.64.1.243");
        let responder = responder(&scene);
        Self {
            scene,
            state,
            line,
            _responder: responder,
        }
    }

    /// Starts it, and waits for this many lines.
    fn start(&self, lines: usize) -> Running {
        let mut running = start(&self.scene, &format!("{} --rate 100pps", self.line));
        for _ in 0..lines {
            running.line();
        }
        running
    }

    fn has_state(&self) -> bool {
        std::path::Path::new(&self.state).exists()
    }
}

/// After a kill, the next run leaves out no target. Those that were probed after the file was last written have two lines.
#[test]
fn a_sweep_continues_after_a_kill() {
    let sweep = Sweep::new();
    let running = sweep.start(50);
    running.signal(Signal::KILL);
    let first = running.finish();
    let second = ping(&sweep.scene, &format!("{} --rate max", sweep.line));
    let lines = [first.stdout, second.stdout].concat();
    let targets = lines.iter().filter_map(|line| line.split(',').next());
    let targets: BTreeSet<_> = targets.filter(|target| *target != "target").collect();
    assert_eq!(targets.len(), 500);
    assert!(!sweep.has_state());
}

/// The first run has a line for each of its targets, and so has the second one, which prints text.
#[test]
fn a_sweep_that_continues_lists_its_own_targets() {
    let sweep = Sweep::new();
    let running = sweep.start(50);
    running.signal(Signal::INT);
    let first = running.finish();
    let text = sweep.line.replace("--csv -q ", "");
    let second = ping(&sweep.scene, &format!("{text} --rate max"));
    let lines = second.stdout.iter();
    let lines: Vec<_> = lines.filter(|line| line.contains(" : xmt/rcv/")).collect();
    // Without the header.
    assert_eq!(first.stdout.len() - 1 + lines.len(), 500, "{second:?}");
    assert!(lines.iter().all(|line| line.contains(" = 1/0/100%")));
    assert!(!sweep.has_state());
}

#[test]
fn a_run_ends_with_its_interface_and_keeps_the_state_of_the_sweep() {
    let sweep = Sweep::new();
    let running = sweep.start(10);
    sweep.scene.left.ip("link del left0");
    let ended = running.finish();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(ended.stderr, ["tapline: the interface was removed"]);
    // The next run begins behind what was printed. The first line is the header.
    let state = std::fs::read(&sweep.state).expect("it is kept");
    let state = serde_json::from_slice(&state).expect("JSON");
    assert_eq!(number(&state, "ended"), ended.stdout.len() as u64 - 1);
}

/// Each target has one line in all runs together, and the file is gone at the end.
#[test]
fn a_sweep_continues_from_its_state() {
    let scene = Scene::new();
    scene.left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    scene.right.ip("route add local 10.64.0.0/22 dev lo");
    let _responder = responder(&scene);
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("sweep");
    let common = format!("--backend xdp -c 1 -W 1 --state {}", state.display());
    let targets = "10.64.0.0-10.64.7.207";
    let mut running = start(
        &scene,
        &format!("{common} --rate 200pps --csv -q {targets}"),
    );
    for _ in 0..20 {
        running.line();
    }
    let second = ping(&scene, &format!("{common} --rate max --csv -q {targets}"));
    let refusal = second.refusal(2);
    assert!(refusal.contains(": another run uses it; "), "{refusal}");
    running.signal(Signal::INT);
    let first = running.finish();
    let header = &first.stdout[0];
    assert!(header.starts_with("target,address,sent,"), "{header}");
    let mut lines = first.stdout[1..].to_vec();
    assert!((20..2000).contains(&lines.len()), "{first:?}");
    assert!(state.is_file());
    let other = ping(&scene, &format!("{common} --csv -q 10.64.0.0/28"));
    let refusal = other.refusal(2);
    assert!(
        refusal
            .ends_with("it is for other targets; give the same ones, or delete it to start again"),
        "{refusal}"
    );
    let second = ping(&scene, &format!("{common} --rate max --csv -q {targets}"));
    // The lines continue those of the first run, without another header.
    lines.extend_from_slice(&second.stdout);
    let addresses: BTreeSet<_> = lines.iter().map(|line| line.split(',').next()).collect();
    assert_eq!((lines.len(), addresses.len()), (2000, 2000));
    let answered = lines
        .iter()
        .filter(|line| line.contains(",1,1,0,0,0,0,0,0,0,"));
    assert_eq!(answered.count(), 1024);
    assert!(!state.exists());
    std::fs::write(&state, "{}").expect("a file");
    let refused = ping(&scene, &format!("{common} -q {targets}"));
    assert!(
        refused
            .refusal(2)
            .contains("this is not the state of a sweep")
    );
    for line in [
        "--state x 10.1.0.2",
        "--backend xdp -c 2 -q --state x 10.1.0.2",
    ] {
        let refused = ping(&scene, line);
        assert_eq!(
            refused.refusal(2),
            "--state is for --backend xdp with -c 1, and not for --dry-run"
        );
    }
    let unwritable = ping(&scene, "--backend xdp -c 1 -q --state /nowhere/x 10.1.0.2");
    assert!(
        unwritable
            .refusal(1)
            .starts_with("cannot write /nowhere/x: ")
    );
}

/// XDP frames leave the host.
#[test]
fn addresses_of_this_host_are_refused_and_said() {
    let scene = Scene::new();
    let _responder = responder(&scene);
    for line in ["10.1.0.1", "-I left0 10.1.0.1", "127.0.0.1 fd00:1::1"] {
        let ended = ping(&scene, &format!("--backend xdp -q -c 2 {line}"));
        let expected =
            "XDP frames leave this host, and do not reach its own addresses (use --backend raw)";
        assert_eq!(ended.refusal(2), expected, "{line}");
    }
    let ended = ping(
        &scene,
        "--backend xdp -I left0 -c 2 -i 10ms 10.1.0.1 10.1.0.2",
    );
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    ended.assert_mentions("10.1.0.2 : xmt/rcv/%loss = 2/2/0%");
    ended.assert_mentions("an address of this host, which XDP frames do not reach");
}

#[test]
fn the_file_of_targets_is_read_again() {
    let scene = Scene::new();
    let _responder = responder(&scene);
    let list = scene.write("list", "10.1.0.2\n");
    let line = format!("--backend xdp -I left0 -W 0.1 -i 20ms --json -q -f {list}");
    let mut running = start(&scene, &line);
    running.event(|event| event["event"] == "start");
    scene.write("list", "fd00:1::2\n");
    running.signal(Signal::HUP);
    let replaced = running.event(|event| event["event"] == "targets_replaced");
    assert_has(
        &replaced,
        &json!({"added": 1, "removed": 1, "unchanged": 0}),
    );
    let removed = running.event(|event| event["change"] == "removed");
    let account = &removed["account"];
    assert_eq!(number(account, "received"), number(account, "sent"));
    let ended = running.stop();
    let summary = ended.events().pop().expect("a summary");
    assert_eq!(number(&summary, "targets"), 1);
    assert!(number(&summary, "sent") > number(account, "sent"));
}
