//! `tapline ctl` and captures with several readers. The hosts and senders are those of `capture::readers::files`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use super::interfaces::Over;
use crate::capture::readers::files::{
    COUNT, Seen, add_pair, has_run, seen, send, send_from_both, send_to, start, stop,
};
use crate::support::files::{column, count, lengths, records, tshark};
use crate::support::run::{events, run};
use crate::support::{number, text, tool};

/// `tapline ctl --name NAME LINE`, which must succeed.
#[track_caller]
fn ctl(name: &str, line: &str) {
    events(&format!("ctl --name {name} {line}"));
}

fn name(of: &str) -> String {
    format!("readers-{of}-{}", std::process::id())
}

/// The senders write the number of their CPU into the first byte of the payload: `udp[8]`.
#[test]
fn filter_snaplen_and_direction_change_for_all_readers() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (number_of, line) in ["", "--backend packet-v2 -s 128", "--fanout hash"]
        .iter()
        .enumerate()
    {
        let name = name(&format!("change-{number_of}"));
        let file = text(&folder.path().join("file.pcapng"));
        let (mut running, _) = start(
            &folder,
            &format!("--queues 2 --name {name} -w {file} {line}"),
        );
        let delivered = |event: &serde_json::Value, count| {
            event["event"] == "stats" && number(event, "delivered") >= count
        };
        let both = |count| {
            send(0, count);
            send(1, count);
        };
        both(10);
        running.event(|event| delivered(event, 20));
        ctl(&name, "snaplen 60");
        both(10);
        running.event(|event| delivered(event, 40));
        ctl(&name, "filter udp[8] = 1");
        both(10);
        running.event(|event| delivered(event, 50));
        ctl(&name, "direction out");
        both(10);
        ctl(&name, "direction in");
        ctl(&name, "filter");
        ctl(&name, "snaplen 100");
        both(10);
        let summary = stop(running, 70);
        // A packet of the other direction is neither received nor filtered.
        summary.conserves(80);
        summary.has(&json!({"delivered": 70, "filtered": 10}));
        let captured: Vec<_> = lengths(&file).iter().map(|both| both[0]).collect();
        let expected = [vec![106; 20], vec![60; 30], vec![100; 20]].concat();
        assert_eq!(captured, expected, "{line}");
        let notes = events(&format!("read --summary {file}")).remove(0);
        let notes = notes["interfaces"][0]["notes"].as_array().expect("notes");
        assert_eq!(notes.len(), 6, "{notes:?}");
    }
}

#[test]
fn the_snaplen_of_af_xdp_sockets_changes_for_all_readers() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = name("sockets");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --mode drop --name {name} -w {file}");
    let (mut running, _) = start(&folder, &line);
    let mut until_sent = |sum| {
        send(0, 10);
        send(1, 10);
        running.event(|event| event["event"] == "stats" && number(event, "delivered") >= sum);
    };
    until_sent(20);
    ctl(&name, "snaplen 60");
    until_sent(40);
    ctl(&name, "snaplen 300");
    until_sent(60);
    stop(running, 60).conserves(60);
    let captured: Vec<_> = lengths(&file).iter().map(|both| both[0]).collect();
    let expected = [vec![106; 20], vec![60; 20], vec![106; 20]].concat();
    assert_eq!(captured, expected);
}

#[test]
fn filters_change_under_load() {
    if has_run() {
        return;
    }
    for (number, (mode, changes)) in [("", 16), ("--mode drop", 8), ("--mode drop -s 128", 8)]
        .into_iter()
        .enumerate()
    {
        change_filters(&name(&format!("load-{number}")), mode, changes);
    }
}

/// Each packet is decided by the filter before or the one after: none is lost, none comes twice.
fn change_filters(name: &str, mode: &str, changes: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --direction in --name {name} -w {file} {mode}");
    let (running, _) = start(&folder, &line);
    let (mut rounds, is_over) = (0, AtomicBool::new(false));
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let _over = Over(&is_over);
            for number in 0..changes {
                ctl(name, &format!("filter udp[8] = {}", number % 2));
            }
        });
        while !is_over.load(Ordering::Relaxed) {
            send_from_both();
            rounds += 1;
        }
        work.join().expect("changed");
    });
    ctl(name, "filter");
    send(0, 1);
    let summary = stop(running, 1);
    let sent = rounds * 2 * COUNT + 1;
    summary.conserves(sent);
    assert!(summary.number("filtered") > 0);
    // The first bytes of a datagram are its sender and number: each round has them once.
    let records = records(&file);
    let delivered = summary.number("delivered");
    assert_eq!(records.len() as u64, delivered);
    let times: BTreeSet<_> = records.iter().collect();
    assert_eq!(times.len() as u64, delivered);
}

