//! Known numbers of packets are counted in the correct classes, and reported in JSON, in CSV and to Prometheus.

use std::collections::BTreeMap;

use lab::wait;
use serde_json::{Value, json};

use crate::support::count::{start, start_begun, tally, totals};
use crate::support::frames::{frame, frames, tagged, udp};
use crate::support::run::spawn;
use crate::support::scrape::{address, scrape};
use crate::support::{Scene, assert_has, keys, number, tool};

#[test]
fn each_packet_counts_in_each_of_its_classes() {
    let scene = Scene::new();
    let running = start(&scene, "'test=ether proto 0x88b5' udp 'small=less 99' all=");
    scene.send(&frames(300, 100));
    scene.send(&vec![udp(b"a datagram"); 40]);
    scene.send_back(&frames(70, 200));
    let ended = running.stop_counted("all", 410);
    let udp_bytes = udp(b"a datagram").len() as u64;
    for (class, packets, bytes) in [
        ("test", 370, 300 * 100 + 70 * 200),
        ("udp", 40, 40 * udp_bytes),
        ("small", 40, 40 * udp_bytes),
        ("all", 410, 300 * 100 + 70 * 200 + 40 * udp_bytes),
    ] {
        assert_eq!(tally(&totals(&ended, class)), (packets, bytes), "{class}");
    }
    let by_way = [("in", 340), ("out", 70)]
        .map(|(way, packets)| json!({"name": "right0", "direction": way, "packets": packets}));
    assert_has(&totals(&ended, "all"), &json!({"interfaces": by_way}));
}

/// Lengths of Ethernet: 4 bytes of check sequence, at least 64 with them, 20 of preamble and gap.
#[test]
fn only_the_direction_counts_and_bytes_are_those_of_the_layer() {
    let scene = Scene::new();
    for (flags, packets, bytes) in [
        ("--direction in", 2, 50 + 1000),
        ("--direction out", 1, 100),
        ("--direction both", 3, 50 + 1000 + 100),
        ("--layer l2 --direction in", 2, 50 + 1000),
        ("--layer l2+fcs --direction in", 2, 64 + 1004),
        ("--layer l1 --direction in", 2, 84 + 1024),
    ] {
        let running = start(&scene, flags);
        scene.send(&[frame(1, 50), frame(2, 1000)]);
        scene.send_back(&frames(1, 100));
        let ended = running.stop_counted("all", packets);
        assert_eq!(tally(&totals(&ended, "all")), (packets, bytes), "{flags}");
        let layer = flags
            .strip_prefix("--layer ")
            .and_then(|rest| rest.split(' ').next());
        assert_eq!(ended.summary().0["layer"], layer.unwrap_or("l2"));
    }
}

/// Tests and users rely on these keys.
#[test]
fn the_keys_are_those_of_the_contract() {
    let scene = Scene::new();
    let (mut running, start) = start_begun(&scene, "'web=tcp port 80'");
    let interval = running.event(|event| event["event"] == "interval");
    let ended = running.stop();
    let contract = ["event", "class", "packets", "bytes", "at_ns", "span_ns"];
    assert_eq!(keys(&interval), contract);
    let settings = json!({"classes": ["web"], "layer": "l2", "by": null, "interval_ns": 5_000_000});
    assert_has(&start, &settings);
    let summary = ended.summary().0;
    let contract = [
        "event",
        "classes",
        "at_ns",
        "duration_ns",
        "layer",
        "by",
        "interfaces",
    ];
    assert_eq!(keys(&summary), contract);
    assert_eq!(
        keys(&summary["classes"][0]),
        ["class", "packets", "bytes", "interfaces"]
    );
    let place = &summary["interfaces"][0];
    let contract = "name index direction hook super_packets_count_once reason state down_ns";
    assert_eq!(keys(place), contract.split(' ').collect::<Vec<_>>());
    assert_has(
        place,
        &json!({"name": "right0", "state": "up", "down_ns": 0}),
    );
    // Intervals follow one another without a gap.
    let intervals = ended.events_of("interval");
    let of = |key: &str| {
        intervals
            .iter()
            .map(|event| number(event, key))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of("span_ns").iter().sum::<u64>(),
        number(&summary, "duration_ns")
    );
    assert!(of("at_ns").is_sorted());
}

