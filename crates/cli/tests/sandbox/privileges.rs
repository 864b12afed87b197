//! The capabilities of each thread, as the kernel reports them.

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

/// A thread and its line of /proc/PID/task/TID/status that begins with a key.
#[derive(Debug)]
struct ThreadLine {
    name: String,
    value: String,
}

impl ThreadLine {
    /// The value as a set of capabilities.
    fn capabilities(&self) -> u64 {
        u64::from_str_radix(&self.value, 16).expect("a number")
    }
}

/// The lines of all threads, except those that end meanwhile.
fn lines(running: &Running, key: &str) -> Vec<ThreadLine> {
    let tasks = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    let tasks = fs::read_dir(tasks).expect("it runs");
    let lines = tasks.filter_map(|task| {
        let status = task.expect("a thread").path().join("status");
        let status = fs::read_to_string(status).ok()?;
        let value = |key: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(key));
            line.expect("a line").trim().to_owned()
        };
        Some(ThreadLine {
            name: value("Name:"),
            value: value(key),
        })
    });
    lines.collect()
}

/// The line of the threads with this name, which must be equal. A new thread has the name of its creator before it sets its own.
fn of<'a>(lines: &'a [ThreadLine], name: &str) -> &'a ThreadLine {
    let mut found = lines.iter().filter(|line| line.name == name);
    let first = found.next();
    let first = first.unwrap_or_else(|| panic!("no thread {name}: {lines:?}"));
    let are_equal = found.all(|line| line.value == first.value);
    assert!(are_equal, "{name}: {lines:?}");
    first
}

/// The capabilities that any thread has.
fn permitted(running: &Running) -> u64 {
    let held = lines(running, "CapPrm:");
    assert!(!held.is_empty(), "it has ended");
    held.iter().fold(0, |all, line| all | line.capabilities())
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
    let held = lines(&running, "CapEff:");
    let of_thread = |name: &str| of(&held, name).capabilities() & OPENING;
    assert_eq!(of_thread("tapline"), 0, "{held:?}");
    assert_eq!(of_thread("interfaces"), OPENING, "{held:?}");
    let filters = lines(&running, "Seccomp_filters:");
    assert_eq!(of(&filters, "tapline").value, "2", "{filters:?}");
    let bits = lines(&running, "NoNewPrivs:");
    assert_eq!(of(&bits, "tapline").value, "1", "{bits:?}");
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
        assert_eq!(permitted(&running), expected, "{line}");
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
        assert_eq!(permitted(&running), 0, "{user}");
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
    let held = lines(&server, "CapEff:");
    assert_eq!(of(&held, "serve").capabilities(), 0, "{held:?}");
    let opening = NET_ADMIN | NET_RAW;
    let of_opener = of(&held, "opener").capabilities() & (opening | SYS_ADMIN);
    assert_eq!(of_opener, opening, "{held:?}");
    let filters = lines(&server, "Seccomp_filters:");
    assert_eq!(of(&filters, "serve").value, "2", "{filters:?}");
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
