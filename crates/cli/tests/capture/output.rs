//! Output of `tapline capture`: text lines, JSON, summaries and help.

use std::fs::metadata;

use serde_json::json;

use crate::support::files::{count, tshark};
use crate::support::frames::{frame, frames, tagged, trunk, udp};
use crate::support::run::{Running, run, spawn};
use crate::support::{Scene, assert_refused, keys, number};

/// Users rely on these keys. With a short snaplen the ring tells the delivery: files get batches, and
/// who watches does not wait for them.
#[test]
fn the_summary_has_the_promised_keys() {
    let scene = Scene::new();
    let promised = "received delivered filtered written bytes_written lost duration_ns backend mode queues \
                    timestamp_source files";
    for (flags, backend) in [
        ("-w file.pcapng", "packet-v3"),
        ("-w file.pcapng --backend packet-v2", "packet-v2"),
        ("-w file.pcapng --backend packet-v3", "packet-v3"),
        ("-w file.pcapng --delivery immediate", "packet-v2"),
        ("-w file.pcapng --delivery adaptive", "packet-v3"),
        ("-w file.pcapng --delivery adaptive -s 96", "packet-v2"),
        ("-w file.pcapng -s 96", "packet-v3"),
        ("-s 96", "packet-v2"),
        ("-s 96 --timeout 5ms", "packet-v2"),
        ("-s 96 --min-bytes 64k", "packet-v2"),
        ("-s 96 --min-bytes 64k --backend packet-v3", "packet-v3"),
        ("--min-bytes 64k", "packet-v3"),
        ("-s 96 --latency-target 500us", "packet-v2"),
        ("-s 96 --latency-target 4ms", "packet-v2"),
    ] {
        let running = scene.capture(&format!("-c 3 {flags}"));
        scene.send(&frames(3, 70));
        let summary = running.done();
        let keys_there = keys(&summary.0);
        assert!(
            promised.split(' ').all(|key| keys_there.contains(&key)),
            "{summary:?}"
        );
        let places = ["nic", "driver", "ring", "program", "reader", "writer"];
        assert_eq!(keys(&summary.0["lost"]), places);
        summary.has(&json!({
            "backend": backend, "mode": "mirror", "queues": 1, "timestamp_source": "kernel",
        }));
        assert!(summary.number("duration_ns") > 0);
    }
}

/// A veth device stamps nothing in hardware.
#[test]
fn time_stamps_have_the_source_that_is_there() {
    let scene = Scene::new();
    let reason = "the driver of right0 has no hardware time stamps";
    // The kernel begins to stamp packets where the driver hands them over a while after the first program asks for it. This
    // one asks from the start to the end.
    let other = scene.capture("-w other.pcapng --timestamp driver");
    for (flag, source, refusal) in [
        ("software", "kernel", json!(null)),
        ("driver", "driver", json!(null)),
        ("auto", "kernel", json!(reason)),
    ] {
        let running = scene.capture(&format!("-c 3 -w file.pcapng --timestamp {flag}"));
        scene.send(&frames(3, 70));
        let summary = running.done();
        let mut counts = json!({"hardware": 0, "driver": 0, "kernel": 0, "reader": 0});
        counts[source] = 3.into();
        let interface =
            json!({"timestamps": counts, "timestamp_refusal": refusal, "device_clock": null});
        summary.has(&json!({
            "timestamp_source": source, "timestamps": counts, "interfaces": [interface],
        }));
    }
    other.stop().exit(0);
    let unsupported = format!("tapline: {reason}");
    assert_refused(
        |line| scene.run(line),
        &[
            (
                "capture -i right0 --timestamp hardware",
                4,
                &format!("{unsupported} (use --timestamp auto or software)"),
            ),
            ("ctl hwtstamp right0", 4, &unsupported),
            ("ctl hwtstamp right0 on", 4, &unsupported),
            ("ctl hwtstamp nowhere0", 1, "'ip link' lists the interfaces"),
        ],
    );
}

