//! Every kind of file `tapline capture` writes, as tshark, capinfos and tcpdump read it, beside
//! what was sent.

use crate::support;
use std::process::{Command, Stdio};

use crate::support::files::{bytes, column, count, options, tshark};
use crate::support::frames::{frames, number, trunk, udp};
use crate::support::run::{Ended, command, spawn_into, start};
use crate::support::{Scene, ip, name, tool};
use lab::tool;
use rustix::time::{ClockId, clock_gettime};

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Seconds with their fraction, in nanoseconds.
fn ns(text: &str) -> u64 {
    let (seconds, fraction) = text.split_once('.').expect("a fraction");
    assert_eq!(fraction.len(), 9, "{text}");
    let number = |digits: &str| digits.parse::<u64>().expect("digits");
    number(seconds) * 1_000_000_000 + number(fraction)
}

/// Times within the sending, in order; `unit_ns` is what the format can tell.
fn assert_times(times: &[u64], before: u64, after: u64, unit_ns: u64) {
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.iter().all(|time| time % unit_ns == 0), "{times:?}");
    let (first, last) = (times[0], times[times.len() - 1]);
    assert!(first + unit_ns > before && last <= after, "{times:?}");
}

#[test]
fn every_format_holds_what_was_sent() {
    let scene = Scene::new();
    let sent = trunk();
    let length = |frame: &Vec<u8>| format!("{0} {0}", frame.len());
    let lengths: Vec<String> = sent.iter().map(length).collect();
    let limit = sent.len().to_string();
    for (name, flags, unit_ns) in [
        ("ng", &[][..], 1),
        ("other.pcapng", &["--format", "pcapng"], 1),
        ("nano.pcap", &[], 1),
        ("nano", &["--format", "pcap-ns"], 1),
        ("micro.pcap", &["--format", "pcap"], 1000),
        ("packed.pcapng.zst", &["--compress", "zstd"], 1),
        ("named.pcap.zst", &[], 1),
        ("packed.pcap.zst", &["--compress", "zstd:9"], 1),
        ("v2.pcapng", &["--backend", "packet-v2"], 1),
        ("now.pcapng", &["--delivery", "immediate"], 1),
    ] {
        let file = scene.file(name);
        let mut arguments = vec!["-w", &file, "-c", &limit];
        arguments.extend(flags);
        let running = start(&scene.right, &arguments);
        let before = now_ns();
        scene.send(&sent);
        let ended = running.finish();
        let after = now_ns();
        ended.exit(0);
        let summary = ended.summary();
        summary.conserves(sent.len() as u64);
        assert_eq!(summary.number("written"), sent.len() as u64, "{name}");
        assert_eq!(summary.files(), [file.as_str()]);
        let size = std::fs::metadata(&file).expect("the file").len();
        assert_eq!(summary.number("bytes_written"), size, "{name}");

        let plain = match file.strip_suffix(".zst") {
            Some(plain) => {
                tool("zstd", ["-dqf", &file]);
                plain.to_owned()
            }
            None => file,
        };
        assert_eq!(count(&plain), sent.len() as u64, "{name}");
        assert_eq!(bytes(&plain), sent, "{name}");
        let rows = tshark(&plain, &["frame.len", "frame.cap_len", "frame.time_epoch"]);
        let read: Vec<String> = rows.iter().map(|row| row[..2].join(" ")).collect();
        assert_eq!(read, lengths, "{name}");
        let times: Vec<u64> = rows.iter().map(|row| ns(&row[2])).collect();
        assert_times(&times, before, after, unit_ns);
    }
}

#[test]
fn vlan_tags_are_where_they_were_on_the_wire() {
    let scene = Scene::new();
    let sent = trunk();
    let (seen_in, seen_out) = (scene.file("in"), scene.file("out"));
    let limit = sent.len().to_string();
    let right = start(&scene.right, &["-w", &seen_in, "-c", &limit]);
    let left = start(&scene.left, &["-w", &seen_out, "-c", &limit]);
    scene.send(&sent);
    for ended in [right.finish(), left.finish()] {
        ended.exit(0);
    }
    for file in [&seen_in, &seen_out] {
        let tags = tshark(file, &["ieee8021ad.id", "vlan.id"]);
        let tags: Vec<String> = tags.iter().map(|row| row.join("/")).collect();
        let expected = ["/7", "/4094", "/0", "30/40", "30/", "/99"];
        assert_eq!(tags[7..13], expected, "{file}");
        assert!(tags[..7].iter().chain(&tags[13..]).all(|tag| tag == "/"));
        assert_eq!(bytes(file), sent);
    }
    // Inbound is 1, outbound is 2; how it was addressed is known of what comes in only.
    let fields = [
        "frame.packet_flags_direction",
        "frame.packet_flags_reception_type",
    ];
    let rows = tshark(&seen_in, &fields);
    assert!(rows.iter().all(|row| row[0] == "0x00000001"), "{rows:?}");
    // Unicast 1, multicast 2, broadcast 3, promiscuous 4.
    let reception: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(reception[13..16], ["3", "2", "4"]);
    assert_eq!(reception[0], "1");
    let rows = tshark(&seen_out, &fields);
    assert!(rows.iter().all(|row| row[0] == "0x00000002"), "{rows:?}");
}

