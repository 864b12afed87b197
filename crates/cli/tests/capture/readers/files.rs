//! Captures with several readers, on an interface with two queues.
//!
//! A test runs itself again on a host of its own: a veth pair with two queues each, through which a sender on each CPU
//! sends numbered datagrams by the queue of its number (XPS). What the captures are compared with: tshark's view of the
//! files, and what the senders sent.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::thread;

use lab::generator::pin_to_cpu;
use rustix::thread::sched_getaffinity;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::files::{options, records};
use crate::support::run::{Ended, Running, Summary, command, events, run, spawn};
use crate::support::{assert_refused, has_run_with_own_mounts, number, text, tool};

const MARK: &str = "TAPLINE_CLI_CAPTURE_READERS";

/// Where a file system of 64 KiB is.
const SMALL_DISK: &str = "/mnt";

/// Datagrams of each sender: more than a megabyte in a file.
pub(crate) const COUNT: u64 = 10_000;

/// Whether the calling test has run inside; false when that is where it runs now, with the veth pair `v0` and `v1`.
#[track_caller]
pub(crate) fn has_run() -> bool {
    let small = format!("mount -t tmpfs -o size=64k tmpfs {SMALL_DISK}");
    if has_run_with_own_mounts(MARK, &format!("mount -t sysfs sysfs /sys && {small}")) {
        return true;
    }
    add_pair("v0", "v1", 9);
    false
}

/// Adds a veth pair of two queues. What is sent to 10.`net`.0.2 leaves by `from` and arrives at `to`, in the queue of the
/// sender's CPU.
pub(crate) fn add_pair(from: &str, to: &str, net: u8) {
    let queues = "numrxqueues 2 numtxqueues 2";
    for line in [
        &*format!("link add {from} {queues} type veth peer name {to} {queues}"),
        &*format!("address add 10.{net}.0.1/24 dev {from}"),
        &*format!("link set {from} up"),
        &*format!("link set {to} up"),
        &*format!("neighbour add 10.{net}.0.2 lladdr 02:00:00:00:00:02 dev {from}"),
    ] {
        tool("ip", line);
    }
    for (queue, cpus) in [(0, "1"), (1, "2")] {
        let file = format!("/sys/class/net/{from}/queues/tx-{queue}/xps_cpus");
        std::fs::write(file, cpus).expect("the queue of a CPU is set");
    }
}

/// Sends `count` datagrams from CPU `cpu`, and therefore by the queue of this number.
pub(crate) fn send(cpu: u8, count: u64) {
    send_to("10.9.0.2:9", cpu, count);
}

/// As [`send`], to this address.
pub(crate) fn send_to(address: &str, cpu: u8, count: u64) {
    pin_to_cpu(cpu.into()).expect("the CPU is there");
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    for number in 0..count {
        let mut payload = [0; 64];
        payload[0] = cpu;
        payload[1..9].copy_from_slice(&number.to_be_bytes());
        socket.send_to(&payload, address).expect("it is sent");
    }
}

/// Sends from both CPUs at once.
pub(crate) fn send_from_both() {
    thread::scope(|scope| {
        for cpu in [0, 1] {
            scope.spawn(move || send(cpu, COUNT));
        }
    });
}

pub(crate) fn start(folder: &TempDir, line: &str) -> (Running, Value) {
    let line = format!("capture -i v1 --json --stats-interval 20ms {line} udp port 9");
    let mut command = command(&line);
    let mut running = spawn({
        command.current_dir(folder.path());
        command
    });
    let start = running.ready();
    (running, start)
}

/// Stops a capture that has delivered `count` packets; the accounts of its readers add up to the whole.
#[track_caller]
pub(crate) fn stop(running: Running, count: u64) -> Summary {
    let summary = stop_any(running, count);
    adds_up(&summary);
    summary
}

/// Stops a capture, which may have a single reader, that has delivered `count` packets.
pub(crate) fn stop_any(mut running: Running, count: u64) -> Summary {
    // Lost ones, too, so that a loss fails the test and does not stop it.
    running.event(|event| {
        event["event"] == "stats"
            && number(event, "delivered") + number(&event["lost"], "ring") >= count
    });
    running.stop().done()
}

