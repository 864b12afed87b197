//! Every kind of file that `tapline capture` writes, read by tshark, editcap, capinfos and tcpdump and compared with the
//! packets sent.

use std::fs;
use std::process::Stdio;

use lab::tool::command;
use lab::wait;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::support::files::{assert_options, bytes, column, count, lengths, records, tshark};
use crate::support::frames::{frames, number, trunk, udp};
use crate::support::run::{spawn_into, spawn_with_input};
use crate::support::{Scene, ip, output, tool};

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
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
    let limit = sent.len();
    for (name, flags, unit_ns) in [
        ("ng", "", 1),
        ("other.pcapng", "--format pcapng", 1),
        ("nano.pcap", "", 1),
        ("nano", "--format pcap-ns", 1),
        ("micro.pcap", "--format pcap", 1000),
        ("packed.pcapng.zst", "--compress zstd", 1),
        ("named.pcap.zst", "", 1),
        ("packed.pcap.zst", "--compress zstd:9", 1),
        ("v2.pcapng", "--backend packet-v2", 1),
        ("now.pcapng", "--delivery immediate", 1),
    ] {
        let running = scene.capture(&format!("-w {name} -c {limit} {flags}"));
        let before = now_ns();
        scene.send(&sent);
        let summary = running.done();
        let after = now_ns();
        let file = scene.file(name);
        let size = fs::metadata(&file).expect("the file").len();
        summary.conserves(limit as u64);
        summary.has(&json!({"written": limit, "files": [name], "bytes_written": size}));

        let plain = match file.strip_suffix(".zst") {
            Some(plain) => {
                tool("zstd", &format!("-dqf {file}"));
                plain.to_owned()
            }
            None => file,
        };
        assert_eq!(count(&plain), limit as u64, "{name}");
        assert_eq!(bytes(&plain), sent, "{name}");
        let records = records(&plain);
        let read = records.iter().map(|one| (&one.bytes, one.original_len));
        let expected = sent.iter().map(|frame| (frame, frame.len()));
        assert!(read.eq(expected), "{name}: {records:?}");
        let times: Vec<u64> = records.iter().map(|one| one.time_ns).collect();
        assert_times(&times, before, after, unit_ns);
    }
}

#[test]
fn vlan_tags_are_where_they_were_on_the_wire() {
    let scene = Scene::new();
    let sent = trunk();
    let limit = sent.len();
    let right = scene.capture(&format!("-w in -c {limit}"));
    let (seen_in, seen_out) = (scene.file("in"), scene.file("out"));
    let mut left = scene.left.command(crate::support::PROGRAM);
    left.args([
        "capture",
        "-i",
        "left0",
        "--json",
        "-w",
        &seen_out,
        "-c",
        &limit.to_string(),
    ]);
    let mut left = crate::support::run::spawn(left);
    left.ready();
    scene.send(&sent);
    right.done();
    left.done();
    let fields = [
        "ieee8021ad.id",
        "vlan.id",
        "frame.packet_flags_direction",
        "frame.packet_flags_reception_type",
    ];
    // Inbound is 1, outbound is 2.
    for (file, direction) in [(&seen_in, "0x00000001"), (&seen_out, "0x00000002")] {
        let rows = tshark(file, &fields);
        let tags: Vec<String> = rows.iter().map(|row| row[..2].join("/")).collect();
        assert_eq!(
            tags[7..13],
            ["/7", "/4094", "/0", "30/40", "30/", "/99"],
            "{file}"
        );
        assert!(tags[..7].iter().chain(&tags[13..]).all(|tag| tag == "/"));
        assert!(rows.iter().all(|row| row[2] == direction), "{rows:?}");
        assert_eq!(bytes(file), sent);
    }
    // How it was addressed is known of what comes in: unicast 1, multicast 2, broadcast 3, promiscuous 4.
    let reception: Vec<String> = column(&seen_in, fields[3]);
    assert_eq!(
        (&*reception[0], &reception[13..16]),
        ("1", &["3", "2", "4"].map(str::to_owned)[..])
    );
}

