//! Every thread of every command that runs for long, as the kernel has it: restricted, and without capabilities, or named here.

use std::collections::BTreeMap;
use std::fs;

use lab::wait;

use super::scene;
use crate::support::rpcap::{FRAMES, serve};
use crate::support::run::{Running, spawn};
use crate::support::tapline;

/// Capabilities as in capabilities(7).
const DAC_OVERRIDE: u64 = 1 << 1;
const DAC_READ_SEARCH: u64 = 1 << 2;
const NET_ADMIN: u64 = 1 << 12;
const SYS_NICE: u64 = 1 << 23;
const BPF: u64 = 1 << 39;

/// What the kernel says of a thread.
#[derive(Debug)]
struct Thread {
    is_filtered: bool,
    gains_nothing: bool,
    capabilities: u64,
}

/// The threads of a process, by name. Of several with the same name, the least restricted.
fn threads(running: &Running) -> BTreeMap<String, Thread> {
    let tasks = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    let mut threads = BTreeMap::<String, Thread>::new();
    for task in fs::read_dir(tasks).expect("it runs") {
        let status = task.expect("a thread").path().join("status");
        // One that has just ended is none.
        let Ok(status) = fs::read_to_string(status) else {
            continue;
        };
        let value = |key: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(key));
            line.expect("a line").trim().to_owned()
        };
        let thread = Thread {
            is_filtered: value("Seccomp:") == "2",
            gains_nothing: value("NoNewPrivs:") == "1",
            capabilities: u64::from_str_radix(&value("CapPrm:"), 16).expect("a number"),
        };
        let other = threads.remove(&value("Name:"));
        let thread = match other {
            Some(other) => Thread {
                is_filtered: thread.is_filtered && other.is_filtered,
                gains_nothing: thread.gains_nothing && other.gains_nothing,
                capabilities: thread.capabilities | other.capabilities,
            },
            None => thread,
        };
        threads.insert(value("Name:"), thread);
    }
    threads
}

/// A command, the threads that are not restricted, and the capabilities that others may keep.
struct Row {
    line: &'static str,
    unrestricted: &'static [&'static str],
    kept: u64,
}

const fn row(line: &'static str, unrestricted: &'static [&'static str], kept: u64) -> Row {
    Row {
        line,
        unrestricted,
        kept,
    }
}

/// What opens rings for changes, and interfaces that come up.
const CHANGES: &[&str] = &["tapline-control"];
const INTERFACES: &[&str] = &["interfaces"];

const ROWS: &[Row] = &[
    row("capture -i lo -q --no-control", &[], 0),
    row(
        "capture -i lo -q --no-control --metrics 127.0.0.1:0",
        &[],
        0,
    ),
    row("capture -i lo -q --no-control --who", &[], 0),
    row(
        "capture -i lo -q --no-control --queues 2 -w DIR/several.pcapng",
        &[],
        0,
    ),
    row(
        // A command that ends with the capture, also with a killed one.
        "capture -i lo -q --no-control -w DIR/one.pcapng -- sh -c 'exec tail -f --pid=$PPID /dev/null'",
        &[],
        0,
    ),
    row(
        "capture -i lo -q --no-control -w DIR/rotated.pcapng --rotate-packets 3",
        &[],
        DAC_OVERRIDE,
    ),
    row("capture -i lo -q --no-control udp", &[], BPF),
    row("capture -i lo -q", CHANGES, 0),
    row("capture -i any -q", INTERFACES, BPF),
    row("count -i right0 -q", &[], BPF),
    row("count -i right0 -q --metrics 127.0.0.1:0", &[], BPF),
    row("flows -i lo -q", &[], 0),
    row("latency -i lo", &[], 0),
    row("monitor link", &[], 0),
    row("ping -q -i 10ms 127.0.0.1", &[], 0),
    row("ping -q -i 10ms --metrics 127.0.0.1:0 127.0.0.1", &[], 0),
    row("ping -q -i 10ms --resolve-every 1s localhost", &[], 0),
    row("ping -q -i 10ms -f DIR/targets", &["reload"], 0),
    row(
        "ping -q -i 10ms --backend xdp 10.1.0.1",
        &[],
        BPF | NET_ADMIN,
    ),
    row("ping --respond -q -I right0", &[], BPF),
    row("read -q DIR/pipe", &[], DAC_OVERRIDE),
    row(
        "send -q -i right0 --udp --dst 10.1.0.1 --rate 100pps",
        &[],
        SYS_NICE,
    ),
    row(
        "send -q -i right0 -r DIR/in.pcap --loop 0 --rate 100pps",
        &[],
        SYS_NICE | DAC_READ_SEARCH,
    ),
];

/// Waits until the thread that parses is restricted, and all others but those named.
fn set_up(running: &Running, line: &str, unrestricted: &[&str]) {
    wait::until(line, || {
        let threads = threads(running);
        let others = threads
            .iter()
            .all(|(name, thread)| thread.is_filtered || unrestricted.contains(&name.as_str()));
        others && threads.contains_key("tapline")
    });
}

#[track_caller]
fn assert_restricted(running: &Running, line: &str, unrestricted: &[&str], kept: u64) {
    let threads = threads(running);
    assert!(threads.contains_key("signals"), "{line}: {threads:#?}");
    for (name, thread) in &threads {
        if unrestricted.contains(&name.as_str()) {
            continue;
        }
        assert!(thread.is_filtered, "{line}: {name} {thread:?}");
        assert!(thread.gains_nothing, "{line}: {name} {thread:?}");
        let more = thread.capabilities & !kept;
        assert_eq!(more, 0, "{line}: {name} has {more:#x}");
    }
    for name in unrestricted {
        assert!(threads.contains_key(*name), "{line}: {threads:#?}");
    }
}

#[test]
fn no_thread_is_left_unrestricted() {
    let scene = scene();
    scene.write("targets", "127.0.0.1\n");
    let pipe = scene.file("pipe");
    crate::support::output(&scene.right, "/usr/bin/mkfifo", &pipe);
    let both = fs::File::options().read(true).write(true).open(&pipe);
    let mut pipe = both.expect("a pipe");
    // A file without packets so far.
    let capture = fs::read(super::CAPTURE_FILE).expect("a capture");
    std::io::Write::write_all(&mut pipe, &capture[..24]).expect("written");
    let folder = scene.folder.path().to_str().expect("text");
    for row in ROWS {
        let line = row.line.replace("DIR", folder);
        let running = spawn(tapline(&scene.right, &line));
        set_up(&running, &line, row.unrestricted);
        assert_restricted(&running, &line, row.unrestricted, row.kept);
    }
}

/// The sessions of a server, and a capture at another host. The server's main thread only waits for connections.
#[test]
fn no_session_is_left_unrestricted() {
    let scene = scene();
    let (server, port) = serve(&scene.right, "");
    let line = format!("capture -i rpcap://127.0.0.1:{port}/right0 --json '{FRAMES}'");
    let mut client = spawn(tapline(&scene.right, &line));
    client.ready();
    assert_restricted(&client, &line, &[], 0);
    assert_restricted(&server, "serve", &["opener", "tapline"], 0);
    client.stop().exit(0);
    server.stop().exit(0);
}
