//! The capabilities of each thread, as the kernel reports them.

use std::collections::BTreeMap;
use std::fs;

use crate::support::rpcap::{FRAMES, serve};
use crate::support::run::{Running, spawn};
use crate::support::{Scene, tapline};

/// Capabilities as in capabilities(7).
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_ADMIN: u64 = 1 << 21;

/// What opening an interface takes.
const OPENING: u64 = NET_ADMIN | NET_RAW | SYS_ADMIN;

/// The line of /proc/PID/status that begins with `key`, of each thread by its name.
fn lines(running: &Running, key: &str) -> BTreeMap<String, String> {
    let tasks = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    let tasks = fs::read_dir(tasks).expect("it runs");
    let lines = tasks.map(|task| {
        let status = task.expect("a thread").path().join("status");
        let status = fs::read_to_string(status).expect("it runs");
        let value = |key: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(key));
            line.expect("a line").trim().to_owned()
        };
        (value("Name:"), value(key))
    });
    lines.collect()
}

#[test]
fn the_reader_of_interfaces_that_come_up_cannot_open_them() {
    let scene = Scene::new();
    let line = "capture -i any --json -q --stats-interval 10ms -w any.pcapng --rotate-packets 1000";
    let mut command = tapline(&scene.right, line);
    command.current_dir(scene.folder.path());
    let mut running = spawn(command);
    running.ready();
    // The reader is restricted by the time of its first statistics.
    running.event(|event| event["event"] == "stats");
    scene.right.ip("link add later type veth peer name other");
    scene.right.ip("link set later up");
    running.event(|event| event["event"] == "interface" && event["name"] == "later");
    let held: BTreeMap<_, _> = lines(&running, "CapEff:")
        .into_iter()
        .map(|(name, set)| (name, u64::from_str_radix(&set, 16).expect("a number")))
        .collect();
    assert_eq!(held["tapline"] & OPENING, 0, "{held:x?}");
    assert_eq!(held["interfaces"] & OPENING, OPENING, "{held:x?}");
    let filters = lines(&running, "Seccomp_filters:");
    assert_eq!(filters["tapline"], "2", "{filters:?}");
    assert_eq!(lines(&running, "NoNewPrivs:")["tapline"], "1");
    running.stop().exit(0);
}

/// The thread that opens captures has what it needs, and the one that reads requests and packets has nothing.
#[test]
fn a_session_of_rpcap_has_no_privileges() {
    let scene = Scene::new();
    let (server, port) = serve(&scene.right, "");
    let line = format!("capture -i rpcap://127.0.0.1:{port}/right0 --json '{FRAMES}'");
    let mut client = spawn(scene.command(&line));
    client.ready();
    let held: BTreeMap<_, _> = lines(&server, "CapEff:")
        .into_iter()
        .map(|(name, set)| (name, u64::from_str_radix(&set, 16).expect("a number")))
        .collect();
    assert_eq!(held["serve"], 0, "{held:x?}");
    let opening = NET_ADMIN | NET_RAW;
    assert_eq!(held["opener"] & (opening | SYS_ADMIN), opening, "{held:x?}");
    assert_eq!(lines(&server, "Seccomp_filters:")["serve"], "2");
    client.stop().exit(0);
    server.stop().exit(0);
}