/// All rings are replaced together, and the packets of a queue stay with its reader.
#[test]
fn rings_change_under_load() {
    const ROUNDS: usize = 2;
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = name("rings");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --direction in --name {name} -w {file}");
    let (running, _) = start(&folder, &line);
    let (mut rounds, is_over) = (0, AtomicBool::new(false));
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let _over = Over(&is_over);
            for _ in 0..ROUNDS {
                for line in [
                    "snaplen 200",
                    "buffer 80M",
                    "stall 50ms",
                    "delivery immediate",
                    "delivery batch",
                    "snaplen 300000",
                    "buffer 64M",
                ] {
                    ctl(&name, line);
                }
            }
        });
        while !is_over.load(Ordering::Relaxed) {
            send_from_both();
            rounds += 1;
        }
        changes.join().expect("changed");
    });
    let sent = rounds * 2 * COUNT;
    let summary = stop(running, sent);
    summary.conserves(sent);
    summary.has(&json!({"delivered": sent, "filtered": 0}));
    for reader in summary.0["readers"].as_array().expect("readers") {
        assert_eq!(number(reader, "delivered"), rounds * COUNT);
    }
    let seen = seen(&file);
    seen.iter().for_each(Seen::assert_queue);
    let distinct: BTreeSet<_> = seen.iter().map(|one| (&one.time, &one.payload)).collect();
    assert_eq!((seen.len() as u64, distinct.len() as u64), (sent, sent));
}

/// The number of an interface, and a datagram's sender and queue.
fn interfaces_seen(file: &str) -> Vec<(u32, u8, String)> {
    let fields = ["frame.interface_id", "frame.interface_queue", "udp.payload"];
    let row = |row: Vec<String>| {
        let [number, queue, payload]: [String; 3] = row.try_into().expect("three fields");
        let cpu = u8::from_str_radix(&payload[..2], 16).expect("hexadecimal");
        (number.parse().expect("a number"), cpu, queue)
    };
    tshark(file, &fields).into_iter().map(row).collect()
}

#[test]
fn interfaces_join_leave_and_change_their_mode_for_all_readers() {
    if has_run() {
        return;
    }
    add_pair("w0", "w1", 10);
    let folder = tempfile::tempdir().expect("a folder");
    for (number_of, (line, has_queues)) in [
        ("", true),
        ("-s 128", true),
        ("--fanout hash", false),
        ("--mode drop -s 128 --fanout hash", false),
    ]
    .into_iter()
    .enumerate()
    {
        let name = name(&format!("join-{number_of}"));
        let file = text(&folder.path().join("file.pcapng"));
        let line = format!("--queues 2 --direction in --name {name} -w {file} {line}");
        let (mut running, _) = start(&folder, &line);
        let mut expected = [0; 3];
        let mut until_sent = |to: &str, number: usize| {
            send_to(to, 0, 10);
            send_to(to, 1, 20);
            expected[number] += 30;
            let sum: u64 = expected.iter().sum();
            running.event(|event| {
                event["event"] == "stats" && crate::support::number(event, "delivered") >= sum
            });
        };
        let [first, second] = ["10.9.0.2:9", "10.10.0.2:9"];
        until_sent(first, 0);
        ctl(&name, "add w1");
        until_sent(first, 0);
        until_sent(second, 1);
        for line in [
            "set dev w1 mode drop",
            "set mode drop",
            "set mode mirror",
            "buffer 40M",
        ] {
            ctl(&name, line);
            until_sent(first, 0);
            until_sent(second, 1);
        }
        ctl(&name, "remove w1");
        send_to(second, 0, 5);
        until_sent(first, 0);
        ctl(&name, "add w1");
        ctl(&name, "remove v1");
        send_to(first, 0, 5);
        until_sent(second, 2);
        let sum = expected.iter().sum();
        let summary = stop(running, sum);
        summary.conserves(sum);
        summary.has(&json!({"delivered": sum, "filtered": 0}));
        let interfaces = summary.0["interfaces"].as_array().expect("interfaces");
        let delivered = interfaces.iter().map(|one| number(one, "delivered"));
        assert_eq!(delivered.collect::<Vec<_>>(), expected, "{line}");
        let seen = interfaces_seen(&file);
        for (interface, count) in (0..).zip(expected) {
            for (cpu, share) in [(0, 10), (1, 20)] {
                let of_cpu = seen.iter().filter(|one| (one.0, one.1) == (interface, cpu));
                assert_eq!(of_cpu.clone().count() as u64, count / 30 * share);
                if has_queues {
                    let queue = cpu.to_string();
                    assert!(of_cpu.clone().all(|one| one.2 == queue), "{line}");
                }
            }
        }
    }
}

