//! What `tapline read` prints, beside tshark and capinfos.

use serde_json::Value;

use crate::support::files::{
    KNOWN, capture, column, corpus, count_by_tcpdump, known_corpus, made, pcap, tshark,
};
use crate::support::run::{command, events, printed, run, run_with, spawn};
use crate::support::{PROGRAM, assert_refused, number, text, tool, tool_bytes};

/// All files at once; `--summary` is compared with capinfos file by file.
#[test]
fn every_file_has_as_many_lines_as_capinfos_counts_packets() {
    let files = known_corpus();
    assert!(files.len() > 300);
    let counts = files
        .iter()
        .map(|file| KNOWN[file]["Number of packets"].parse::<usize>());
    let expected = counts.sum::<Result<usize, _>>().expect("numbers");
    let files = files.join(" ");
    assert_eq!(printed(&format!("read -q {files}")).len(), expected);
    let lines = printed(&format!("read -q --json {files}"));
    assert_eq!(lines.len() - 1, expected);
    for line in lines {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn files_that_no_other_program_reads_are_read_or_refused_with_a_place() {
    for file in corpus().iter().filter(|file| !KNOWN.contains_key(*file)) {
        let ended = run(&format!("read -q {file}"));
        if !ended.status.success() {
            assert!(
                ended.exit(1).contains(&**file) && ended.stderr.len() == 1,
                "{ended:?}"
            );
        }
    }
}

#[test]
fn packets_in_json_are_tsharks() {
    for file in [
        capture("icmpv6.pcap"),
        capture("OSPFv2_Capture_FINAL.pcapng"),
    ] {
        let objects = events(&format!("read {file}"));
        let (summary, packets) = objects.split_last().expect("a summary");
        let rows = tshark(&file, &["frame.time_epoch", "frame.cap_len", "frame.len"]);
        let ours = packets.iter().map(|packet| {
            let ns = number(packet, "time_ns");
            let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            vec![
                time,
                packet["bytes"].to_string(),
                packet["original_bytes"].to_string(),
            ]
        });
        assert_eq!(ours.collect::<Vec<_>>(), rows, "{file}");
        assert_eq!(summary["event"], "summary");
        let counts = ["received", "delivered"].map(|key| number(summary, key) as usize);
        assert_eq!(counts, [rows.len(); 2], "{file}");
        assert_eq!(summary["inputs"][0]["file"], *file);
    }
}

#[test]
fn standard_input_and_compressed_files_give_the_same_lines() {
    let path = capture("dns_tcp_8053.pcap");
    let expected = printed(&format!("read -q {path}"));
    assert!(expected.len() > 3);
    let packed = ["gzip", "zstd"].map(|name| tool_bytes(name, &format!("-c {path}")));
    let plain = std::fs::read(&path).expect("the file");
    for bytes in [&plain, &packed[0], &packed[1]] {
        assert_eq!(run_with(bytes, "read -q -").stdout, expected);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        assert_eq!(printed(&format!("read -q {}", text(file.path()))), expected);
        let mut command = command("read -q -");
        let output = command.stdin(file.reopen().expect("the file")).output();
        let output = output.expect("tapline runs");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn the_count_ends_and_times_select() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let second = 1_000_000_000;
    let start = 1_795_249_800 * second; // 2026-11-21 08:30:00 UTC
    let times: Vec<_> = (0..10).map(|number| start + number * second / 2).collect();
    std::fs::write(file.path(), pcap(&times)).expect("written");
    let path = text(file.path());
    for (flags, selected) in [
        ("", 0..10),
        ("-c 3", 0..3),
        ("--from @1795249801", 2..10),
        ("--to 2026-11-21T08:30:01Z", 0..2),
        (
            "--from '2026-11-21 08:30:00.500000001' --to 2026-11-21T09:30:02.000000001+01:00",
            2..5,
        ),
        ("--from @1795249801 -c 2", 2..4),
    ] {
        let objects = events(&format!("read {path} {flags}"));
        let (summary, packets) = objects.split_last().expect("a summary");
        let found: Vec<_> = packets
            .iter()
            .map(|packet| number(packet, "time_ns"))
            .collect();
        assert_eq!(found, times[selected], "{flags}");
        assert_eq!(summary["delivered"], packets.len());
        let sum = number(summary, "delivered") + number(summary, "filtered");
        assert_eq!(number(summary, "received"), sum, "{flags}");
    }
    for wrong in ["--from @2 --to @1", "--from yesterday"] {
        assert_eq!(
            run(&format!("read {path} {wrong}")).status.code(),
            Some(2),
            "{wrong}"
        );
    }
}

#[test]
fn a_filter_program_passes_what_tcpdump_passes() {
    for (name, expression) in [
        ("icmpv6.pcap", "icmp6"),
        ("OSPFv2_Capture_FINAL.pcapng", "src host 192.168.121.5"),
        ("dns_tcp_8053.pcap", "greater 70"),
        ("of10_s4810.pcap", "tcp[tcpflags] & tcp-push != 0"),
    ] {
        let path = capture(name);
        let program = tempfile::NamedTempFile::new().expect("a file");
        let listing = tool("tcpdump", &format!("-ddd -r {path} '{expression}'"));
        std::fs::write(program.path(), listing).expect("written");
        let ours = printed(&format!("read -q --bpf {} {path}", text(program.path()))).len() as u64;
        assert_eq!(ours, count_by_tcpdump(&path, expression), "{expression}");
        assert!(ours > 0, "{expression}");
    }
}

/// And a program is not run on two link types.
#[test]
fn interfaces_are_selected_by_name() {
    let path = made("little.pcapng");
    let rows: Vec<String> = column(&path, "frame.interface_name");
    let expected = rows.iter().filter(|row| *row == "eth0").count();
    assert_eq!(printed(&format!("read -q -i eth0 {path}")).len(), expected);
    let program = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(program.path(), "1\n6 0 0 262144\n").expect("written");
    let program = text(program.path());
    let lines = printed(&format!("read -q --bpf {program} -i eth0 {path}"));
    assert_eq!(lines.len(), expected);
    let missing = format!("read -i eth7 {path}");
    let ended = run(&missing);
    assert!(
        ended.exit(1).contains("no interface is called eth7"),
        "{ended:?}"
    );
    let ended = run(&format!("read --bpf {program} {path}"));
    assert!(ended.exit(1).contains("link type"), "{ended:?}");
}

#[test]
fn many_files_need_few_descriptors() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = (0..200_u64).map(|number| {
        let path = folder.path().join(format!("{number:03}.pcap"));
        std::fs::write(&path, pcap(&[number])).expect("written");
        path
    });
    let mut command = lab::tool::command("prlimit");
    command
        .args(["--nofile=32", PROGRAM, "read", "-q", "--json"])
        .args(files);
    let ended = spawn(command).finish();
    ended.exit(0);
    let events: Vec<Value> = ended.events();
    assert_eq!(events.len(), 201);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let path = capture("icmpv6.pcap");
    assert_refused(
        |line| run(&format!("read {}", line.replace("FILE", &path))),
        &[
            (
                "/nonexistent",
                1,
                "tapline: cannot open /nonexistent: No such file or directory",
            ),
            (
                "FILE /nonexistent",
                1,
                "tapline: cannot open /nonexistent: No such file or directory",
            ),
            (
                "FILE nonexistent.pcap",
                1,
                "cannot open nonexistent.pcap: no such file, and not a valid filter: column 1",
            ),
            ("/dev/null", 1, "not a capture file: the input is empty"),
            ("/etc/passwd", 1, "not a capture file"),
            ("/etc", 1, "Is a directory"),
            ("- -", 2, "only once"),
            ("--json -w - FILE", 2, "standard output"),
            ("--bpf /nonexistent FILE", 1, "cannot read filter file"),
        ],
    );
}
