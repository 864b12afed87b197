//! Known numbers of packets are counted, each in its classes, and told in JSON and in CSV.

use crate::support;
use crate::support::count::{OFTEN, command, counted, send_back, start, tally, totals};
use crate::support::frames::{frame, frames, udp};
use crate::support::run::spawn;
use crate::support::{Scene, name, tool};
use lab::wait;
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn each_packet_counts_in_each_of_its_classes() {
    let scene = Scene::new();
    let classes = ["test=ether proto 0x88b5", "udp", "small=less 99", "all="];
    let mut running = start(&scene.right, &classes);
    scene.send(&frames(300, 100));
    scene.send(&vec![udp(b"a datagram"); 40]);
    send_back(&scene, &frames(70, 200));
    counted(&mut running, "all", 410);
    let ended = running.stop();
    ended.exit(0);
    let udp_bytes = udp(b"a datagram").len() as u64;
    for (class, packets, bytes) in [
        ("test", 370, 300 * 100 + 70 * 200),
        ("udp", 40, 40 * udp_bytes),
        ("small", 40, 40 * udp_bytes),
        ("all", 410, 300 * 100 + 70 * 200 + 40 * udp_bytes),
    ] {
        assert_eq!(tally(&totals(&ended, class)), (packets, bytes), "{class}");
    }
    let all = totals(&ended, "all");
    let by_way: Vec<_> = all["interfaces"]
        .as_array()
        .expect("places")
        .iter()
        .collect();
    assert_eq!(by_way.len(), 2);
    for (place, way, packets) in [(by_way[0], "in", 340), (by_way[1], "out", 70)] {
        assert_eq!(place["name"], name(&scene.right).as_str());
        assert_eq!(place["direction"], way);
        assert_eq!(tally(place).0, packets, "{all}");
    }
}

#[test]
fn only_the_direction_asked_for_counts() {
    let scene = Scene::new();
    for (direction, packets) in [("in", 30), ("out", 50), ("both", 80)] {
        let mut running = start(&scene.right, &["--direction", direction]);
        scene.send(&frames(30, 100));
        send_back(&scene, &frames(50, 100));
        counted(&mut running, "all", packets);
        let ended = running.stop();
        ended.exit(0);
        assert_eq!(tally(&totals(&ended, "all")).0, packets, "{direction}");
    }
}

/// Lengths of Ethernet: 4 bytes of check sequence, at least 64 with them, 20 of preamble and gap.
#[test]
fn bytes_are_those_of_the_layer() {
    let scene = Scene::new();
    for (layer, bytes) in [("l2", 50 + 1000), ("l2+fcs", 64 + 1004), ("l1", 84 + 1024)] {
        let mut running = start(&scene.right, &["--layer", layer]);
        scene.send(&[
            support::frames::frame(1, 50),
            support::frames::frame(2, 1000),
        ]);
        counted(&mut running, "all", 2);
        let ended = running.stop();
        assert_eq!(tally(&totals(&ended, "all")), (2, bytes), "{layer}");
        assert_eq!(ended.summary().0["layer"], layer);
    }
}

/// Tests and users rely on these keys.
#[test]
fn the_keys_are_those_of_the_contract() {
    let scene = Scene::new();
    let mut running = start(&scene.right, &["web=tcp port 80"]);
    let interval = running.event(|event| event["event"] == "interval");
    let ended = running.stop();
    let contract = ["event", "class", "packets", "bytes", "at_ns", "span_ns"];
    assert_eq!(keys(&interval), contract);
    let events = ended.events();
    let start = &events[0];
    assert_eq!(start["event"], "start");
    assert_eq!(start["classes"], json!(["web"]));
    assert_eq!(
        (&start["layer"], &start["by"]),
        (&json!("l2"), &json!(null))
    );
    assert_eq!(start["interval_ns"], 5_000_000);
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
    let class = &summary["classes"][0];
    assert_eq!(keys(class), ["class", "packets", "bytes", "interfaces"]);
    let place = &summary["interfaces"][0];
    assert_eq!(
        keys(place),
        [
            "name",
            "index",
            "direction",
            "hook",
            "super_packets_count_once",
            "reason",
            "state",
            "down_ns"
        ]
    );
    assert_eq!(
        (&place["state"], &place["down_ns"]),
        (&json!("up"), &json!(0))
    );
    assert_eq!(place["name"], name(&scene.right).as_str());
    // Intervals follow one another without a gap.
    let of = |key: &str| -> Vec<u64> {
        let intervals = events.iter().filter(|event| event["event"] == "interval");
        intervals
            .map(|event| event[key].as_u64().expect("a number"))
            .collect()
    };
    let spans: u64 = of("span_ns").iter().sum();
    assert_eq!(Some(spans), summary["duration_ns"].as_u64());
    assert!(of("at_ns").is_sorted());
}

