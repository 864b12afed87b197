//! What `tapline capture` prints: lines for people, JSON for programs, summaries and help.

use crate::support::files::{count, tshark};
use crate::support::frames::{frame, frames, tagged, trunk, udp};
use crate::support::run::{Running, command, run, spawn, start, start_text};
use crate::support::{PROGRAM, Scene, name};
use serde_json::Value;

/// The keys that DESIGN.md promises of a capture's summary.
const SUMMARY: [&str; 12] = [
    "received",
    "delivered",
    "filtered",
    "written",
    "bytes_written",
    "lost",
    "duration_ns",
    "backend",
    "mode",
    "queues",
    "timestamp_source",
    "files",
];

#[test]
fn the_summary_has_the_promised_keys() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    for (flags, backend) in [
        (&[][..], "packet-v3"),
        (&["--backend", "packet-v2"], "packet-v2"),
        (&["--backend", "packet-v3"], "packet-v3"),
        (&["--delivery", "immediate"], "packet-v2"),
        (&["--delivery", "adaptive"], "packet-v3"),
        (&["--delivery", "adaptive", "-s", "96"], "packet-v2"),
    ] {
        let running = start(&scene.right, &[&["-w", &file, "-c", "3"], flags].concat());
        scene.send(&frames(3, 70));
        let ended = running.finish();
        ended.exit(0);
        let summary = ended.summary();
        let object = summary.0.as_object().expect("an object");
        assert!(
            SUMMARY.iter().all(|key| object.contains_key(*key)),
            "{summary:?}"
        );
        assert_eq!(object["backend"], backend);
        assert_eq!(object["mode"], "mirror");
        assert_eq!(object["queues"], 1);
        assert_eq!(object["timestamp_source"], "kernel");
        let lost = object["lost"].as_object().expect("an object");
        let places: Vec<&str> = lost.keys().map(String::as_str).collect();
        assert_eq!(
            places,
            ["nic", "driver", "ring", "program", "reader", "writer"]
        );
        assert!(summary.number("duration_ns") > 0);
    }
}

/// With a short snaplen the ring tells the delivery.
#[test]
fn files_get_batches_and_who_watches_does_not_wait_for_them() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    for (flags, backend) in [
        (&["-w", &*file][..], "packet-v3"),
        (&[], "packet-v2"),
        (&["--timeout", "5ms"], "packet-v3"),
        (&["--min-bytes", "64k"], "packet-v3"),
        (&["--latency-target", "1ms"], "packet-v2"),
    ] {
        let running = start(&scene.right, &[&["-s", "96", "-c", "3"], flags].concat());
        scene.send(&frames(3, 70));
        let ended = running.finish();
        ended.exit(0);
        assert_eq!(ended.summary().0["backend"], backend, "{flags:?}");
    }
}

#[test]
fn the_start_event_tells_what_is_captured() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = spawn_json(&scene, &["-w", &file, "--buffer", "2M"]);
    let event = running.ready();
    let interface = &event["interfaces"][0];
    assert_eq!(interface["name"], name(&scene.right));
    assert_eq!(interface["index"], scene.right.interface().index.0);
    assert_eq!(interface["backend"], "packet-v3");
    assert_eq!(interface["buffer_bytes"], 2 << 20);
    assert_eq!(event["files"], serde_json::json!([file]));
    // The file is there, and valid, before any packet.
    assert_eq!(count(&file), 0);
    let ended = running.stop();
    assert_eq!(ended.events()[0], event);
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

fn spawn_json(scene: &Scene, arguments: &[&str]) -> Running {
    let mut command = command(&scene.right, arguments);
    command.arg("--json");
    spawn(command)
}

#[test]
fn every_packet_is_a_line_as_tshark_sees_it() {
    let scene = Scene::new();
    let file = scene.file("beside.pcapng");
    let sent = trunk();
    let limit = sent.len().to_string();
    let beside = start(&scene.right, &["-w", &file, "-c", &limit]);
    let text = start_text(&scene.right, &["-c", &limit]);
    let json = start(&scene.right, &["-c", &limit]);
    scene.send(&sent);
    let [beside, text, json] = [beside, text, json].map(Running::finish);
    for ended in [&beside, &text, &json] {
        ended.exit(0);
    }
    let rows = tshark(
        &file,
        &[
            "frame.len",
            "eth.src",
            "eth.dst",
            "ip.src",
            "ip.dst",
            "udp.srcport",
            "udp.dstport",
        ],
    );
    assert_eq!((rows.len(), text.stdout.len()), (sent.len(), sent.len()));
    json.summary().conserves(sent.len() as u64);
    let events = json.events();
    let packets: Vec<&Value> = events.iter().filter(|e| e["event"] == "packet").collect();
    assert_eq!(packets.len(), sent.len());
    for ((row, line), packet) in rows.iter().zip(&text.stdout).zip(packets) {
        let [
            length,
            source_mac,
            destination_mac,
            source,
            destination,
            from,
            to,
        ] = &row[..]
        else {
            panic!("{row:?}");
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1..3], [&name(&scene.right), "in"], "{line}");
        assert!(words.contains(&length.as_str()), "{line}");
        let ends = if source.is_empty() {
            format!("{source_mac} > {destination_mac}")
        } else {
            format!("{source}:{from} > {destination}:{to}")
        };
        assert!(line.contains(&ends), "{ends} in {line}");
        assert_eq!(packet["original_bytes"].to_string(), *length);
        assert_eq!(packet["src_mac"], *source_mac);
        assert_eq!(packet["src"].as_str().unwrap_or(""), source);
        assert_eq!(packet["direction"], "in");
    }
    assert!(text.stdout[7].contains("vlan 7"), "{:?}", text.stdout);
    assert!(
        text.stdout[10].contains("vlan 30 vlan 40"),
        "{:?}",
        text.stdout
    );
    // The summary goes where it does not mix with the lines.
    let said = text.stderr.join("\n");
    assert!(
        said.contains(&format!("{limit} packets received = {limit} delivered")),
        "{said}"
    );
}

