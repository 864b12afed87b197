//! `tapline ctl` and captures of interfaces that come and go: a change reaches all of them, also those that join later.
//!
//! The tests run themselves on a host with a `/run` of its own, whose interfaces are all captured. What they compare with: tshark's
//! view of the file, and the number of frames that were sent.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::tool;
use serde_json::{Value, json};
use tapline::packet::FrameSender;

use super::interfaces::{Over, notes};
use crate::capture::netns::{by_interface, create, ip, joined, ping, start};
use crate::support::files::{column, count_by_capinfos, tshark};
use crate::support::frames::frames;
use crate::support::has_run_with_own_mounts;
use crate::support::run::{events, run};

const MARK: &str = "TAPLINE_CLI_CONTROL_GROUPS";

/// Whether the calling test has run inside; false when that is where it runs now.
#[track_caller]
fn has_run() -> bool {
    has_run_with_own_mounts(MARK, "mount -t tmpfs tmpfs /run")
}

/// `tapline ctl LINE` for the only capture.
#[track_caller]
fn ctl(line: &str) -> Vec<Value> {
    events(&format!("ctl {line}"))
}

/// Checks that `tapline ctl LINE` is refused with an error that has `text`.
#[track_caller]
fn refused(line: &str, text: &str) {
    let ended = run(&format!("ctl {line}"));
    let shown = ended.exit(1);
    assert!(shown.contains(text), "{line}: {shown}");
}

/// A veth pair: what is sent through `NAME1` is received by `NAME0`.
fn pair(name: &str) {
    ip(&format!("link add {name}0 type veth peer name {name}1"));
    for end in ["0", "1"] {
        ip(&format!("link set {name}{end} addrgenmode none"));
        ip(&format!("link set {name}{end} up"));
    }
}

/// The sender of `NAME1`.
fn sender(name: &str) -> FrameSender {
    let shown = ip(&format!("-o link show {name}1"));
    let index = shown.split(':').next().expect("its index");
    FrameSender::open(index.parse().expect("a number")).expect("a socket")
}

/// Sends ten frames of 100 octets through each pair.
fn send_ten(names: &[&str]) {
    for name in names {
        let sender = sender(name);
        for frame in frames(10, 100) {
            sender.send(&frame).expect("it is sent");
        }
    }
}

/// How many packets of each interface, and of each captured length, are in a file.
fn in_file(file: &str) -> BTreeMap<(String, u32), u64> {
    let mut counts = BTreeMap::new();
    for row in tshark(file, &["frame.interface_name", "frame.cap_len"]) {
        let [name, length]: [String; 2] = row.try_into().expect("two fields");
        let length = length.parse::<u32>().expect("a number");
        *counts.entry((name, length)).or_default() += 1;
    }
    counts
}