#[test]
fn a_pipe_carries_a_whole_file() {
    let scene = Scene::new();
    for flags in [&[][..], &["--format", "pcap"], &["--format", "pcap-ns"]] {
        let mut reader = tool::command("tshark");
        reader.args(["-n", "-l", "-T", "fields", "-e", "frame.len", "-r", "-"]);
        let (read, write) = std::io::pipe().expect("a pipe");
        reader
            .stdin(read)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let reader = reader.spawn().expect("tshark starts");

        let mut writer = command(&scene.right, &["-w", "-", "-c", "30"]);
        writer.args(flags).stdout(write);
        let mut running = spawn_into(writer);
        running.ready_text();
        scene.send(&frames(30, 333));
        let ended = running.finish();
        ended.exit(0);
        let said = ended.stderr.join("\n");
        assert!(
            said.contains("30 packets received = 30 delivered"),
            "{said}"
        );

        let output = reader.wait_with_output().expect("tshark ends");
        assert!(output.status.success(), "{output:?}");
        let lengths = String::from_utf8(output.stdout).expect("text");
        assert_eq!(lengths, "333\n".repeat(30));
    }
}

/// A capture to a pipe hands on each packet at once: the reader sees it while the capture goes on.
#[test]
fn a_pipe_is_not_kept_waiting() {
    let scene = Scene::new();
    let mut reader = scene.right.command("tcpdump");
    let (read, write) = std::io::pipe().expect("a pipe");
    reader.args(["-lnr", "-"]).stdin(read);
    let mut writer = command(&scene.right, &["-w", "-"]);
    writer.stdout(write);
    let mut running = spawn_into(writer);
    let mut reader = support::run::spawn_with_input(reader);
    running.ready_text();
    for number in 0..3 {
        scene.send(&[udp(&[number])]);
        let line = reader.line();
        assert!(line.contains("UDP"), "{line}");
    }
    running.stop().exit(0);
    assert_eq!(reader.finish().status.code(), Some(0));
}

#[test]
fn the_file_describes_interface_and_machine() {
    let scene = Scene::new();
    let file = scene.file("described.pcapng");
    let filter = scene.file("filter");
    // Everything, as `tcpdump -ddd` prints it.
    std::fs::write(&filter, "1\n6 0 0 262144\n").expect("a filter");
    let interface = name(&scene.right);
    ip(
        &scene.right,
        &["link", "set", &interface, "alias", "to the left"],
    );
    let running = start(
        &scene.right,
        &["-w", &file, "-c", "4", "--bpf", &filter, "-s", "96"],
    );
    scene.send(&frames(4, 200));
    running.finish().exit(0);
    assert_eq!(column::<usize>(&file, "frame.cap_len"), [96; 4]);
    assert_eq!(column::<usize>(&file, "frame.len"), [200; 4]);

    let ethtool = |flag: &[&str]| {
        let mut command = scene.right.command("ethtool");
        let output = command.args(flag).arg(&interface).output();
        String::from_utf8(output.expect("ethtool runs").stdout).expect("text")
    };
    let value = |text: String, key: &str| {
        let mut values = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(key));
        values
            .next()
            .unwrap_or_else(|| panic!("{key}: {text}"))
            .to_owned()
    };
    let speed = value(ethtool(&[]), "Speed: ").replace("Mb/s", "000000");
    let driver = value(ethtool(&["-i"]), "driver: ");
    let uname = Command::new("uname")
        .arg("-srm")
        .output()
        .expect("uname runs");
    let uname = String::from_utf8(uname.stdout).expect("text");

    let options = options(&file);
    for wanted in [
        format!("Interface Name = {interface}"),
        "Interface Description = to the left".into(),
        "MAC Address = 02:00:00:00:01:02".into(),
        format!("Speed = {speed}"),
        format!("OS = {}", uname.trim()),
        format!("Hardware = {driver}"),
        format!("Filter = classic BPF, {filter}"),
        "Timestamp Resolution = 10^-9 (nanoseconds)".into(),
    ] {
        assert!(options.contains(&wanted), "{wanted} in {options:#?}");
    }
}