#[test]
fn a_pipe_carries_a_whole_file() {
    let scene = Scene::new();
    for flags in ["", "--format pcap", "--format pcap-ns"] {
        let mut reader = command("tshark");
        reader.args(["-n", "-l", "-T", "fields", "-e", "frame.len", "-r", "-"]);
        let (read, write) = std::io::pipe().expect("a pipe");
        reader
            .stdin(read)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let reader = reader.spawn().expect("tshark starts");

        let mut writer = scene.command(&format!("capture -i right0 -w - -c 30 {flags}"));
        writer.stdout(write);
        let mut running = spawn_into(writer);
        running.ready_text();
        scene.send(&frames(30, 333));
        let ended = running.finish();
        ended.exit(0);
        ended.assert_mentions("30 packets received = 30 delivered");

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
    let mut writer = scene.command("capture -i right0 -w -");
    writer.stdout(write);
    let mut running = spawn_into(writer);
    let mut reader = spawn_with_input(reader);
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
fn the_file_describes_interface_machine_and_counters() {
    let scene = Scene::new();
    // UDP only: ldh [12]; jeq 0x800; ldb [23]; jeq 17.
    scene.write(
        "filter",
        "6\n40 0 0 12\n21 0 3 2048\n48 0 0 23\n21 0 1 17\n6 0 0 96\n6 0 0 0\n",
    );
    ip(&scene.right, "link set right0 alias 'to the left'");
    let running = scene.capture("-w described.pcapng -c 5 --bpf filter -s 96");
    scene.send(&frames(7, 60));
    scene.send(&[(); 5].map(|()| udp(&[7; 158])));
    let summary = running.done();
    summary.conserves(12);
    summary.has(&json!({"delivered": 5, "filtered": 7}));
    let file = scene.file("described.pcapng");
    assert_eq!(lengths(&file), [[96, 200]; 5]);

    let ethtool = |line: &str, key: &str| {
        let text = output(&scene.right, "ethtool", line);
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key));
        value.unwrap_or_else(|| panic!("{key}: {text}")).to_owned()
    };
    let wanted = [
        "Interface Name = right0".to_owned(),
        "Interface Description = to the left".to_owned(),
        "MAC Address = 02:00:00:00:01:02".to_owned(),
        format!(
            "Speed = {}",
            ethtool("right0", "Speed: ").replace("Mb/s", "000000")
        ),
        format!("OS = {}", output(&scene.right, "/bin/uname", "-srm").trim()),
        format!("Hardware = {}", ethtool("-i right0", "driver: ")),
        "Filter = classic BPF, filter".to_owned(),
        "Timestamp Resolution = 10^-9 (nanoseconds)".to_owned(),
        "Number of Received Packets = 12".to_owned(),
        "Number of Dropped Packets = 0".to_owned(),
        "Number of Accepted Packets = 5".to_owned(),
        "Number of Packets Dropped by OS = 0".to_owned(),
        "Number of Packets Delivered to the User = 5".to_owned(),
    ];
    assert_options(&file, &wanted);
}

#[test]
fn rotation_by_packets_loses_none() {
    for (pattern, flags) in [("row.pcapng", ""), ("row.pcap", "--format pcap")] {
        let scene = Scene::new();
        let running = scene.capture(&format!("-w {pattern} -c 25 --rotate-packets 10 {flags}"));
        scene.send(&frames(25, 100));
        let summary = running.done();
        summary.conserves(25);
        let files = scene.listed();
        assert_eq!(summary.files(), files);
        let counts: Vec<u64> = files.iter().map(|file| count(&scene.file(file))).collect();
        assert_eq!(counts, [10, 10, 5]);
        let all: Vec<_> = files
            .iter()
            .flat_map(|file| bytes(&scene.file(file)))
            .collect();
        assert_eq!(all, frames(25, 100));
    }
}

#[test]
fn rotation_keeps_the_last_files_and_their_size() {
    let scene = Scene::new();
    let running = scene.capture("-w row.pcapng -c 100 --rotate-size 8k --keep 3");
    scene.send(&frames(100, 1000));
    let summary = running.done();
    let files = summary.files();
    assert_eq!((files.len(), &files), (3, &scene.listed()));
    let mut numbers = Vec::new();
    for file in files.iter().map(|file| scene.file(file)) {
        assert!(fs::metadata(&file).expect("a file").len() <= 8192);
        numbers.extend(bytes(&file).iter().map(|frame| number(frame)));
    }
    // The last ones in a row; seven frames of this size fit into 8 KiB.
    assert_eq!(numbers, (numbers[0]..100).collect::<Vec<_>>());
    assert!((14..=21).contains(&numbers.len()), "{numbers:?}");
    summary.has(&json!({"written": 100, "delivered": 100}));
}