/// The program prints the largest groups, and sums of the rest, of packets without a key, and of groups beyond the
/// table's size.
#[test]
fn groups_are_the_largest_and_the_rest_is_summed() {
    let scene = Scene::new();
    let running = start(&scene, "--by ethertype --top 2 all=");
    for (kind, count) in [(0x88b5_u16, 50), (0x88b6, 70), (0x9000, 20), (0x9001, 5)] {
        let mut frame = frame(0, 100);
        frame[12..14].copy_from_slice(&kind.to_be_bytes());
        scene.send(&vec![frame; count]);
    }
    let ended = running.stop_counted("all", 145);
    let none = json!({ "packets": 0, "bytes": 0 });
    let expected = json!({
        "groups": [
            { "key": "0x88b6", "packets": 70, "bytes": 7000 },
            { "key": "0x88b5", "packets": 50, "bytes": 5000 },
        ],
        "more": { "groups": 2, "packets": 25, "bytes": 2500 },
        "other": none, "without_key": none,
    });
    assert_has(&totals(&ended, "all"), &expected);
    assert_eq!(ended.summary().0["by"], "ethertype");

    let running = start(&scene, "--by dport --groups 1 all=");
    let datagram = udp(b"a datagram");
    let mut other = datagram.clone();
    other[36..38].copy_from_slice(&4321_u16.to_be_bytes());
    scene.send(&vec![datagram.clone(); 30]);
    scene.send(&vec![other; 20]);
    scene.send(&frames(7, 100));
    let port = u16::from_be_bytes([datagram[36], datagram[37]]);
    let expected = json!({
        "packets": 57, "groups": [{ "key": port, "packets": 30 }], "other": { "packets": 20 },
        "without_key": { "packets": 7, "bytes": 700 },
    });
    assert_has(&totals(&running.stop_counted("all", 57), "all"), &expected);
}

/// What python3 reads in `text`: each line by the names of the first.
fn python(text: &str, scene: &Scene) -> Vec<Value> {
    scene.write("values.csv", text);
    let script = scene.write(
        "script",
        "import csv, json, sys\nfor row in csv.DictReader(open(sys.argv[1], newline='')): print(json.dumps(row))",
    );
    let read = tool("python3", &format!("{script} {}", scene.file("values.csv")));
    let parse = |line| serde_json::from_str(line).expect("JSON");
    read.lines().map(parse).collect()
}

#[test]
fn csv_is_read_by_others() {
    let scene = Scene::new();
    let name = "ether proto 0x88b5 and ether[0] == 2";
    let line = format!("count -i right0 --interval 5ms --csv --by vlan all= '{name}'");
    let mut running = spawn(scene.command(&line));
    assert_eq!(running.line(), "at_ns,span_ns,class,vlan,packets,bytes");
    running.error_line();
    let plain = frames(20, 100);
    let with_tags: Vec<_> = plain[..5]
        .iter()
        .map(|frame| tagged(frame, &[(0x8100, 7)]))
        .collect();
    scene.send(&plain);
    scene.send(&with_tags);
    let mut packets = 0;
    while packets < 25 {
        if let Some((_, rest)) = running.line().split_once(",all,,") {
            let (count, _) = rest.split_once(',').expect("packets");
            packets += count.parse::<u64>().expect("a number");
        }
    }
    let ended = running.stop();
    ended.exit(0);
    let rows = python(&(ended.stdout.join("\n") + "\n"), &scene);
    let sum = |class: &str, vlan: &str, key: &str| -> u64 {
        let rows = rows
            .iter()
            .filter(|row| row["class"] == class && row["vlan"] == vlan);
        let values = rows.map(|row| row[key].as_str().expect("text").parse::<u64>());
        values.map(|value| value.expect("a number")).sum()
    };
    for (vlan, packets, bytes) in [
        ("", 25, 20 * 100 + 5 * 104),
        ("7", 5, 520),
        ("(none)", 20, 2000),
    ] {
        assert_eq!(
            (sum("all", vlan, "packets"), sum("all", vlan, "bytes")),
            (packets, bytes),
            "{vlan}"
        );
    }
    // As for a capture on an interface, a tag is beside the bytes.
    assert_eq!(sum(name, "", "packets"), 25);
    // The summary is for people, and not among the values.
    assert!(
        ended.stderr.iter().any(|line| line.contains("packets/s")),
        "{ended:?}"
    );
}