/// The names of the files that end with `suffix`, checked to be those of the summary.
#[track_caller]
fn files(scene: &Scene, ended: &Ended, suffix: &str) -> Vec<String> {
    let listed = scene.listed();
    let kept: Vec<_> = listed
        .into_iter()
        .filter(|name| name.ends_with(suffix))
        .collect();
    assert_eq!(ended.summary().files(), kept);
    kept
}

#[test]
fn rotation_by_packets_loses_none() {
    let scene = Scene::new();
    for (pattern, flags) in [("row.pcapng", &[][..]), ("row.pcap", &["--format", "pcap"])] {
        let arguments = [
            "-w",
            &scene.file(pattern),
            "-c",
            "25",
            "--rotate-packets",
            "10",
        ];
        let running = start(&scene.right, &[&arguments, flags].concat());
        scene.send(&frames(25, 100));
        let ended = running.finish();
        ended.exit(0);
        let files = files(&scene, &ended, pattern.trim_start_matches("row"));
        let counts: Vec<u64> = files.iter().map(|file| count(file)).collect();
        assert_eq!(counts, [10, 10, 5]);
        let all: Vec<_> = files.iter().flat_map(|file| bytes(file)).collect();
        assert_eq!(all, frames(25, 100));
        ended.summary().conserves(25);
    }
}

#[test]
fn rotation_keeps_the_last_files_and_their_size() {
    let scene = Scene::new();
    let pattern = scene.file("row.pcapng");
    let arguments = [
        "-w",
        &pattern,
        "-c",
        "100",
        "--rotate-size",
        "8k",
        "--keep",
        "3",
    ];
    let running = start(&scene.right, &arguments);
    scene.send(&frames(100, 1000));
    let ended = running.finish();
    ended.exit(0);
    let files = files(&scene, &ended, ".pcapng");
    assert_eq!(files.len(), 3);
    let mut numbers = Vec::new();
    for file in &files {
        assert!(std::fs::metadata(file).expect("a file").len() <= 8192);
        count(file);
        numbers.extend(bytes(file).iter().map(|frame| number(frame)));
    }
    // The last ones in a row; seven frames of this size fit into 8 KiB.
    let first = numbers[0];
    assert_eq!(numbers, (first..100).collect::<Vec<_>>());
    assert!((14..=21).contains(&numbers.len()), "{numbers:?}");
    let summary = ended.summary();
    assert_eq!(
        (summary.number("written"), summary.number("delivered")),
        (100, 100)
    );
}

#[test]
fn rotation_by_time_follows_the_clock() {
    let scene = Scene::new();
    let pattern = scene.file("row.pcapng");
    let arguments = ["-w", &pattern, "-c", "40", "--rotate-interval", "100ms"];
    let running = start(&scene.right, &arguments);
    // A frame every 10 ms.
    scene.generate(40, Some(100));
    let ended = running.finish();
    ended.exit(0);
    let files = files(&scene, &ended, ".pcapng");
    let mut intervals = Vec::new();
    let mut total = 0;
    for file in &files {
        total += count(file);
        let times: Vec<String> = column(file, "frame.time_epoch");
        let mut parts: Vec<u64> = times.iter().map(|time| ns(time) / 100_000_000).collect();
        parts.dedup();
        assert!(parts.len() <= 1, "{times:?}");
        intervals.extend(parts);
    }
    assert_eq!(total, 40);
    assert!(intervals.len() >= 4, "{intervals:?}");
    assert!(intervals.is_sorted_by(|a, b| a < b), "{intervals:?}");
}

#[test]
fn the_file_ends_with_the_counters_of_the_summary() {
    let scene = Scene::new();
    let file = scene.file("counted.pcapng");
    // UDP only: ldh [12]; jeq 0x800; ldb [23]; jeq 17.
    let filter = scene.file("filter");
    let udp_only = "6\n40 0 0 12\n21 0 3 2048\n48 0 0 23\n21 0 1 17\n6 0 0 262144\n6 0 0 0\n";
    std::fs::write(&filter, udp_only).expect("a filter");
    let running = start(&scene.right, &["-w", &file, "-c", "5", "--bpf", &filter]);
    scene.send(&frames(7, 60));
    scene.send(&[(); 5].map(|()| udp(b"wanted")));
    let ended = running.finish();
    ended.exit(0);
    let summary = ended.summary();
    summary.conserves(12);
    assert_eq!(
        (summary.number("delivered"), summary.number("filtered")),
        (5, 7)
    );
    let options = options(&file);
    for wanted in [
        "Number of Received Packets = 12",
        "Number of Dropped Packets = 0",
        "Number of Accepted Packets = 5",
        "Number of Packets Dropped by OS = 0",
        "Number of Packets Delivered to the User = 5",
    ] {
        assert!(
            options.iter().any(|option| option == wanted),
            "{wanted} in {options:#?}"
        );
    }
}
