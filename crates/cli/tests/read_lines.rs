//! What `tapline read` prints, beside tshark and capinfos.

use crate::read_support::{
    capinfos, capture, command, corpus, feed, json, made, name, objects, pcap, read, read_from,
    read_well, text, tool, tshark,
};

#[test]
fn every_file_has_as_many_lines_as_capinfos_counts_packets() {
    let files = corpus();
    let expected = capinfos(&files);
    assert!(expected.len() > 300);
    for (path, row) in &expected {
        let lines = read_well(["-q", name(path)]);
        assert_eq!(
            lines.lines().count().to_string(),
            row["Number of packets"],
            "{path:?}"
        );
        let lines = read_well(["-q", "--json", name(path)]);
        assert_eq!(
            (lines.lines().count() - 1).to_string(),
            row["Number of packets"],
            "{path:?}"
        );
        let is_plain = |c: char| c == '\n' || !c.is_control();
        assert!(lines.chars().all(is_plain), "{path:?}");
    }
}

#[test]
fn files_that_no_other_program_reads_are_read_or_refused_with_a_place() {
    let files = corpus();
    let known = capinfos(&files);
    for path in files.iter().filter(|path| !known.contains_key(*path)) {
        let output = read(["-q", name(path)]);
        if !output.status.success() {
            let line = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{path:?}");
            assert!(
                line.contains(name(path)) && line.lines().count() == 1,
                "{line}"
            );
        }
    }
}

#[test]
fn packets_in_json_are_tsharks() {
    for path in [
        capture("icmpv6.pcap"),
        capture("OSPFv2_Capture_FINAL.pcapng"),
    ] {
        let objects = json(&[name(&path)]);
        let (summary, packets) = objects.split_last().expect("a summary");
        let rows = tshark(&path, &["frame.time_epoch", "frame.cap_len", "frame.len"]);
        let ours = packets.iter().map(|packet| {
            let ns = packet["time_ns"].as_u64().expect("time");
            let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            format!("{time}\t{}\t{}", packet["bytes"], packet["original_bytes"])
        });
        assert_eq!(ours.collect::<Vec<_>>(), rows, "{path:?}");
        assert_eq!(summary["event"], "summary");
        for key in ["received", "delivered"] {
            assert_eq!(summary[key], rows.len(), "{path:?} {key}");
        }
        assert_eq!(summary["inputs"][0]["file"], name(&path));
    }
}

#[test]
fn standard_input_and_compressed_files_give_the_same_lines() {
    let path = capture("dns_tcp_8053.pcap");
    let expected = read_well(["-q", name(&path)]);
    assert!(expected.lines().count() > 3);
    let plain = std::fs::read(&path).expect("the file");
    for bytes in [
        plain,
        tool("gzip", &["-c", name(&path)]),
        tool("zstd", &["-c", name(&path)]),
    ] {
        let output = read_from(&bytes, &["-q", "-"]);
        assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        std::io::Write::write_all(&mut file, &bytes).expect("written");
        assert_eq!(read_well(["-q", name(file.path())]), expected);
        let stdin = std::fs::File::open(file.path()).expect("the file");
        let output = command(["-q", "-"])
            .stdin(stdin)
            .output()
            .expect("tapline runs");
        assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    }
}

#[test]
fn the_count_ends_and_times_select() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let second = 1_000_000_000;
    let start = 1_795_249_800 * second; // 2026-11-21 08:30:00 UTC
    let times: Vec<_> = (0..10).map(|number| start + number * second / 2).collect();
    std::fs::write(file.path(), pcap(&times)).expect("written");
    let path = name(file.path());
    let selected = |args: &[&str]| {
        let objects = json(&[&[path], args].concat());
        let (summary, packets) = objects.split_last().expect("a summary");
        assert_eq!(summary["delivered"], packets.len());
        let sum = summary["delivered"]
            .as_u64()
            .zip(summary["filtered"].as_u64());
        assert_eq!(
            summary["received"].as_u64(),
            sum.map(|(passed, not)| passed + not)
        );
        let time = |packet: &serde_json::Value| packet["time_ns"].as_u64().expect("time");
        packets.iter().map(time).collect::<Vec<_>>()
    };
    assert_eq!(selected(&[]), times);
    assert_eq!(selected(&["-c", "3"]), times[..3]);
    assert_eq!(selected(&["--from", "@1795249801"]), times[2..]);
    assert_eq!(selected(&["--to", "2026-11-21T08:30:01Z"]), times[..2]);
    let between = [
        "--from",
        "2026-11-21 08:30:00.500000001",
        "--to",
        "2026-11-21T09:30:02.000000001+01:00",
    ];
    assert_eq!(selected(&between), times[2..5]);
    assert_eq!(selected(&["--from", "@1795249801", "-c", "2"]), times[2..4]);
    assert_eq!(
        read([path, "--from", "@2", "--to", "@1"]).status.code(),
        Some(2)
    );
    assert_eq!(read([path, "--from", "yesterday"]).status.code(), Some(2));
}