#[test]
fn changes_reach_every_interface_and_those_that_join_later() {
    if has_run() {
        return;
    }
    pair("a");
    pair("b");
    let file = "/run/any.pcapng";
    let mut running = start(&format!("-i any -w {file}"));
    send_ten(&["a", "b"]);
    running.received(40);
    ctl("snaplen 40");
    send_ten(&["a", "b"]);
    running.received(80);
    ctl("filter ether proto 0x1234");
    send_ten(&["a", "b"]);
    running.received(120);
    pair("c");
    joined(&mut running, "c0");
    joined(&mut running, "c1");
    send_ten(&["c"]);
    running.received(140);
    ctl("filter");
    ctl("direction in");
    send_ten(&["a", "b", "c"]);
    running.received(170);
    pair("d");
    joined(&mut running, "d0");
    joined(&mut running, "d1");
    send_ten(&["d"]);
    running.received(180);
    for line in [
        "direction both",
        "buffer 1M",
        "delivery immediate",
        "stall 10ms",
        "delivery batch",
        "min-bytes 1M",
        "timeout 20ms",
        "sample 1/1",
    ] {
        ctl(line);
    }
    send_ten(&["a", "b", "c", "d"]);
    running.received(260);
    let stats = ctl("stats").remove(0);
    let settings = json!({
        "snaplen": 40, "buffer_bytes": 1 << 20, "sample": "1/1", "direction": "both", "delivery": "batch",
        "min_bytes": 1 << 20, "timeout_ns": 20_000_000, "latency_target_ns": null, "stall_ns": 10_000_000,
    });
    assert_eq!(stats["settings"], settings);
    let interfaces = stats["interfaces"].as_array().expect("a list");
    // And the loopback.
    assert_eq!(interfaces.len(), 9);
    assert!(interfaces.iter().all(|one| one["mode"] == "mirror"));
    ctl("stop");
    let summary = running.done();
    summary.conserves(260);
    summary.has(&json!({"delivered": 200, "filtered": 60}));
    // Received by the one end, sent through the other.
    let expected = [
        ("a0", 100, 10),
        ("a0", 40, 30),
        ("a1", 100, 10),
        ("a1", 40, 20),
        ("b0", 100, 10),
        ("b0", 40, 30),
        ("b1", 100, 10),
        ("b1", 40, 20),
        ("c0", 40, 20),
        ("c1", 40, 10),
        ("d0", 40, 20),
        ("d1", 40, 10),
    ];
    let expected = expected.map(|(name, length, count)| ((name.to_owned(), length), count));
    assert_eq!(in_file(file), BTreeMap::from(expected));
    let expected = [
        "snaplen 40",
        "filter \"ether proto 0x1234\"",
        "filter \"\"",
        "direction in",
        "direction both",
        "buffer 1048576",
        "delivery immediate",
        "stall 10ms",
        "delivery batch",
        "min-bytes 1048576",
        "timeout 20ms",
        "sample 1/1",
        "stop",
    ];
    assert_eq!(notes(file), expected);
}

