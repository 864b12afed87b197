//! Files converted, merged, truncated and split, compared with tcpdump, tshark and mergecap.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tapline::file::write::{CaptureFileOptions, Format, Output};

use crate::support::files::{
    KNOWN, capinfos, capture, count, known_corpus, made, pcap, records, tcpdump, tcpdump_all,
    tshark,
};
use crate::support::run::{events, printed, run, run_with, spawn};
use crate::support::terminal::Terminal;
use crate::support::{PROGRAM, assert_has, assert_refused, text, tool};

/// A folder for files.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: impl AsRef<Path>) -> String {
        text(&self.0.path().join(name))
    }
}

#[track_caller]
fn convert(from: &str, to: &str, flags: &str) {
    assert!(printed(&format!("read -q -w {to} {from} {flags}")).is_empty());
}

/// As [`convert`], by the library: for many files.
#[track_caller]
fn convert_here(from: &str, to: &str, format: Format) {
    let mut options = CaptureFileOptions::new(Output::Path(to.into()), Vec::new());
    options.format = format;
    let mut read = tapline::read(from).open().expect("opened");
    read.write_to(options)
        .unwrap_or_else(|error| panic!("{from}: {error}: {error:?}"));
    let _ = read.finish().expect("a summary");
}

/// The first file in the summary.
#[track_caller]
fn told(file: &str) -> Value {
    events(&format!("read --summary {file}")).swap_remove(0)
}

#[test]
fn pcap_to_pcapng_to_pcap_changes_no_packet() {
    let folder = Folder::new();
    // What tshark refuses carries link types with bits that say more than the type; pcap ends in the year 2106.
    let is_meant = |file: &String| {
        KNOWN[file]["File encapsulation"] != "per-packet"
            && !file.ends_with("/time_2106_overflow.pcapng")
            && !file.ends_with("/timestamp_invalid_micro.pcap")
            && !exceeds_snaplen(file)
            && tcpdump(file).is_some()
    };
    let files: Vec<String> = known_corpus().into_iter().filter(is_meant).collect();
    let (mut copies, mut backs) = (Vec::new(), Vec::new());
    for (number, file) in files.iter().enumerate() {
        copies.push(folder.file(format!("{number}.pcapng")));
        backs.push(folder.file(format!("{number}.pcap")));
        convert_here(file, &copies[number], Format::Pcapng);
        convert_here(&copies[number], &backs[number], Format::PcapNanos);
    }
    let [expected, copied, back] = [files.as_slice(), &copies, &backs].map(tcpdump_all);
    for other in [copied, back] {
        let difference = expected
            .lines()
            .zip(other.lines())
            .find(|(one, other)| one != other);
        assert_eq!(difference, None);
        assert_eq!(expected.len(), other.len());
    }
    assert!(files.len() > 300, "{}", files.len());
}

/// Whether a packet is longer than the file says any is: libpcap cuts it in pcap and refuses it in pcapng.
fn exceeds_snaplen(file: &str) -> bool {
    let mut read = tapline::read(file).open().expect("opened");
    let mut longest = 0;
    while let Some(packet) = read.next().expect("read") {
        longest = longest.max(packet.captured_len());
    }
    let snaplen = read
        .interfaces()
        .first()
        .map_or(0, |interface| interface.snaplen);
    snaplen > 0 && longest > snaplen as usize
}

#[test]
fn a_copy_keeps_lengths_beyond_the_snaplen_for_capinfos_too() {
    let folder = Folder::new();
    let files = known_corpus();
    let copies: Vec<String> = (0..files.len())
        .map(|number| folder.file(format!("{number}.pcapng")))
        .collect();
    for (file, copy) in files.iter().zip(&copies) {
        convert_here(file, copy, Format::Pcapng);
    }
    let found = capinfos(&copies);
    // A packet without a time gets one where pcapng asks for it; files made by hand have such packets. And
    // capinfos takes microseconds that are more than a second otherwise.
    for (file, copy) in files.iter().zip(&copies).filter(|(file, _)| {
        !file.starts_with(&made("")) && !file.ends_with("/timestamp_invalid_micro.pcap")
    }) {
        for field in [
            "Number of packets",
            "Data size (bytes)",
            "Packet size limit max (inferred)",
            "Strict time order",
        ] {
            assert_eq!(found[copy][field], KNOWN[file][field], "{file} {field}");
        }
    }
}