#[track_caller]
pub(crate) fn adds_up(summary: &Summary) {
    let readers = summary.0["readers"].as_array().expect("readers");
    for key in ["received", "delivered", "filtered"] {
        let sum: u64 = readers.iter().map(|reader| number(reader, key)).sum();
        assert_eq!(sum, summary.number(key), "{key} in {}", summary.0);
    }
    summary.conserves(summary.number("received"));
}

/// A datagram in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) time: String,
    pub(crate) queue: String,
    pub(crate) payload: String,
}

impl Seen {
    /// Its queue is that of its sender's CPU.
    #[track_caller]
    pub(crate) fn assert_queue(&self) {
        let cpu = u8::from_str_radix(&self.payload[..2], 16).expect("hexadecimal");
        assert_eq!(self.queue, cpu.to_string(), "{self:?}");
    }
}

pub(crate) fn seen(file: &str) -> Vec<Seen> {
    let fields = "-e frame.time_epoch -e frame.interface_queue -e udp.payload";
    let shown = tool("tshark", &format!("-n -r {file} -T fields {fields}"));
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next().expect("three fields");
        Seen {
            time: next(),
            queue: next(),
            payload: next(),
        }
    };
    shown.lines().map(row).collect()
}

/// Packets that come after one with a later time stamp.
pub(crate) fn late(seen: &[Seen]) -> u64 {
    let mut newest = "";
    let late = seen.iter().filter(|packet| {
        // Of the same length for the next centuries.
        let is_late = *packet.time < *newest;
        newest = newest.max(&packet.time);
        is_late
    });
    late.count() as u64
}

/// Checks that every datagram that was sent is there once, with the number of its queue if it has one.
#[track_caller]
pub(crate) fn assert_complete(seen: &[Seen], has_queues: bool) {
    let mut found = BTreeMap::<&str, u64>::new();
    for packet in seen {
        *found.entry(&packet.payload[..18]).or_default() += 1;
        if has_queues {
            packet.assert_queue();
        }
    }
    assert_eq!(found.len() as u64, 2 * COUNT);
    assert!(found.values().all(|&times| times == 1));
}

#[test]
fn one_file_has_every_packet_once_in_the_order_of_time_with_its_queue() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (line, fanout, has_queues) in [
        ("", Some("queue"), true),
        ("--backend packet-v2 -s 128", Some("queue"), true),
        ("--fanout hash", Some("hash"), false),
        ("--fanout cpu", Some("cpu"), false),
        ("--mode drop", None, true),
        ("--mode drop -s 128", None, true),
    ] {
        let file = text(&folder.path().join("file.pcapng"));
        let line = format!("--queues all --direction in -w {file} {line}");
        let (running, start) = start(&folder, &line);
        assert_eq!(start["fanout"].as_str(), fanout, "{start}");
        send_from_both();
        let summary = stop(running, 2 * COUNT);
        assert_eq!(summary.number("delivered"), 2 * COUNT, "{}", summary.0);
        assert_eq!(summary.number("written"), 2 * COUNT);
        let readers = summary.0["readers"].as_array().expect("readers");
        assert_eq!(readers.len(), 2);
        if has_queues && fanout.is_some() {
            for (queue, reader) in (0..).zip(readers) {
                assert_eq!(
                    (number(reader, "queue"), number(reader, "delivered")),
                    (queue, COUNT)
                );
            }
        }
        let seen = seen(&file);
        assert_complete(&seen, has_queues);
        let merge = &summary.0["merge"];
        assert_eq!((late(&seen), number(merge, "late")), (0, 0), "{line}");
        assert!(number(merge, "memory_bytes") > 0 && number(merge, "max_delay_ns") > 0);
    }
}

