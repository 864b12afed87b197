//! `tapline ctl` and captures with several readers. The hosts and senders are those of `capture_readers`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::capture_readers::{COUNT, has_run, seen, send, send_from_both, start, stop};
use crate::control_interfaces::Over;
use crate::support::files::column;
use crate::support::run::{events, run};
use crate::support::{number, text};

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
        let lengths: Vec<u32> = column(&file, "frame.cap_len");
        let expected = [vec![106; 20], vec![60; 30], vec![100; 20]].concat();
        assert_eq!(lengths, expected, "{line}");
        let notes = events(&format!("read --summary {file}")).remove(0);
        let notes = notes["interfaces"][0]["notes"].as_array().expect("notes");
        assert_eq!(notes.len(), 6, "{notes:?}");
    }
}

/// Each packet is decided by the filter before or the one after: none is lost, none comes twice.
#[test]
fn filters_change_under_load() {
    const CHANGES: usize = 100;
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = name("load");
    let file = text(&folder.path().join("file.pcapng"));
    let line = format!("--queues all --direction in --name {name} -w {file}");
    let (running, _) = start(&folder, &line);
    let (mut rounds, is_over) = (0, AtomicBool::new(false));
    thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let _over = Over(&is_over);
            for number in 0..CHANGES {
                ctl(&name, &format!("filter udp[8] = {}", number % 2));
            }
        });
        while !is_over.load(Ordering::Relaxed) {
            send_from_both();
            rounds += 1;
        }
        changes.join().expect("changed");
    });
    ctl(&name, "filter");
    send(0, 1);
    let summary = stop(running, 1);
    let sent = rounds * 2 * COUNT + 1;
    summary.conserves(sent);
    assert!(summary.number("filtered") > 0);
    // The first bytes of a datagram are its sender and number: each round has them once.
    let seen = seen(&file);
    let delivered = summary.number("delivered");
    assert_eq!(seen.len() as u64, delivered);
    let times: BTreeSet<_> = seen.iter().map(|one| (&one.time, &one.payload)).collect();
    assert_eq!(times.len() as u64, delivered);
}

#[test]
fn what_cannot_change_for_several_readers_is_refused() {
    if has_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let of_mirror: &[_] = &[
        ("buffer 4M", "while several readers share its packets"),
        (
            "delivery immediate",
            "while several readers share its packets",
        ),
        ("snaplen 128", "can be at most 96"),
        ("filter tcp prt 1", "filter for v1 is invalid"),
        (
            "add v0",
            "the interfaces and modes of several readers are fixed",
        ),
    ];
    let of_drop = &[("filter tcp", "use mirror mode"), ("buffer 4M", "AF_XDP")];
    for (mode, lines) in [("-s 96", of_mirror), ("--mode drop", of_drop)] {
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