/// Lines come while the capture goes on, not only when a buffer is full.
#[test]
fn a_line_is_printed_at_once() {
    let scene = Scene::new();
    let mut running = start_text(&scene.right, &[]);
    for _ in 0..3 {
        scene.send(&[tagged(&udp(b"now"), &[(0x8100, 5)])]);
        let line = running.line();
        assert!(line.ends_with("UDP 54 vlan 5"), "{line}");
    }
    running.stop().exit(0);
}

#[test]
fn the_text_of_a_capture_to_a_file() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let interface = name(&scene.right);
    let running = start_text(&scene.right, &["-w", &file, "-c", "1234"]);
    scene.generate(1234, None);
    let ended = running.finish();
    ended.exit(0);
    let expected = format!("capturing on {interface} (packet-v3, 32 MiB ring)");
    assert_eq!(ended.stderr, [expected]);
    let [account, how, written] = &ended.stdout[..] else {
        panic!("{ended:?}");
    };
    assert_eq!(
        account,
        "1 234 packets received = 1 234 delivered + 0 filtered + 0 lost"
    );
    assert!(
        how.ends_with(" s with packet-v3 ring, time stamps by kernel"),
        "{how}"
    );
    let size = std::fs::metadata(&file).expect("the file").len();
    let written = written.replace(' ', "");
    assert_eq!(written, format!("1234packets,{size}byteswrittento{file}"));
}

#[test]
fn quiet_is_quiet() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let ended = run(&scene.right, &["-q", "-w", &file, "--duration", "20ms"]);
    ended.exit(0);
    assert!(
        ended.stdout.is_empty() && ended.stderr.is_empty(),
        "{ended:?}"
    );
    assert_eq!(count(&file), 0);
    // Its lines are still printed: they were asked for.
    let mut running = spawn(command(&scene.right, &["-q", "-c", "200000"]));
    // There is no word of its being ready, so packets come until the first is seen.
    let mut lines = (0..1_000_000).map(|number| {
        scene.send(&[frame(number, 60)]);
        running.line_now()
    });
    let line = lines.find_map(|line| line).expect("a line");
    assert!(line.contains("ethertype 0x88b5"), "{line}");
    let ended = running.stop();
    ended.exit(0);
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn counters_are_told_at_the_interval() {
    let scene = Scene::new();
    let file = scene.file("file.pcapng");
    let mut running = start(&scene.right, &["-w", &file, "--stats-interval", "10ms"]);
    scene.send(&frames(30, 100));
    running.received(30);
    scene.send(&frames(12, 200));
    running.received(42);
    let ended = running.stop();
    ended.exit(0);
    let events = ended.events();
    let stats: Vec<&Value> = events.iter().filter(|e| e["event"] == "stats").collect();
    let sum = |key: &str| -> u64 { stats.iter().map(|event| event[key].as_u64().unwrap()).sum() };
    assert_eq!((sum("packets"), sum("bytes")), (42, 30 * 100 + 12 * 200));
    let span = sum("span_ns");
    assert!(span <= ended.summary().number("duration_ns"), "{ended:?}");
    let times: Vec<u64> = stats
        .iter()
        .map(|event| event["at_ns"].as_u64().unwrap())
        .collect();
    assert!(times.is_sorted());
    // Each has the counters since the start.
    let received: Vec<u64> = stats
        .iter()
        .map(|e| e["received"].as_u64().unwrap())
        .collect();
    assert!(received.is_sorted(), "{received:?}");

    // As text they go to standard error.
    let mut running = start_text(&scene.right, &["-w", &file, "--stats-interval", "10ms"]);
    scene.send(&frames(5, 100));
    while !running.error_line().contains(" 5 packets ") {}
    running.stop().exit(0);
}

#[test]
fn help_is_readable() {
    let help = |arguments: &[&str]| {
        let mut command = std::process::Command::new(PROGRAM);
        command.args(arguments);
        spawn(command).finish()
    };
    let long = help(&["capture", "--help"]);
    assert_eq!(long.status.code(), Some(0));
    let text = long.stdout.join("\n");
    for flag in [
        "-i, --interface",
        "-w, --write",
        "-s, --snaplen",
        "-c, --count",
        "--duration",
        "--direction",
        "--backend",
        "--delivery",
        "--latency-target",
        "--spin",
        "--min-bytes",
        "--timeout",
        "--stall",
        "--buffer",
        "--no-promisc",
        "--rotate-size",
        "--rotate-interval",
        "--rotate-packets",
        "--keep",
        "--compress",
        "--stats-interval",
        "--fail-loss",
        "--json",
        "-q, --quiet",
        "-n",
        "--bpf",
    ] {
        assert!(text.contains(flag), "{flag} in {text}");
    }
    let widest = long.stdout.iter().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{text}");
    assert_eq!(help(&["capture", "-h"]).status.code(), Some(0));
    let top = help(&["--help"]);
    assert_eq!(top.status.code(), Some(0));
    assert!(
        top.stdout
            .iter()
            .any(|line| line.trim_start().starts_with("capture ")),
        "{top:?}"
    );
    let version = help(&["--version"]);
    assert_eq!(
        version.stdout,
        [concat!("tapline ", env!("CARGO_PKG_VERSION"))]
    );
    // Alone it says what it can do, and that this was not a command.
    let alone = help(&[]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(alone.stdout.is_empty());
    assert!(
        alone
            .stderr
            .iter()
            .any(|line| line.contains("Usage: tapline")),
        "{alone:?}"
    );
}