/// What tshark reports about the packets and their options; the comments of statistics blocks and the
/// rest come from the other test of the same file.
const FIELDS: [&str; 8] = [
    "frame.time_epoch",
    "frame.interface_id",
    "frame.interface_name",
    "frame.cap_len",
    "frame.len",
    "frame.packet_flags",
    "frame.packet_id",
    "frame.protocols",
];

#[test]
fn interfaces_options_and_statistics_survive() {
    let folder = Folder::new();
    for name in [
        "little.pcapng",
        "big.pcapng",
        "sections.pcapng",
        "sections.pcapng.gz",
    ] {
        let source = made(name);
        let [copy, twice] = ["copy.pcapng", "twice.pcapng"].map(|name| folder.file(name));
        convert(&source, &copy, "");
        convert(&copy, &twice, "");
        let bytes = |file: &str| std::fs::read(file).expect("the file");
        assert_eq!(bytes(&copy), bytes(&twice), "{source}");
        let is_plain = !name.starts_with("sections");
        let kept = |file: &str| {
            let mut told = told(file);
            let object = told.as_object_mut().expect("an object");
            let mut left_out = "file byte_order size_bytes compression application".to_owned();
            if !is_plain {
                // In the second section a packet without a time gets the time 0.
                left_out += " first_ns duration_ns rate_pps rate_bps in_time_order";
            }
            object.retain(|key, _| left_out.split(' ').all(|out| out != key));
            for interface in object["interfaces"].as_array_mut().expect("a list") {
                // A copy counts nanoseconds and has the last statistics of each interface.
                let interface = interface.as_object_mut().expect("an object");
                interface.retain(|key, _| key != "ticks_per_second" && key != "statistics_blocks");
            }
            told
        };
        assert_eq!(kept(&copy), kept(&source), "{source}");
        if is_plain {
            // A packet without a time is one of a section's first interface; that stays as it is.
            assert_eq!(tshark(&copy, &FIELDS), tshark(&source, &FIELDS), "{source}");
        }
    }
}

#[test]
fn files_are_merged_as_mergecap_merges_them() {
    let folder = Folder::new();
    let second = 1_000_000_000;
    let files = (0..5_u64).map(|file| {
        let path = folder.file(format!("{file}.pcap"));
        let times = (0..50).map(|n| second + (n * (file + 3) * 7919) + file);
        std::fs::write(&path, pcap(&times.collect::<Vec<_>>())).expect("written");
        path
    });
    let files = files.collect::<Vec<_>>().join(" ");
    let [ours, theirs] = ["ours.pcapng", "theirs.pcapng"].map(|name| folder.file(name));
    // An interface for each file, also where two are the same.
    tool("mergecap", &format!("-I none -w {theirs} {files}"));
    printed(&format!("read -w {ours} {files}"));
    let fields = [
        "frame.time_epoch",
        "frame.interface_id",
        "eth.type",
        "data.data",
    ];
    let [ours, theirs] = [ours, theirs].map(|file| tshark(&file, &fields));
    assert_eq!([ours.len(), theirs.len()], [250; 2]);
    assert_eq!(
        ours.iter()
            .zip(&theirs)
            .find(|(ours, theirs)| ours != theirs),
        None
    );
}

#[test]
fn packets_are_cut_and_keep_their_length() {
    let folder = Folder::new();
    let source = capture("icmpv6.pcap");
    let mut expected = records(&source);
    for record in &mut expected {
        record.bytes.truncate(60);
    }
    for suffix in ["pcap", "pcapng"] {
        let cut = folder.file(format!("cut.{suffix}"));
        convert(&source, &cut, "-s 60");
        assert_eq!(records(&cut), expected);
        assert_eq!(told(&cut)["snaplen"], 60);
    }
}