#[test]
fn the_start_event_tells_what_is_captured() {
    let scene = Scene::new();
    let (running, start) = scene.capture_begun("-w file.pcapng --buffer 2M");
    let index = scene.right.interface().index.0;
    let blocks =
        json!({"bytes": 128 << 10, "count": 16, "timer_ns": 100_000_000, "reason": "batch"});
    let interface = json!({
        "name": "right0", "index": index, "backend": "packet-v3", "buffer_bytes": 2 << 20, "blocks": blocks,
    });
    crate::support::assert_has(
        &start,
        &json!({"interfaces": [interface], "files": ["file.pcapng"]}),
    );
    // The file is there, and valid, before any packet.
    assert_eq!(count(&scene.file("file.pcapng")), 0);
    let ended = running.stop();
    assert_eq!(ended.events()[0], start);
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn every_packet_is_a_line_as_tshark_sees_it() {
    let scene = Scene::new();
    let sent = trunk();
    let limit = sent.len();
    let beside = scene.capture(&format!("-w beside.pcapng -c {limit}"));
    let text = scene.capture_text(&format!("-c {limit}"));
    let json = scene.capture(&format!("-c {limit}"));
    scene.send(&sent);
    let [beside, text, json] = [beside, text, json].map(Running::finish);
    beside.exit(0);
    text.exit(0);
    json.done().conserves(limit as u64);
    let fields = [
        "frame.len",
        "eth.src",
        "eth.dst",
        "ip.src",
        "ip.dst",
        "udp.srcport",
        "udp.dstport",
    ];
    let rows = tshark(&scene.file("beside.pcapng"), &fields);
    let packets = json.events_of("packet");
    assert_eq!([rows.len(), text.stdout.len(), packets.len()], [limit; 3]);
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
        assert_eq!(words[1..3], ["right0", "in"], "{line}");
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
    let mut running = scene.capture_text("");
    for _ in 0..3 {
        scene.send(&[tagged(&udp(b"now"), &[(0x8100, 5)])]);
        let line = running.line();
        assert!(line.ends_with("UDP 54 len 8 vlan 5"), "{line}");
    }
    running.stop().exit(0);
}

/// The ring is larger than the buffer that was asked for, and the line says why.
#[test]
fn a_ring_that_grew_says_why() {
    for (flags, shown) in [
        (
            "",
            "capturing on right0 (packet-v3, 26 MiB ring for pauses of the reader; --stall 0ms keeps 256 KiB)",
        ),
        (
            "--stall 0ms -s 96",
            "capturing on right0 (packet-v2, 256 KiB ring)",
        ),
    ] {
        let scene = Scene::new();
        let running = scene.capture_text(&format!("--buffer 256K {flags} -c 1"));
        scene.generate(1, None);
        let ended = running.finish();
        ended.exit(0);
        assert_eq!(ended.stderr[0], shown);
    }
}

#[test]
fn the_text_of_a_capture_to_a_file() {
    let scene = Scene::new();
    let running = scene.capture_text("-w file.pcapng -c 1234");
    scene.generate(1234, None);
    let ended = running.finish();
    ended.exit(0);
    assert_eq!(
        ended.stderr,
        ["capturing on right0 (packet-v3, 32 MiB ring)"]
    );
    let [account, how, written] = &ended.stdout[..] else {
        panic!("{ended:?}");
    };
    assert_eq!(
        account,
        "1 234 packets received = 1 234 delivered + 0 filtered + 0 lost"
    );
    assert!(
        how.ends_with(" s; backend packet-v3; time stamps: kernel"),
        "{how}"
    );
    let size = metadata(scene.file("file.pcapng")).expect("the file").len();
    let written = written.replace(' ', "");
    assert_eq!(
        written,
        format!("1234packets,{size}byteswrittentofile.pcapng")
    );
}

#[test]
fn quiet_is_quiet() {
    let scene = Scene::new();
    let ended = scene.run("capture -i right0 -q -w file.pcapng --duration 20ms");
    ended.exit(0);
    assert!(
        ended.stdout.is_empty() && ended.stderr.is_empty(),
        "{ended:?}"
    );
    assert_eq!(count(&scene.file("file.pcapng")), 0);
    // Its lines are still printed: they were asked for.
    let mut running = spawn(scene.command("capture -i right0 -q -c 200000"));
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
fn counters_are_reported_at_the_interval() {
    let scene = Scene::new();
    let mut running = scene.capture("-w file.pcapng --stats-interval 10ms");
    scene.send(&frames(30, 100));
    running.received(30);
    scene.send(&frames(12, 200));
    let ended = running.stop_after(42);
    let stats = ended.events_of("stats");
    let of = |key: &str| -> Vec<u64> { stats.iter().map(|event| number(event, key)).collect() };
    let sum = |key: &str| of(key).iter().sum::<u64>();
    assert_eq!((sum("packets"), sum("bytes")), (42, 30 * 100 + 12 * 200));
    assert!(
        sum("span_ns") <= ended.summary().number("duration_ns"),
        "{ended:?}"
    );
    // Each has the counters since the start.
    assert!(
        of("at_ns").is_sorted() && of("received").is_sorted(),
        "{stats:?}"
    );

    // As text they go to standard error.
    let mut running = scene.capture_text("-w file.pcapng --stats-interval 10ms");
    scene.send(&frames(5, 100));
    while !running.error_line().contains(" 5 packets ") {}
    running.stop().exit(0);
}

#[test]
fn help_is_readable() {
    let long = run("capture --help");
    assert_eq!(long.status.code(), Some(0));
    let text = long.stdout.join("\n");
    let flags = "-i, --interface|-w, --write|-s, --snaplen|-c, --count|--duration|--direction|--backend|--delivery|\
                 --latency-target|--spin|--min-bytes|--timeout|--stall|--buffer|--no-promisc|--rotate-size|\
                 --rotate-interval|--rotate-packets|--keep|--compress|--stats-interval|--fail-loss|--json|\
                 -q, --quiet|-n|--bpf";
    for flag in flags.split('|') {
        assert!(text.contains(flag), "{flag} in {text}");
    }
    let widest = long.stdout.iter().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{text}");
    assert_eq!(run("capture -h").status.code(), Some(0));
    let top = run("--help");
    assert_eq!(top.status.code(), Some(0));
    let is_capture = |line: &String| line.trim_start().starts_with("capture ");
    assert!(top.stdout.iter().any(is_capture), "{top:?}");
    assert_eq!(
        run("--version").stdout,
        [concat!("tapline ", env!("CARGO_PKG_VERSION"))]
    );
    // Alone it says what it can do, and that this was not a command.
    let alone = run("");
    assert_eq!((alone.status.code(), alone.stdout.len()), (Some(2), 0));
    alone.assert_mentions("Usage: tapline");
}