/// The files of the readers describe interfaces that join, and a printed line names them.
#[test]
fn an_interface_joins_the_file_of_each_queue_and_what_is_printed() {
    if has_run() {
        return;
    }
    add_pair("w0", "w1", 10);
    let folder = tempfile::tempdir().expect("a folder");
    let name = name("outputs");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --order queue --direction in --name {name} -w {file}");
    let (running, _) = start(&folder, &line);
    ctl(&name, "add w1");
    for to in ["10.9.0.2:9", "10.10.0.2:9"] {
        send_to(to, 0, 10);
        send_to(to, 1, 20);
    }
    stop(running, 60);
    for (queue, count) in [(0, 10), (1, 20)] {
        let file = file.replace(".pcapng", &format!("-queue{queue}.pcapng"));
        let numbers: Vec<u32> = column(&file, "frame.interface_id");
        for interface in [0, 1] {
            let of_interface = numbers.iter().filter(|&&number| number == interface);
            assert_eq!(of_interface.count(), count);
        }
    }
    let line = format!("--queues all --direction in --name {name} -c 60");
    let (running, _) = start(&folder, &line);
    ctl(&name, "add w1");
    for to in ["10.9.0.2:9", "10.10.0.2:9"] {
        send_to(to, 0, 15);
        send_to(to, 1, 15);
    }
    let printed = running.finish();
    printed.exit(0);
    let packets = printed.events_of("packet");
    for link in ["v1", "w1"] {
        let of_link = packets.iter().filter(|one| one["interface"] == link);
        assert_eq!(of_link.count(), 30, "{}", packets[0]);
    }
}

/// Each file has the notes of what changed, and its rotation.
#[test]
fn the_files_of_all_queues_have_notes_and_start_the_next() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = name("rotate");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!(
        "--queues all --order queue --rotate-packets 1000000 --direction in --name {name} -w {file}"
    );
    let (mut running, _) = start(&folder, &line);
    let mut until_sent = |counts: [u64; 2], sum| {
        send(0, counts[0]);
        send(1, counts[1]);
        running.event(|event| event["event"] == "stats" && number(event, "delivered") >= sum);
    };
    until_sent([10, 20], 30);
    ctl(&name, "snaplen 60");
    ctl(&name, "rotate");
    until_sent([5, 6], 41);
    ctl(&name, "stop");
    running.done().conserves(41);
    let mut found: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| text(&entry.expect("an entry").path()))
        .filter(|path| path.contains("-queue"))
        .collect();
    found.sort();
    let counts = found.iter().map(|path| count(path));
    let counts: Vec<_> = counts.collect();
    assert_eq!(counts, [10, 5, 20, 6], "{found:?}");
    for (path, first) in found.iter().zip(["snaplen 60", "stop"].into_iter().cycle()) {
        let summary = events(&format!("read --summary {path}")).remove(0);
        let notes = summary["interfaces"][0]["notes"].as_array().expect("notes");
        let comment = notes[0]["comment"].as_str().expect("text");
        assert!(comment.starts_with(first), "{path}: {notes:?}");
        assert_eq!(notes.len(), 1, "{path}: {notes:?}");
    }
}

#[test]
fn what_cannot_change_for_several_readers_is_refused() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    tool("ip", "link add one0 type veth peer name one1");
    tool("ip", "link set one0 up");
    tool("ip", "link set one1 up");
    let of_mirror: &[_] = &[
        ("filter tcp prt 1", "filter for v1 is invalid"),
        ("add one0", "other receive queues than those of the readers"),
        ("remove v1", "v1 is the last interface"),
    ];
    let of_drop: &[_] = &[
        ("direction both", "the direction of v1 is fixed"),
        ("buffer 4M", "AF_XDP"),
    ];
    let of_shared_memory: &[_] = &[
        ("snaplen 60", "use mirror mode"),
        ("direction both", "the direction of v1 is fixed"),
        ("buffer 4M", "while several readers read it"),
    ];
    for (mode, lines) in [
        ("-s 96", of_mirror),
        ("--mode drop", of_drop),
        ("--mode drop -s 96", of_shared_memory),
    ] {
        let name = name("refused");
        let flags = format!("--queues all --name {name} -w file.pcapng {mode}");
        let (running, _) = start(&folder, &flags);
        for (line, text) in lines {
            let ended = run(&format!("ctl --name {name} {line}"));
            let shown = ended.exit(1);
            assert!(shown.contains(text), "{line}: {shown}");
        }
        stop(running, 0);
    }
}