#[test]
fn formats_and_compression_are_as_asked_for() {
    let folder = Folder::new();
    let source = capture("icmpv6.pcap");
    let expected = tcpdump(&source);
    for (file, flags, format, compression) in [
        ("a.pcapng", "", "pcapng", None),
        ("a.pcap", "", "pcap-ns", None),
        ("a", "--format pcap", "pcap", None),
        ("b.pcapng", "--format pcap-ns", "pcap-ns", None),
        ("c.pcapng.zst", "--compress zstd", "pcapng", Some("zstd")),
        ("c.pcap.zst", "--compress zstd:19", "pcap-ns", Some("zstd")),
    ] {
        let [path, plain] = [file, "plain.pcap"].map(|name| folder.file(name));
        convert(&source, &path, flags);
        assert_has(
            &told(&path),
            &json!({"format": format, "compression": compression}),
        );
        convert(&path, &plain, "");
        assert_eq!(tcpdump(&plain), expected, "{file}");
    }
    let copy = folder.file("stdout.pcapng");
    let mut command = crate::support::run::command(&format!("read -w - {source}"));
    let output = command.output().expect("it runs");
    std::fs::write(&copy, &output.stdout).expect("written");
    assert_eq!(tcpdump(&copy), expected);
    assert!(
        output
            .stderr
            .ends_with(b"bytes written to standard output\n")
    );
}

#[test]
fn rotation_parts_the_packets_and_names_files_by_their_time() {
    let folder = Folder::new();
    let second = 1_000_000_000;
    let start = 1_795_249_800 * second; // 2026-11-21 08:30:00 UTC
    let times: Vec<_> = (0..10).map(|number| start + number * second).collect();
    let [source, pattern] = ["source.pcap", "part.pcapng"].map(|name| folder.file(name));
    std::fs::write(&source, pcap(&times)).expect("written");
    let write = |flags: &str| {
        let summary = events(&format!("read -w {pattern} {source} {flags}"))
            .pop()
            .expect("a summary");
        let files: Vec<String> = serde_json::from_value(summary["files"].clone()).expect("names");
        let counts: Vec<_> = files.iter().map(|file| count(file)).collect();
        (summary, files, counts)
    };
    let (summary, files, counts) = write("--rotate-packets 4");
    assert_has(&summary, &json!({"written": 10, "delivered": 10}));
    assert_eq!(counts, [4, 4, 2]);
    assert!(
        files[0].ends_with("part_00001_20261121083000.pcapng"),
        "{files:?}"
    );
    assert!(
        files[1].ends_with("part_00002_20261121083004.pcapng"),
        "{files:?}"
    );
    let (_, kept, counts) = write("--rotate-interval 5s --keep 1");
    assert_eq!(counts, [5]);
    // Reading the parts again must not overwrite them.
    for flag in [
        "--rotate-packets 2",
        "--split 2",
        "--split 1s",
        "--split flow",
    ] {
        let again = format!("read -w {pattern} {flag} {}", kept[0]);
        assert_refused(run, &[(&again, 2, "would overwrite the input")]);
    }
    assert_eq!(count(&kept[0]), 5);
}