#[test]
fn groups_are_the_largest_and_the_rest_is_summed() {
    let scene = Scene::new();
    let arguments = ["--by", "ethertype", "--top", "2", "all="];
    let mut running = start(&scene.right, &arguments);
    let kind = |kind: u16, count: usize| {
        let mut frame = support::frames::frame(0, 100);
        frame[12..14].copy_from_slice(&kind.to_be_bytes());
        vec![frame; count]
    };
    for (number, count) in [(0x88b5, 50), (0x88b6, 70), (0x9000, 20), (0x9001, 5)] {
        scene.send(&kind(number, count));
    }
    counted(&mut running, "all", 145);
    let ended = running.stop();
    let all = totals(&ended, "all");
    assert_eq!(
        all["groups"],
        json!([
            { "key": "0x88b6", "packets": 70, "bytes": 7000 },
            { "key": "0x88b5", "packets": 50, "bytes": 5000 },
        ])
    );
    assert_eq!(
        all["more"],
        json!({ "groups": 2, "packets": 25, "bytes": 2500 })
    );
    let none = json!({ "packets": 0, "bytes": 0 });
    assert_eq!((&all["other"], &all["without_key"]), (&none, &none));
    assert_eq!(ended.summary().0["by"], "ethertype");
}

/// Of packets without a key, and of groups that there is no room for, the sum is known.
#[test]
fn what_is_in_no_group_is_counted_too() {
    let scene = Scene::new();
    let arguments = ["--by", "dport", "--groups", "1", "all="];
    let mut running = start(&scene.right, &arguments);
    let datagram = udp(b"a datagram");
    let mut other = datagram.clone();
    other[36..38].copy_from_slice(&4321_u16.to_be_bytes());
    scene.send(&vec![datagram.clone(); 30]);
    scene.send(&vec![other; 20]);
    scene.send(&frames(7, 100));
    counted(&mut running, "all", 57);
    let ended = running.stop();
    let all = totals(&ended, "all");
    assert_eq!(tally(&all).0, 57);
    let port = u16::from_be_bytes([datagram[36], datagram[37]]);
    let groups = all["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (&groups[0]["key"], &groups[0]["packets"]),
        (&json!(port), &json!(30))
    );
    assert_eq!(tally(&all["other"]).0, 20);
    assert_eq!(tally(&all["without_key"]), (7, 700));
}

/// What python3 reads in `text`: each line by the names of the first.
fn python(text: &str, scene: &Scene) -> Vec<Value> {
    let file = scene.file("values.csv");
    std::fs::write(&file, text).expect("a file");
    let script = "import csv, json, sys\n\
        for row in csv.DictReader(open(sys.argv[1], newline='')): print(json.dumps(row))";
    let read = tool("python3", ["-c", script, &file]);
    let parse = |line| serde_json::from_str(line).expect("JSON");
    read.lines().map(parse).collect()
}

#[test]
fn csv_is_read_by_others() {
    let scene = Scene::new();
    let names = ["all", "ether proto 0x88b5 and ether[0] == 2"];
    let mut command = command(&scene.right, &OFTEN);
    command.args(["--csv", "--by", "vlan", "all=", names[1]]);
    let mut running = spawn(command);
    assert_eq!(running.line(), "at_ns,span_ns,class,vlan,packets,bytes");
    running.error_line();
    let plain = frames(20, 100);
    let tagged: Vec<_> = (plain[..5].iter())
        .map(|frame| support::frames::tagged(frame, &[(0x8100, 7)]))
        .collect();
    scene.send(&plain);
    scene.send(&tagged);
    let mut packets = 0;
    while packets < 25 {
        let line = running.line();
        if let Some((_, rest)) = line.split_once(",all,,") {
            packets += rest
                .split(',')
                .next()
                .expect("packets")
                .parse::<u64>()
                .expect("a number");
        }
    }
    let ended = running.stop();
    ended.exit(0);
    let rows = python(&(ended.stdout.join("\n") + "\n"), &scene);
    let sum = |class: &str, vlan: &str, key: &str| -> u64 {
        let rows = rows
            .iter()
            .filter(|row| row["class"] == class && row["vlan"] == vlan);
        let number = |row: &Value| {
            row[key]
                .as_str()
                .expect("text")
                .parse::<u64>()
                .expect("a number")
        };
        rows.map(number).sum()
    };
    for (vlan, packets, bytes) in [
        ("", 25, 20 * 100 + 5 * 104),
        ("7", 5, 520),
        ("(none)", 20, 2000),
    ] {
        assert_eq!(sum("all", vlan, "packets"), packets, "{vlan}");
        assert_eq!(sum("all", vlan, "bytes"), bytes, "{vlan}");
    }
    // As for a capture on an interface, a tag is beside the bytes.
    assert_eq!(sum(names[1], "", "packets"), 25);
    // The summary is for people, and not among the values.
    assert!(
        ended.stderr.iter().any(|line| line.contains("packets/s")),
        "{ended:?}"
    );
}