/// What the statistics of a file say: whose packets, received, delivered. By Wireshark's dissector of capture files.
fn statistics_seen(file: &str) -> Vec<(String, u64, u64)> {
    let mut part = "all".to_owned();
    let (mut received, mut found) = (0, Vec::new());
    for option in options(file) {
        let (name, value) = option.split_once(" = ").unwrap_or((&option, ""));
        let count = || value.parse().expect("a number");
        match name {
            "Comment" => value.clone_into(&mut part),
            "Number of Received Packets" => received = count(),
            "Number of Packets Delivered to the User" => {
                let part = std::mem::replace(&mut part, "all".to_owned());
                found.push((part, received, count()));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_file_has_the_statistics_of_each_queue() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let all = |queues: [u64; 2], filtered: [u64; 2], part: &str| {
        let mut expected: Vec<_> = (0..2)
            .map(|n| {
                let comment = format!("counts {part} {n} only");
                (comment, queues[n] + filtered[n], queues[n])
            })
            .collect();
        let received: u64 = queues.iter().chain(&filtered).sum();
        expected.push(("all".to_owned(), received, queues.iter().sum()));
        expected
    };
    let file = text(&folder.path().join("file.pcapng"));
    let flags = format!("--queues all --direction in -w {file}");
    // Packets of a queue are received on the CPU of their sender.
    for (mode, part) in [
        ("--mode drop -s 128", "reader"),
        ("--mode drop", "receive queue"),
        ("", "receive queue"),
    ] {
        let (running, _) = start(&folder, &format!("{flags} {mode} udp[8] = 1 and"));
        send(0, 10);
        send(1, 20);
        let summary = stop(running, 20);
        let found = statistics_seen(&file);
        assert_eq!(found, all([0, 20], [10, 0], part), "{mode}");
        let readers = summary.0["readers"].as_array().expect("readers").iter();
        let counts = readers.map(|one| (number(one, "delivered"), number(one, "filtered")));
        assert_eq!(counts.collect::<Vec<_>>(), [(0, 10), (20, 0)], "{mode}");
    }
    let shown = events(&format!("read --summary {file}")).remove(0);
    let interface = &shown["interfaces"][0];
    let part = &interface["parts"][1];
    assert_eq!(part["part"], "receive queue 1");
    assert_eq!(
        (number(part, "received"), number(part, "delivered")),
        (20, 20)
    );
    assert_eq!(number(&interface["statistics"], "received"), 30);
    assert_eq!(interface["notes"], serde_json::json!([]));
    // Each file of a rotation ends with them and keeps to its size.
    let flags = format!("{flags} --rotate-size 2M --fanout hash");
    let (running, _) = start(&folder, &flags);
    send_from_both();
    let summary = stop(running, 2 * COUNT);
    let files = summary.0["files"].as_array().expect("files");
    assert!(files.len() > 1);
    for file in files {
        let file = file.as_str().expect("a path");
        let parts: Vec<_> = statistics_seen(file).into_iter().map(|one| one.0).collect();
        assert_eq!(
            parts,
            ["counts reader 0 only", "counts reader 1 only", "all"]
        );
        let size = std::fs::metadata(file).expect("a file").len();
        // The budget is without comments.
        assert!(size <= (2 << 20) + 2 * 32, "{size}");
    }
}

#[test]
fn printed_packets_are_in_the_order_of_time() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!("--queues 2 --direction in -c {}", 2 * COUNT);
    let (running, _) = start(&folder, &line);
    send_from_both();
    let printed = running.finish();
    printed.exit(0);
    let packets = printed.events_of("packet");
    assert_eq!(packets.len() as u64, 2 * COUNT);
    let times: Vec<u64> = packets.iter().map(|one| number(one, "time_ns")).collect();
    let summary = printed.summary();
    assert_eq!(number(&summary.0["merge"], "late"), 0);
    assert!(times.is_sorted());
}

#[test]
fn readers_are_announced_with_their_cpus() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("capture -i v1 --queues 2 --cpus 0 --duration 1ms -w {file}");
    let ended = spawn(command(&line)).finish();
    ended.exit(0);
    let has = |lines: &[String], start: &str| lines.iter().any(|line| line.starts_with(start));
    let readers =
        "2 readers on CPU 0 (more readers than CPUs: some share one), packets distributed by ";
    assert!(has(&ended.stderr, readers), "{ended:?}");
    let merged = "merged by time stamp: 0 late packets (limits: ";
    assert!(has(&ended.stdout, merged), "{ended:?}");
}

#[test]
fn packets_of_several_readers_have_their_process() {
    const PACKETS: u64 = 100;
    if has_run() {
        return;
    }
    let line = "capture -i v0 --json --queues 2 --who --direction out udp port 9";
    let mut running = spawn(command(&format!("{line} -c {PACKETS}")));
    running.ready();
    // Open until the packets, which wait for the other reader, are looked up.
    let socket = UdpSocket::bind("10.9.0.1:0").expect("a socket");
    for _ in 0..PACKETS {
        socket.send_to(&[0; 64], "10.9.0.2:9").expect("it is sent");
    }
    let ended = running.finish();
    ended.exit(0);
    let packets = ended.events_of("packet");
    assert_eq!(packets.len() as u64, PACKETS);
    let own = u64::from(std::process::id());
    assert!(packets.iter().all(|one| number(one, "process_id") == own));
    drop(socket);
}

/// With sockets in drop mode as with packet rings, the packets of the other queue are in no account, and reach the stack.
#[test]
fn a_list_of_queues_reads_only_these() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for line in ["", "--mode drop"] {
        let file = text(&folder.path().join("file.pcapng"));
        let (running, begun) = start(&folder, &format!("--queues 1-1 -w {file} {line}"));
        assert_eq!(begun["unread_queues"], serde_json::json!([0]), "{line}");
        send_from_both();
        let summary = stop(running, COUNT);
        summary.conserves(COUNT);
        assert_eq!(summary.0["unread_queues"], serde_json::json!([0]), "{line}");
        let readers = summary.0["readers"].as_array().expect("readers");
        assert_eq!(readers.len(), 1);
        assert_eq!(number(&readers[0], "queue"), 1);
        let seen = seen(&file);
        assert_eq!(seen.len() as u64, COUNT, "{line}");
        assert!(seen.iter().all(|packet| packet.queue == "1"));
        assert!(seen.iter().all(|packet| packet.payload.starts_with("01")));
    }
}