/// Names with more dots than that of the suffix, and of inputs that only begin as the output does.
#[test]
fn only_names_that_a_numbered_output_gets_are_refused() {
    let folder = Folder::new();
    for (output, input) in [
        ("a.b.pcapng", "a.b_00001_20261121083000.pcapng"),
        ("a.b.pcapng.zst", "a.b_00001_20261121083000.pcapng.zst"),
        ("a.b", "a_100000_20261121083000.b"),
        ("a.cap", "a.cap_00000_other"),
        ("a", "a_00001_tcp_10.0.0.1_80_10.0.0.2_1000"),
    ] {
        let [output, input] = [output, input].map(|name| folder.file(name));
        std::fs::write(&input, pcap(&[1, 2, 3])).expect("written");
        let line = format!("read -w {output} --split 2 {input}");
        assert_refused(run, &[(&line, 2, "would overwrite the input")]);
    }
    let output = folder.file("b.pcapng");
    for name in ["b_lan.pcap", "b_00001.pcap", "b_1_lan.pcap"] {
        let input = folder.file(name);
        std::fs::write(&input, pcap(&[1, 2, 3])).expect("written");
        convert(&input, &output, "--split 2");
        assert_eq!(count(&input), 3, "{name}");
    }
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = Folder::new();
    let [path, link] = ["a.pcap", "b.pcap"].map(|name| folder.file(name));
    let bytes = pcap(&[1, 2, 3]);
    std::fs::write(&path, &bytes).expect("written");
    std::fs::hard_link(&path, &link).expect("a link");
    for target in [&path, &link] {
        let line = format!("read -w {target} {path}");
        assert_refused(run, &[(&line, 2, "would overwrite the input")]);
        assert_eq!(std::fs::read(&path).expect("the file"), bytes);
    }
}

/// A limit of the size of files is like a full disk: an error, whole packets and an account, no signal that ends the program.
#[test]
fn a_limit_of_the_file_size_leaves_whole_packets() {
    let folder = Folder::new();
    let (source, target) = (folder.file("in.pcap"), folder.file("out.pcapng"));
    std::fs::write(&source, pcap(&[1, 2, 3, 4, 5])).expect("written");
    let mut command = lab::tool::command("prlimit");
    let arguments = [
        "--fsize=400",
        PROGRAM,
        "read",
        "--json",
        "-w",
        &target,
        &source,
    ];
    command.args(arguments);
    let ended = spawn(command).finish();
    assert!(ended.exit(1).ends_with("File too large"), "{ended:?}");
    let written = count(&target);
    assert!((1..5).contains(&written), "{written}");
    let account = json!({"received": 5, "written": written, "lost": {"writer": 5 - written}});
    assert_has(&ended.events()[0], &account);
}

#[test]
fn a_pcap_file_takes_one_link_type() {
    let folder = Folder::new();
    let (source, target) = (made("little.pcapng"), folder.file("a.pcap"));
    let said = "tapline: a pcap file of link type 1 cannot hold packets of link type 101 (use --format pcapng, or \
                choose interfaces with -i)";
    assert_refused(run, &[(&format!("read -q -w {target} {source}"), 1, said)]);
    convert(&source, &target, "-i eth0");
    assert_eq!(count(&target), 2);
}

#[test]
fn a_file_without_packets_is_made_of_one_without_packets() {
    let folder = Folder::new();
    let target = folder.file("a.pcap");
    for input in [pcap(&[]), pcap(&[1])] {
        run_with(&input, &format!("read -q -w {target} --to @0.000000001 -")).exit(0);
        assert_eq!(tcpdump(&target).as_deref(), Some(""));
    }
}

/// On a terminal a conversion shows its progress, and nothing of it stays.
#[test]
fn a_terminal_shows_how_far_a_conversion_is() {
    let folder = Folder::new();
    let from = capture("icmpv6.pcap");
    let size = std::fs::metadata(&from).expect("a file").len();
    for (line, shown) in [("", true), ("-q", false)] {
        let mut command = Command::new(PROGRAM);
        command.args([
            "read",
            "-w",
            &folder.file("out.pcapng"),
            &text(from.as_ref()),
        ]);
        command.args(line.split_whitespace());
        let (mut terminal, running) = Terminal::start_errors(command, 80, 24);
        let ended = running.finish();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        terminal.read_to_end();
        let total = format!("0 B of {size} B");
        assert_eq!(terminal.seen.contains(&total), shown, "{:?}", terminal.seen);
        assert!(!terminal.shown().contains(" of "), "{}", terminal.shown());
    }
}