#[test]
fn prometheus_is_told_the_same() {
    let scene = Scene::new();
    let mut command = command(&scene.right, &OFTEN);
    command.args([
        "--json",
        "--metrics",
        "0",
        "test=ether proto 0x88b5",
        "all=",
    ]);
    let mut running = spawn(command);
    let to = support::scrape::address(&running.ready());
    scene.send(&frames(300, 100));
    scene.send(&[udp(b"a datagram")]);
    send_back(&scene, &frames(50, 60));
    counted(&mut running, "all", 351);
    let counters = support::scrape::scrape(&scene.right, to);
    let link = name(&scene.right);
    let of = |counter: &str, way: &str, class: &str| {
        let labels = format!("interface=\"{link}\",direction=\"{way}\",class=\"{class}\"");
        counters
            .get(&format!("tapline_count_{counter}_total{{{labels}}}"))
            .copied()
    };
    assert_eq!(of("packets", "in", "test"), Some(300));
    assert_eq!(of("bytes", "in", "test"), Some(30_000));
    assert_eq!(of("packets", "out", "test"), Some(50));
    assert_eq!(of("bytes", "out", "all"), Some(3000));
    assert_eq!(of("packets", "in", "all"), Some(301));
    assert_eq!(counters.len(), 8, "{counters:?}");
    running.stop().exit(0);
}

/// The sum of a class less its groups told is what the others had.
#[test]
fn prometheus_is_told_of_the_largest_groups() {
    let scene = Scene::new();
    let mut command = command(&scene.right, &OFTEN);
    let split = ["--by", "smac", "--top", "2", "--groups", "3"];
    command.args(split).args(["--direction", "in", "--json"]);
    command.args(["--metrics", "0", "test=ether proto 0x88b5"]);
    let mut running = spawn(command);
    let to = support::scrape::address(&running.ready());
    for (from, packets) in [(1, 10), (2, 30), (3, 20), (4, 5)] {
        let mut frame = frame(0, 100);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
        scene.send(&vec![frame; packets]);
    }
    counted(&mut running, "test", 65);
    let counters = support::scrape::scrape(&scene.right, to);
    let groups: Vec<_> = counters
        .iter()
        .filter_map(|(name, &value)| {
            Some((name.strip_prefix("tapline_count_group_packets_")?, value))
        })
        .collect();
    let told = |group: &str| format!("total{{class=\"test\",smac=\"{group}\"}}");
    let expected = [
        ("(none)", 0),
        ("(other)", 5),
        ("02:00:00:00:00:02", 30),
        ("02:00:00:00:00:03", 20),
    ]
    .map(|(group, packets)| (told(group), packets));
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, value)| (&**name, *value))
        .collect();
    assert_eq!(groups, expected);
    let bytes = format!("tapline_count_group_bytes_{}", told("02:00:00:00:00:02"));
    assert_eq!(counters.get(&bytes), Some(&3000));
    running.stop().exit(0);
}

/// Whoever asks does not have to wait for a long interval's end, which is told as one still.
#[test]
fn with_metrics_a_long_interval_is_read_more_often() {
    let scene = Scene::new();
    let mut command = command(&scene.right, &["--json", "--metrics", "0"]);
    command.args(["--interval", "1h", "all="]);
    let mut running = spawn(command);
    let to = support::scrape::address(&running.ready());
    scene.send(&frames(300, 100));
    let has_all = || {
        let counters = support::scrape::scrape(&scene.right, to);
        counters.values().any(|&value| value == 300)
    };
    wait::until("all packets are counted", has_all);
    let ended = running.stop();
    assert_eq!(tally(&totals(&ended, "all")), (300, 30_000));
    let intervals = ended
        .events()
        .iter()
        .filter(|event| event["event"] == "interval")
        .count();
    assert_eq!(intervals, 1);
}
