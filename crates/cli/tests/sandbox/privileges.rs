//! The capabilities of each thread, as the kernel reports them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;

use crate::support::files::capture;
use crate::support::rpcap::{FRAMES, serve};
use crate::support::run::{Running, spawn, spawn_into};
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

/// Only root that writes files keeps a privilege: the one over files of others.
#[test]
fn what_reads_files_has_no_privileges_and_what_writes_them_has_one() {
    const DAC_OVERRIDE: u64 = 1 << 1;
    let scene = Scene::new();
    let pipe = scene.file("pipe");
    let made = scene.right.command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let capture = fs::read(capture("802.1w_rapid_STP.pcap")).expect("a capture");
    for (line, expected) in [
        ("read pipe", 0),
        ("flows pipe", 0),
        ("read pipe -w copy.pcapng", DAC_OVERRIDE),
        ("flows pipe -w flows.parquet", DAC_OVERRIDE),
    ] {
        // Opened for both, it waits for no reader.
        let writer = OpenOptions::new().read(true).write(true).open(&pipe);
        let mut writer = writer.expect("a pipe");
        writer.write_all(&capture).expect("room");
        let mut running = spawn(scene.command(&format!("{line} --json --metrics 0")));
        running.ready();
        let held = lines(&running, "CapPrm:").into_values();
        let held = held.fold(0, |all, set| {
            all | u64::from_str_radix(&set, 16).expect("a number")
        });
        assert_eq!(held, expected, "{line}");
        drop(writer);
        running.finish().exit(0);
    }
}

/// Finding processes takes the right to trace them and to read all files. The process that parses packets has neither.
#[test]
fn a_capture_that_finds_processes_leaves_the_privileges_to_another_process() {
    const SYS_PTRACE: u64 = 1 << 19;
    const DAC_READ_SEARCH: u64 = 1 << 2;
    let scene = Scene::new();
    for user in ["", "--user nobody"] {
        let line = format!("capture -i lo --json --who --no-control {user}");
        let mut running = spawn(tapline(&scene.right, &line));
        running.ready();
        let of = |running: &Running| -> u64 {
            let held = lines(running, "CapPrm:").into_values();
            held.fold(0, |all, set| {
                all | u64::from_str_radix(&set, 16).expect("a number")
            })
        };
        assert_eq!(of(&running), 0, "{user}");
        let pid = running.pid().as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.expect("it runs");
        let status = format!("/proc/{}/status", children.trim());
        let status = fs::read_to_string(status).expect("one child");
        let value = |key: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(key));
            line.expect("a line").trim().to_owned()
        };
        let held = u64::from_str_radix(&value("CapPrm:"), 16).expect("a number");
        assert_eq!(held, SYS_PTRACE | DAC_READ_SEARCH, "{user}: {status}");
        assert_eq!(value("Name:"), "processes");
        assert_eq!(value("Seccomp:"), "2");
        assert_eq!(value("NoNewPrivs:"), "1");
        running.stop().exit(0);
        // It has ended with the capture.
        assert!(!std::path::Path::new(&format!("/proc/{}", children.trim())).exists());
    }
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

#[test]
fn what_writes_to_standard_output_has_no_privileges() {
    let scene = Scene::new();
    let pipe = scene.file("pipe");
    let made = scene.right.command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let capture = fs::read(capture("802.1w_rapid_STP.pcap")).expect("a capture");
    for line in ["read pipe -w -", "flows pipe -w -"] {
        // Opened for both, it waits for no reader.
        let writer = OpenOptions::new().read(true).write(true).open(&pipe);
        let mut writer = writer.expect("a pipe");
        writer.write_all(&capture).expect("room");
        let mut command = scene.command(&format!("{line} --metrics 0"));
        command.stdout(Stdio::null());
        let mut running = spawn_into(command);
        while !running.error_line().starts_with("metrics at ") {}
        // The main thread parses.
        let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
        let status = fs::read_to_string(status).expect("it runs");
        assert!(
            status.contains("\nCapPrm:\t0000000000000000\n"),
            "{line}: {status}"
        );
        drop(writer);
        running.finish().exit(0);
    }
}