#[test]
fn a_filter_program_passes_what_tcpdump_passes() {
    for (capture_name, expression) in [
        ("icmpv6.pcap", "icmp6"),
        ("OSPFv2_Capture_FINAL.pcapng", "src host 192.168.121.5"),
        ("dns_tcp_8053.pcap", "greater 70"),
        ("of10_s4810.pcap", "tcp[tcpflags] & tcp-push != 0"),
    ] {
        let path = capture(capture_name);
        let program = tool("tcpdump", &["-ddd", "-r", name(&path), expression]);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), program).expect("written");
        let ours = read_well(["-q", "--bpf", name(file.path()), name(&path)]);
        let theirs = text(&tool("tcpdump", &["-nn", "-r", name(&path), expression]));
        let begins = |line: &&str| !line.starts_with([' ', '\t']);
        assert_eq!(
            ours.lines().count(),
            theirs.lines().filter(begins).count(),
            "{expression}"
        );
        assert!(!ours.is_empty(), "{expression}");
    }
}

#[test]
fn a_filter_program_is_not_run_on_two_link_types() {
    let program = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(program.path(), "1\n6 0 0 262144\n").expect("written");
    let (program, path) = (name(program.path()), made("little.pcapng"));
    let output = read(["--bpf", program, name(&path)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("link type"),
        "{}",
        text(&output.stderr)
    );
    let lines = read_well(["-q", "--bpf", program, "-i", "eth0", name(&path)]);
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn interfaces_are_selected_by_name() {
    let path = made("little.pcapng");
    let rows = tshark(&path, &["frame.interface_name"]);
    let expected = rows.iter().filter(|row| *row == "eth0").count();
    let lines = read_well(["-q", "-i", "eth0", name(&path)]);
    assert_eq!(lines.lines().count(), expected);
    let output = read(["-i", "eth7", name(&path)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no interface is called eth7"));
}

#[test]
fn many_files_need_few_descriptors() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<_> = (0..200_u64)
        .map(|number| {
            let path = folder.path().join(format!("{number:03}.pcap"));
            std::fs::write(&path, pcap(&[number])).expect("written");
            name(&path).to_owned()
        })
        .collect();
    let mut command = lab::tool::command("prlimit");
    command
        .arg("--nofile=32")
        .arg(env!("CARGO_BIN_EXE_tapline"));
    command.args(["read", "-q", "--json"]).args(&files);
    let output = feed(command, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(objects(&text(&output.stdout)).len(), 201);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let path = capture("icmpv6.pcap");
    let line = |args: &[&str], exit| {
        let output = read(args);
        assert_eq!(output.status.code(), Some(exit), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        text(&output.stderr)
    };
    assert_eq!(
        line(&["/nonexistent"], 1),
        "tapline: cannot open /nonexistent: No such file or directory\n"
    );
    assert_eq!(
        line(&[name(&path), "/nonexistent"], 1),
        "tapline: cannot open /nonexistent: No such file or directory\n"
    );
    let second = line(&[name(&path), "nonexistent.pcap"], 1);
    let begin =
        "tapline: cannot open nonexistent.pcap: no such file, and it begins no filter: column 1";
    assert!(second.starts_with(begin), "{second}");
    assert!(line(&["/dev/null"], 1).contains("not a capture file: the input is empty"));
    assert!(line(&["/etc/passwd"], 1).contains("not a capture file"));
    assert!(line(&["/etc"], 1).contains("Is a directory"));
    assert!(line(&["-", "-"], 2).contains("only once"));
    assert!(line(&["--json", "-w", "-", name(&path)], 2).contains("standard output"));
    assert!(line(&["--bpf", "/nonexistent", name(&path)], 1).contains("cannot read filter file"));
}