#[test]
fn automatic_readers_capture_everything() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let (running, begun) = start(&folder, &format!("--queues auto --direction in -w {file}"));
    // None, or one for each queue: it depends on the load of this machine.
    let readers = begun["readers"].as_array().expect("readers").len();
    assert!([0, 2].contains(&readers), "{begun}");
    send_from_both();
    let summary = stop_any(running, 2 * COUNT);
    assert_eq!(summary.number("written"), 2 * COUNT);
    assert_complete(&seen(&file), readers == 2);
}

#[test]
fn files_of_the_queues_merge_to_the_file_in_order() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [one, several, merged] = ["one.pcapng", "several.pcapng", "merged.pcapng"]
        .map(|name| text(&folder.path().join(name)));
    let flags = "--queues all --direction in";
    let (strict, merging) = start(&folder, &format!("{flags} -w {one}"));
    let (by_queue, begun) = start(&folder, &format!("{flags} --order queue -w {several}"));
    // What is merged must not gather for long.
    for (start, ms) in [(&merging, 50), (&begun, 100)] {
        let blocks = &start["interfaces"][0]["blocks"];
        assert_eq!(blocks["timer_ns"], ms * 1_000_000, "{blocks}");
    }
    let files =
        [0, 1].map(|queue| text(&folder.path().join(format!("several-queue{queue}.pcapng"))));
    assert_eq!(begun["files"], serde_json::json!(files));
    send_from_both();
    stop(strict, 2 * COUNT);
    let summary = stop(by_queue, 2 * COUNT);
    assert_eq!(summary.number("written"), 2 * COUNT);
    assert!(summary.0["merge"].is_null());
    run(&format!("read {} {} -w {merged} -q", files[0], files[1])).exit(0);
    let mut strict = seen(&one);
    let mut merged = seen(&merged);
    assert_complete(&merged, true);
    // Each capture stamps the packets that the kernel has not stamped before it, so the times may differ.
    for list in [&mut strict, &mut merged] {
        assert_eq!(late(list), 0);
        list.sort_by(|one, other| one.payload.cmp(&other.payload));
    }
    for (one, other) in strict.iter().zip(&merged) {
        assert_eq!((&one.payload, &one.queue), (&other.payload, &other.queue));
    }
}