#[test]
fn modes_change_for_one_interface_for_all_and_for_those_that_join_later() {
    if has_run() {
        return;
    }
    pair("a");
    pair("b");
    let file = "/run/any.pcapng";
    let mut running = start(&format!("-i any --direction in -w {file}"));
    let mut total = 0;
    for (line, pairs) in [
        ("snaplen 96", &["a", "b"][..]),
        ("set dev a0 mode drop", &["a", "b"]),
        ("set mode drop", &["a", "b"]),
    ] {
        ctl(line);
        send_ten(pairs);
        total += 10 * pairs.len() as u64;
        running.received(total);
    }
    pair("c");
    joined(&mut running, "c0");
    joined(&mut running, "c1");
    let modes = || {
        let stats = ctl("stats").remove(0);
        let interfaces = stats["interfaces"].as_array().expect("a list").iter();
        let mode = |one: &Value| one["mode"].as_str().expect("a mode").to_owned();
        interfaces.map(mode).collect::<Vec<_>>()
    };
    assert_eq!(modes(), ["drop"; 7]);
    for line in ["filter ether proto 0x88b5", "set mode mirror", "snaplen 60"] {
        ctl(line);
        send_ten(&["a", "b", "c"]);
        total += 30;
        running.received(total);
    }
    assert_eq!(modes(), ["mirror"; 7]);
    ctl("stop");
    let summary = running.done();
    summary.conserves(total);
    let expected = [
        ("a0", 60),
        ("a1", 0),
        ("b0", 60),
        ("b1", 0),
        ("c0", 30),
        ("c1", 0),
        ("lo", 0),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(by_interface(&summary), BTreeMap::from(expected));
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for name in column::<String>(file, "frame.interface_name") {
        *counts.entry(name).or_default() += 1;
    }
    let expected = [("a0", 60), ("b0", 60), ("c0", 30)];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn interfaces_are_left_out_and_taken_back() {
    if has_run() {
        return;
    }
    pair("a");
    pair("b");
    let file = "/run/any.pcapng";
    let mut running = start(&format!("-i any --direction in -w {file}"));
    send_ten(&["a", "b"]);
    running.received(20);
    ctl("remove b0");
    send_ten(&["a", "b"]);
    running.received(30);
    // It does not come back by itself.
    ip("link set b0 down");
    ip("link set b0 up");
    pair("c");
    joined(&mut running, "c0");
    send_ten(&["a", "b", "c"]);
    running.received(50);
    refused("remove b0", "b0 is not captured");
    refused("add a0", "a0 is already captured");
    refused("add nothing0", "nothing0 is captured when it comes up");
    ctl("add b0");
    joined(&mut running, "b0");
    send_ten(&["a", "b", "c"]);
    running.received(80);
    // All can be removed.
    for name in ["a0", "a1", "b0", "b1", "c0", "c1"] {
        ctl(&format!("remove {name}"));
    }
    send_ten(&["a", "b", "c"]);
    ctl("filter ether proto 0x1234");
    ctl("add a0");
    joined(&mut running, "a0");
    send_ten(&["a", "b"]);
    running.received(90);
    ctl("stop");
    let summary = running.done();
    summary.conserves(90);
    summary.has(&json!({"delivered": 80, "filtered": 10}));
    let noted = notes(file);
    assert_eq!(noted[..2], ["remove b0", "add b0"]);
    assert_eq!(noted.len(), 2 + 6 + 3);
}

#[test]
fn changes_reach_every_namespace() {
    if has_run() {
        return;
    }
    create("red");
    create("blue");
    let file = "/run/all.pcapng";
    let mut running = start(&format!("--netns all -i lo -w {file}"));
    ctl("filter icmp[icmptype] == icmp-echo");
    ping("red", 5);
    ping("blue", 5);
    running.received(20);
    create("green");
    joined(&mut running, "green/lo");
    ping("green", 5);
    running.received(30);
    refused("direction out", "the direction of lo is fixed");
    refused("direction out", "in network namespace ");
    refused("filter tcp prt 1", "filter for lo is invalid");
    // Interfaces of another name, in each namespace.
    ip("-n red link add x0 type veth peer name x1");
    for line in [
        "link set x0 addrgenmode none",
        "link set x1 addrgenmode none",
        "link set x0 up",
    ] {
        ip(&format!("-n red {line}"));
    }
    refused("add red/x0", "red/x0 is not captured");
    ctl("add x0");
    ip("-n red link set x1 up");
    joined(&mut running, "red/x0");
    ctl("set dev red/lo mode drop");
    ctl("set dev red/lo mode mirror");
    ctl("remove blue/lo");
    ping("red", 5);
    ping("blue", 5);
    running.received(40);
    ip("netns del green");
    ctl("stop");
    let summary = running.done();
    let counts = by_interface(&summary);
    let expected = [
        ("red/lo", 10),
        ("blue/lo", 5),
        ("green/lo", 5),
        ("red/x0", 0),
    ];
    for (name, count) in expected {
        assert_eq!(counts[name], count, "{name}");
    }
}

/// The XDP program and the socket of an interface are still there when it comes up again, because the reader waits for a pipe.
#[test]
fn an_interface_joins_again_when_a_reader_that_was_held_up_has_left_it() {
    if has_run() {
        return;
    }
    pair("a");
    pair("b");
    let path = "/run/pipe";
    let made = tool::command("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo runs").success());
    // Open for both, it does not wait for a writer.
    let pipe = File::options().read(true).write(true).open(path);
    let pipe = pipe.expect("the pipe");
    let mut running = start(&format!("-i any --mode drop --buffer 4M -w {path}"));
    // More than the pipe holds.
    let to_b = sender("b");
    for frame in frames(200, 1000) {
        to_b.send(&frame).expect("it is sent");
    }
    ip("link set a0 down");
    ip("link set a0 up");
    // The thread that answers has tried to open it by now.
    ctl("stats");
    let mut reading = File::open(path).expect("the pipe");
    drop(pipe);
    let reader = thread::spawn(move || io::copy(&mut reading, &mut io::sink()));
    let event = running.event(|event| event["event"] == "interface" && event["name"] == "a0");
    assert_eq!(event["reason"], Value::Null);
    running.received(200);
    ctl("stop");
    running.done().conserves(200);
    assert!(reader.join().expect("no panic").is_ok());
}

#[test]
fn a_capture_that_does_not_answer_hides_no_other() {
    if has_run() {
        return;
    }
    pair("a");
    let running = start("-i a0 --name well -w /run/well.pcapng");
    let listener = UnixListener::bind("/run/tapline/odd.sock").expect("a socket");
    // What it answers is no message.
    let odd = thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut line = String::new();
            BufReader::new(&stream)
                .read_line(&mut line)
                .expect("a request");
            stream.write_all(b"odd\n").expect("an answer");
        }
    });
    let shown = run("ctl list");
    let text = shown.exit(1);
    assert!(text.contains("capture odd does not answer: "), "{text}");
    let lines = &shown.stdout;
    assert!(
        lines.iter().any(|line| line.starts_with("well ")),
        "{lines:?}"
    );
    // Which one is meant is not known.
    refused("stop", "capture odd does not answer: ");
    odd.join().expect("two requests");
    ctl("--name well stop");
    running.done().conserves(0);
}