#[test]
fn rotation_by_time_follows_the_clock() {
    let scene = Scene::new();
    // The interval of the counters is a clock for the rotation, too, which packets may come after.
    let running = scene.capture("-w row.pcapng -c 40 --rotate-interval 100ms --stats-interval 1h");
    let interval = || now_ns() / 100_000_000;
    for _ in 0..5 {
        let before = interval();
        wait::until("the next interval begins", || interval() > before);
        scene.generate(8, None);
    }
    let files = running.done().files();
    assert_eq!(files, scene.listed());
    let mut intervals = Vec::new();
    let mut total = 0;
    for file in files.iter().map(|file| scene.file(file)) {
        let records = records(&file);
        total += records.len();
        let parts = records.iter().map(|record| record.time_ns / 100_000_000);
        let mut parts: Vec<u64> = parts.collect();
        parts.dedup();
        assert!(parts.len() <= 1, "{records:?}");
        intervals.extend(parts);
    }
    assert_eq!(total, 40);
    assert!(intervals.len() >= 5, "{intervals:?}");
    assert!(intervals.is_sorted_by(|a, b| a < b), "{intervals:?}");
}

/// A file of a rotation: its packets, its size, and the interval that its packets are in.
struct Part {
    packets: usize,
    size: u64,
    interval: u64,
}

/// Packets in a burst, large packets and slow packets: each limit ends files, and no file exceeds another limit.
#[test]
fn all_limits_of_rotation_work_together() {
    const PACKETS: usize = 30;
    const SIZE: u64 = 16 << 10;
    const INTERVAL_NS: u64 = 1_000_000_000;
    const SENT: [u32; 3] = [300, 60, 50];
    let flags = "--rotate-packets 30 --rotate-size 16k --rotate-interval 1s";
    let [burst, large, slow] = SENT;
    let all = burst + large + slow;
    for keep in ["", "--keep 3"] {
        let scene = Scene::new();
        // The interval of the counters would be a clock for the rotation, too, which packets may come after.
        let line = format!("-w row.pcapng -c {all} {flags} {keep} --stats-interval 1h");
        let running = scene.capture(&line);
        scene.send(&frames(burst, 100));
        scene.send(&frames(large, 1000));
        // A frame every 50 ms: fewer in an interval than the limit of packets.
        scene.generate(slow.into(), Some(20));
        let summary = running.done();
        summary.conserves(all.into());
        let files = summary.files();
        assert_eq!(files, scene.listed());
        let part = |file: &String| {
            let file = scene.file(file);
            let records = records(&file);
            let intervals = records.iter().map(|record| record.time_ns / INTERVAL_NS);
            let mut intervals: Vec<u64> = intervals.collect();
            intervals.dedup();
            assert!(intervals.len() < 2, "{file}: {intervals:?}");
            // An interval before the first packet has a file, too.
            Some(Part {
                interval: *intervals.first()?,
                packets: records.len(),
                size: fs::metadata(&file).expect("a file").len(),
            })
        };
        let parts: Vec<_> = files.iter().filter_map(part).collect();
        assert!(
            parts
                .iter()
                .all(|part| part.packets <= PACKETS && part.size <= SIZE)
        );
        if !keep.is_empty() {
            assert_eq!(parts.len(), 3);
            continue;
        }
        let total: usize = parts.iter().map(|part| part.packets).sum();
        assert_eq!(total, all as usize);
        let mut ended = [0; 3];
        for pair in parts.windows(2) {
            let [part, next] = pair else { continue };
            if part.packets == PACKETS {
                ended[0] += 1;
            } else if next.interval > part.interval {
                ended[1] += 1;
            } else {
                // The next packet, of 1000 bytes, did not fit. Room for statistics is kept free.
                assert!(part.size + 1500 > SIZE, "{}", part.size);
                ended[2] += 1;
            }
        }
        assert!(ended.iter().all(|&count| count > 0), "{ended:?}");
    }
}