/// Checks counters by what is behind `tapline_count_`.
#[track_caller]
fn assert_counters(counters: &BTreeMap<String, u64>, expected: &[(String, u64)]) {
    for (name, value) in expected {
        assert_eq!(
            counters.get(&format!("tapline_count_{name}")),
            Some(value),
            "{name} in {counters:?}"
        );
    }
}

#[test]
fn prometheus_gets_the_same() {
    let scene = Scene::new();
    let (mut running, start) = start_begun(&scene, "--metrics 0 'test=ether proto 0x88b5' all=");
    scene.send(&frames(300, 100));
    scene.send(&[udp(b"a datagram")]);
    scene.send_back(&frames(50, 60));
    running.counted("all", 351);
    let counters = scrape(&scene.right, address(&start));
    let expected = [
        ("packets", "in", "test", 300),
        ("bytes", "in", "test", 30_000),
        ("packets", "out", "test", 50),
        ("bytes", "out", "all", 3000),
        ("packets", "in", "all", 301),
    ];
    let expected = expected.map(|(counter, way, class, value)| {
        let labels = format!("interface=\"right0\",direction=\"{way}\",class=\"{class}\"");
        (format!("{counter}_total{{{labels}}}"), value)
    });
    assert_counters(&counters, &expected);
    assert_eq!(counters.len(), 8, "{counters:?}");
    running.stop().exit(0);
}

/// The sum of a class minus its printed groups is the sum of the other groups.
#[test]
fn prometheus_gets_the_largest_groups() {
    let scene = Scene::new();
    let flags = "--by smac --top 2 --groups 3 --direction in --metrics 0";
    let (mut running, start) = start_begun(&scene, &format!("{flags} 'test=ether proto 0x88b5'"));
    for (from, packets) in [(1, 10), (2, 30), (3, 20), (4, 5)] {
        let mut frame = frame(0, 100);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
        scene.send(&vec![frame; packets]);
    }
    running.counted("test", 65);
    let counters = scrape(&scene.right, address(&start));
    let of_group =
        |unit: &str, group: &str| format!("group_{unit}_total{{class=\"test\",smac=\"{group}\"}}");
    let groups = [
        ("(none)", 0),
        ("(other)", 5),
        ("02:00:00:00:00:02", 30),
        ("02:00:00:00:00:03", 20),
    ];
    assert_counters(
        &counters,
        &groups.map(|(group, packets)| (of_group("packets", group), packets)),
    );
    let told = counters
        .keys()
        .filter(|name| name.starts_with("tapline_count_group_packets_"));
    assert_eq!(told.count(), groups.len(), "{counters:?}");
    assert_counters(&counters, &[(of_group("bytes", "02:00:00:00:00:02"), 3000)]);
    running.stop().exit(0);
}

/// A scrape does not have to wait for the end of a long interval. The interval is still reported as one.
#[test]
fn with_metrics_a_long_interval_is_read_more_often() {
    let scene = Scene::new();
    let (running, start) = start_begun(&scene, "--metrics 0 --interval 1h all=");
    let to = address(&start);
    scene.send(&frames(300, 100));
    wait::until("all packets are counted", || {
        scrape(&scene.right, to).values().any(|&value| value == 300)
    });
    let ended = running.stop();
    assert_eq!(tally(&totals(&ended, "all")), (300, 30_000));
    assert_eq!(ended.events_of("interval").len(), 1);
}