/// A tunnel device has no Ethernet header.
#[test]
fn what_one_interface_refuses_changes_none() {
    if has_run() {
        return;
    }
    pair("a");
    ip("tuntap add tun0 mode tun");
    ip("link set tun0 up");
    let mut running = start("-i any --direction in -w /run/any.pcapng");
    ctl("filter ether proto 0x88b5 or ip");
    send_ten(&["a"]);
    running.received(10);
    refused(
        "filter ether host 2:0:0:0:0:9",
        "filter for tun0 is invalid",
    );
    refused("direction out", "the direction of ");
    send_ten(&["a"]);
    running.received(20);
    let stats = ctl("stats").remove(0);
    assert_eq!(stats["filter"], "ether proto 0x88b5 or ip");
    ctl("stop");
    let summary = running.done();
    summary.conserves(20);
    summary.has(&json!({"delivered": 20}));
    assert_eq!(notes("/run/any.pcapng").len(), 2);
}

/// Changes while packets arrive at two interfaces and a third one comes and goes.
#[test]
fn changes_under_load_lose_and_repeat_no_packet() {
    if has_run() {
        return;
    }
    pair("a");
    pair("b");
    let file = "/run/any.pcapng";
    let mut running = start(&format!("-i any --direction in --buffer 8M -w {file}"));
    let (mut sent, is_over) = (0, AtomicBool::new(false));
    let senders = ["a", "b"].map(sender);
    let frames = frames(100, 100);
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let _over = Over(&is_over);
            for round in 0..10 {
                pair("c");
                ctl(&format!("snaplen {}", 60 + round));
                ctl("filter ether proto 0x88b5");
                ip("link del c0");
                ctl("buffer 9M");
                ctl("buffer 8M");
            }
        });
        while !is_over.load(Ordering::Relaxed) {
            thread::scope(|scope| {
                for sender in &senders {
                    let frames = &frames;
                    scope.spawn(move || {
                        let sent = frames.iter().try_for_each(|frame| sender.send(frame));
                        sent.expect("they are sent");
                    });
                }
            });
            sent += 2 * frames.len() as u64;
            running.delivered(sent);
        }
        changes.join().expect("changed");
    });
    ctl("stop");
    let summary = running.done();
    // What interfaces that are gone lost themselves is not known.
    summary.has(
        &json!({"delivered": sent, "filtered": 0, "lost": {"ring": 0, "program": 0, "reader": 0}}),
    );
    assert!(sent > 2_000, "{sent}");
    assert_eq!(count_by_capinfos(file), sent);
    assert_eq!(notes(file).len(), 41);
}