#[test]
fn the_files_of_the_queues_are_in_several_directories() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    for directory in [&one, &other] {
        std::fs::create_dir(directory).expect("a directory");
    }
    let stripe = format!("{},{}", text(&one), text(&other));
    let line = "--queues all --direction in --order queue -w parts.pcapng";
    let (running, begun) = start(&folder, &format!("{line} --stripe {stripe}"));
    let files = [
        one.join("parts-queue0.pcapng"),
        other.join("parts-queue1.pcapng"),
    ];
    let files = files.map(|file| text(&file));
    assert_eq!(begun["files"], serde_json::json!(files));
    send_from_both();
    let summary = stop(running, 2 * COUNT);
    assert_eq!(summary.number("written"), 2 * COUNT);
    let all: Vec<Seen> = files.iter().flat_map(|file| seen(file)).collect();
    assert_complete(&all, true);
}

#[test]
fn a_limit_and_rotation_hold_for_all_readers_together() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues 2 --direction in -c 9000 --rotate-packets 1000 -w {file}");
    let (running, _) = start(&folder, &line);
    send_from_both();
    let summary = running.done();
    adds_up(&summary);
    let counts = ["delivered", "written"].map(|key| summary.number(key));
    assert_eq!(counts, [9000, 9000]);
    let files = summary.files();
    assert_eq!(files.len(), 9);
    let all = files.iter().flat_map(|file| records(file));
    let times: Vec<u64> = all.map(|record| record.time_ns).collect();
    assert_eq!(times.len(), 9000);
    assert!(times.is_sorted());
}

#[test]
fn a_file_that_fails_ends_the_capture_and_its_packets_are_accounted_for() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Room for the header of the file, and for some packets.
    let file = format!("{SMALL_DISK}/file.pcapng");
    let (running, _) = start(&folder, &format!("--queues all --direction in -w {file}"));
    send_from_both();
    let ended = running.finish();
    assert!(ended.exit(1).contains("No space left"), "{ended:?}");
    let summary = last_summary(&ended);
    // The file lost packets that it had accepted: of which reader is not known.
    summary.conserves(summary.number("received"));
    assert!(summary.lost("writer") > 0, "{}", summary.0);
    assert_eq!(seen(&file).len() as u64, summary.number("written"));
}

fn last_summary(ended: &Ended) -> Summary {
    let events = ended.events();
    let summary = events
        .into_iter()
        .rfind(|event| event["event"] == "summary");
    Summary(summary.expect("a summary"))
}

#[test]
fn what_several_readers_do_not_support_is_refused() {
    let allowed = sched_getaffinity(None).expect("an affinity");
    let absent = (0..1024).find(|&cpu| !allowed.is_set(cpu)).expect("a CPU");
    let cpu = format!("-i lo --queues 1 --cpus {absent} -w x.pcapng");
    let no_cpu = format!("no reader can run on CPU {absent}");
    assert_refused(
        |line| run(&format!("capture {line}")),
        &[
            ("-i lo --queues 0 -w x", 2, "a number of readers, or a list"),
            ("-i lo --queues 0,1 -w x", 2, "lo has no receive queue 1"),
            (
                "-i lo --queues 0,0 --direction out -w x",
                2,
                "a packet that is sent has no receive queue",
            ),
            (
                "-i lo --queues 0-0 --fanout hash -w x",
                2,
                "shared by queue",
            ),
            (
                "-i lo --queues all --order queue",
                2,
                "--order queue needs -w FILE",
            ),
            ("-i lo --cpus 0 -w x", 2, "--queues"),
            ("-i lo --queues all --cpus 1- -w x", 2, "numbers and ranges"),
            (
                "-i lo --queues all --order queue -w -",
                2,
                "--order queue needs -w FILE",
            ),
            (
                "-i lo --queues all --order queue -c 5 -w x",
                2,
                "does not support -c",
            ),
            ("-i any --queues all -w x", 2, "not for -i any"),
            (
                "-i lo --queues all --order strict --stripe a,b -w x",
                2,
                "--stripe needs --order queue",
            ),
            (
                "-i lo --queues all --order queue --stripe a,b -w c/x",
                2,
                "give -w a name without one",
            ),
            (
                "-i lo --queues all --order queue --who -w x.pcapng",
                2,
                "does not support --who",
            ),
            (
                "-i lo --queues all --order queue --record 2M --trigger-flow tcp -w x.pcapng",
                2,
                "does not support --trigger-flow",
            ),
            (
                "-i lo --queues 2 --timestamp hardware -w x",
                4,
                "the driver of lo has no hardware time stamps",
            ),
            (&cpu, 2, &no_cpu),
        ],
    );
}
