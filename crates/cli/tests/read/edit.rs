//! Copies with changes, beside those of editcap.

use std::path::Path;

use crate::support::blocks::{Line, lines};
use crate::support::files::{capture, count, known_corpus, pcap, tshark};
use crate::support::frames::udp;
use crate::support::run::{events, printed, run, spawn};
use crate::support::{PROGRAM, assert_refused, text, tool};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str) -> String {
        text(&self.0.path().join(name))
    }
}

/// The lines of our copy and of editcap's, with these flags.
#[track_caller]
fn both(file: &str, flags: &str, editcap: &[&str]) -> [Vec<Line>; 2] {
    let folder = Folder::new();
    let (ours, theirs) = (folder.file("ours.pcapng"), folder.file("theirs.pcapng"));
    printed(&format!("read -q -w {ours} {flags} {file}"));
    let output = lab::tool::command("editcap")
        .args(editcap)
        .args([file, &theirs])
        .output();
    assert!(output.expect("editcap runs").status.success(), "{file}");
    [&ours, &theirs].map(|file| lines(file))
}

/// Files of a few packets.
fn files() -> Vec<String> {
    let is_small = |file: &String| {
        Path::new(file)
            .extension()
            .is_some_and(|name| name == "pcap")
            && (2..200).contains(&count(file))
    };
    let files: Vec<String> = known_corpus()
        .into_iter()
        .filter(is_small)
        .take(30)
        .collect();
    assert_eq!(files.len(), 30);
    files
}

fn packets(lines: Vec<Line>) -> Vec<Line> {
    let is_packet = |line: &Line| line.what == "packet";
    lines.into_iter().filter(is_packet).collect()
}

#[test]
fn duplicates_are_those_of_editcap() {
    let mut left_out = 0;
    for file in files() {
        // editcap counts the packet itself.
        for (flags, editcap) in [
            ("--dedup", &["-d"][..]),
            ("--dedup=1", &["-D", "2"]),
            ("--dedup=30", &["-D", "31"]),
            ("--dedup=10s", &["-w", "10"]),
        ] {
            let [ours, theirs] = both(&file, flags, editcap).map(packets);
            left_out += count(&file) - ours.len() as u64;
            assert_eq!(ours, theirs, "{file} {flags}");
        }
    }
    assert!(left_out > 0, "{left_out}");
}

#[test]
fn times_are_shifted_as_by_editcap() {
    for file in files() {
        for (flags, by) in [("--shift 1h", "3600"), ("--shift=-1.5s", "-1.5")] {
            let [ours, mut theirs] = both(&file, flags, &["-t", by]).map(packets);
            // Times before 1970, which pcapng has not, wrap around in editcap's copies. Here they become 1970.
            for line in &mut theirs {
                if line.text.starts_with("time 1844674407") {
                    let (_, rest) = line.text.split_once(" of ").expect("a length");
                    line.text = format!("time 0 of {rest}");
                }
            }
            assert_eq!(ours, theirs, "{file}");
        }
    }
}

#[test]
fn edits_that_cannot_be_made_are_reported() {
    let folder = Folder::new();
    let (file, copy) = (folder.file("in.pcap"), folder.file("copy.pcapng"));
    // One second and two hours after 1970.
    let times = [1_000_000_000, 7_200_000_000_000];
    std::fs::write(&file, pcap(&times)).expect("written");
    let line = format!(
        "read -w {copy} --shift=-1h --packet-comment 2:kept --packet-comment 3:lost --packet-comment 3:lost {file}"
    );
    let report = events(&line);
    assert_eq!(report[0]["limited_times"], 1, "{report:?}");
    assert_eq!(report[0]["unused_comments"], 2, "{report:?}");
    let told = run(&line);
    told.assert_says(
        "1 packet got a time at the limit (1970 or 2554), because --shift goes beyond it",
    );
    told.assert_says("2 comments not written: --packet-comment names packets after the last one");
    let seen = tshark(&copy, &["frame.time_epoch", "frame.comment"]);
    let expected = [["0.000000000", ""], ["3600.000000000", "kept"]];
    assert_eq!(seen, expected.map(|row| row.map(str::to_owned).to_vec()));
    let long = "x".repeat(65_536);
    let of_file = format!("read -w {copy} --comment {long} {file}");
    let of_packet = format!("read -w {copy} --packet-comment 2:{long} {file}");
    let onto_stdout = format!("read -w - --split 1 {file}");
    let rotated = format!("read -w - --rotate-packets 1 {file}");
    assert_refused(
        run,
        &[
            (
                &of_file,
                2,
                "--comment: a comment of 65 536 bytes is too long (max 65 535 bytes): split it into several",
            ),
            (
                &of_packet,
                2,
                "--packet-comment 2: a comment of 65 536 bytes is too long",
            ),
            (
                &onto_stdout,
                2,
                "--split writes several files, and standard output is one (use -w FILE)",
            ),
            (
                &rotated,
                2,
                "--rotate-packets writes several files, and standard output is one (use -w FILE)",
            ),
        ],
    );
}

/// Duplicates are part of the account.
#[test]
fn the_account_of_a_copy_without_duplicates_adds_up() {
    let folder = Folder::new();
    let (file, copy) = (capture("802.1w_rapid_STP.pcap"), folder.file("copy.pcapng"));
    let ended = run(&format!("read -w {copy} --dedup=100 {file}"));
    let (all, kept) = (count(&file), count(&copy));
    assert!(kept < all, "{kept} of {all}");
    let left_out = all - kept;
    let duplicates = if left_out == 1 {
        "duplicate"
    } else {
        "duplicates"
    };
    ended.assert_says(&format!(
        "{all} packets read = {kept} delivered + 0 filtered + {left_out} {duplicates} + 0 lost"
    ));
}

#[test]
fn comments_are_those_of_editcap() {
    let file = capture("bgp-shutdown-communication.pcapng");
    let flags = "--comment one --packet-comment 1:two";
    let editcap = ["--capture-comment", "one", "-a", "1:two"];
    let [ours, theirs] = both(&file, flags, &editcap);
    let comments = |lines: Vec<Line>| {
        let is_commented = |line: &Line| ["section", "packet"].contains(&line.what);
        let comments = |line: Line| -> Vec<String> {
            let options = line.options.into_iter();
            options.filter(|option| option.starts_with("1 ")).collect()
        };
        let lines = lines.into_iter().filter(is_commented);
        lines.map(comments).collect::<Vec<_>>()
    };
    let [ours, theirs] = [ours, theirs].map(comments);
    assert_eq!(ours, theirs);
    // Two comments are two options, also of a section that had none.
    let without = capture("802.1w_rapid_STP.pcap");
    let editcap = ["--capture-comment", "one", "--capture-comment", "two"];
    let two = both(&without, "--comment one --comment two", &editcap).map(comments);
    assert_eq!(two[0], two[1]);
    assert_eq!(two[0][0], ["1 6f6e65", "1 74776f"]);
    assert!(ours[0].contains(&"1 6f6e65".to_owned()), "{ours:?}");
    assert!(ours[1].contains(&"1 74776f".to_owned()), "{ours:?}");
    let folder = Folder::new();
    let (commented, stripped) = (folder.file("one.pcapng"), folder.file("two.pcapng"));
    printed(&format!("read -q -w {commented} {flags} {file}"));
    printed(&format!(
        "read -q -w {stripped} --strip comments,names,secrets {commented}"
    ));
    assert!(comments(lines(&stripped)).iter().all(Vec::is_empty));
}

/// A pcapng section with this comment, and blocks of names and of secrets that have comments.
fn commented_section(comment: &str) -> Vec<u8> {
    let option = |code: u16, value: &[u8]| {
        let length = (value.len() as u16).to_ne_bytes();
        let mut bytes = [&code.to_ne_bytes()[..], &length, value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len() as u32).to_ne_bytes();
        [&kind.to_ne_bytes()[..], &length, body, &length].concat()
    };
    let end = [0; 4];
    let comment = option(1, comment.as_bytes());
    let header = [
        0x1a2b_3c4d_u32.to_ne_bytes(),
        [1, 0, 0, 0],
        [0xff; 4],
        [0xff; 4],
    ];
    let name = option(1, b"\xc0\x00\x02\x01host\0");
    let secrets = [*b"KLST", 4_u32.to_ne_bytes(), *b"CLIE"];
    [
        block(
            0x0a0d_0d0a,
            &[header.as_flattened(), &comment, &end].concat(),
        ),
        // A server of names, which stays.
        block(
            4,
            &[&name[..], &end, &comment, &option(2, b"ns"), &end].concat(),
        ),
        block(10, &[secrets.as_flattened(), &comment, &end].concat()),
    ]
    .concat()
}

#[test]
fn comments_of_all_blocks_are_stripped_and_those_of_merged_sections_kept() {
    let folder = Folder::new();
    let files = ["first", "second"].map(|comment| {
        let file = folder.file(&format!("{comment}.pcapng"));
        std::fs::write(&file, commented_section(comment)).expect("written");
        file
    });
    let options = |file: &str, what: &str| {
        let lines = lines(file).into_iter().filter(|line| line.what == what);
        lines.flat_map(|line| line.options).collect::<Vec<_>>()
    };
    let [copy, merged] = ["copy.pcapng", "merged.pcapng"].map(|name| folder.file(name));
    printed(&format!("read -q -w {copy} --strip comments {}", files[0]));
    let bytes = std::fs::read(&copy).expect("a copy");
    assert!(!bytes.windows(5).any(|window| window == b"first"));
    assert!(bytes.windows(4).any(|window| window == b"host"));
    assert!(bytes.windows(4).any(|window| window == b"CLIE"));
    // The server's name, and tshark reads the file to its end.
    assert!(
        bytes
            .windows(8)
            .any(|window| window == b"\x02\0\x02\0ns\0\0")
    );
    tool("tshark", &format!("-r {copy}"));

    printed(&format!("read -q -w {merged} {}", files.join(" ")));
    let comments = options(&merged, "section");
    // "first" and "second".
    assert_eq!(comments, ["1 6669727374", "1 7365636f6e64"]);
}

#[test]
fn files_are_split_as_by_editcap() {
    let folder = Folder::new();
    let file = folder.file("in.pcap");
    // With gaps of 400 ms packets are at limits: they begin a file, and end one of editcap's.
    let at_limits = Some([vec![5; 10], [&[6][..], &[5; 8], &[4]].concat()]);
    for (flag, editcap, gap_ms, different) in [
        ("7", ["-c", "7"], 400, None),
        ("2s", ["-i", "2"], 410, None),
        ("2s", ["-i", "2"], 400, at_limits),
    ] {
        let time = |number: u64| 1_700_000_000_300_000_000 + number * gap_ms * 1_000_000;
        std::fs::write(&file, pcap(&(0..50).map(time).collect::<Vec<_>>())).expect("written");
        let theirs = Folder::new();
        let name = theirs.file("part.pcapng");
        let output = lab::tool::command("editcap")
            .args(editcap)
            .args([&file, &name])
            .output();
        assert!(output.expect("editcap runs").status.success());
        let entries = std::fs::read_dir(theirs.0.path()).expect("files");
        let names = entries.map(|entry| text(&entry.expect("an entry").path()));
        let mut expected: Vec<String> = names.collect();
        expected.sort();
        let ours = folder.file(&format!("{flag}.pcapng"));
        let report = events(&format!("read -w {ours} --split {flag} {file}"));
        let files: Vec<String> =
            serde_json::from_value(report[0]["files"].clone()).expect("names of files");
        let counts = |files: &[String]| -> Vec<usize> {
            files
                .iter()
                .map(|file| packets(lines(file)).len())
                .collect()
        };
        let [ours, theirs] = [&files, &expected].map(|files| counts(files));
        let expected = different.unwrap_or_else(|| [theirs.clone(), theirs.clone()]);
        assert_eq!([ours, theirs], expected, "{flag}, gaps of {gap_ms} ms");
    }
}

/// A capture with many flows at once: more than files that may be open.
fn many_flows() -> Vec<u8> {
    let header: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1];
    let mut bytes = header.map(u32::to_le_bytes).as_flattened().to_vec();
    let mut number = 0_u32;
    // Each flow is seen again when many others were: in both directions, with a packet of no flow in between.
    for round in 0..3 {
        for flow in 0..700_u16 {
            let mut frame = udp(b"flow");
            let (from, to) = (20_000 + flow, 53);
            let ports = if round == 1 { [to, from] } else { [from, to] };
            frame[34..38].copy_from_slice(ports.map(u16::to_be_bytes).as_flattened());
            if round == 1 {
                let (source, destination) = frame[26..34].split_at_mut(4);
                source.swap_with_slice(destination);
            }
            let mut frames = vec![frame];
            if flow % 100 == 0 {
                let mut other = vec![0xff; 60];
                other[12..14].copy_from_slice(&[0x88, 0xb5]);
                frames.push(other);
            }
            for frame in frames {
                let length = frame.len() as u32;
                let record = [1_700_000_000, number, length, length].map(u32::to_le_bytes);
                number += 1;
                bytes.extend(record.as_flattened());
                bytes.extend(frame);
            }
        }
    }
    bytes
}

#[test]
fn each_flow_gets_a_file() {
    let folder = Folder::new();
    let (input, output) = (folder.file("in.pcap"), folder.file("flow.pcapng"));
    std::fs::write(&input, many_flows()).expect("written");
    let report = events(&format!("read -w {output} --split flow {input}"));
    let written = [
        &report[0]["received"],
        &report[0]["written"],
        &report[0]["lost"]["writer"],
    ];
    assert_eq!(written, [2121, 2121, 0]);
    let files: Vec<String> = serde_json::from_value(report[0]["files"].clone()).expect("names");
    assert_eq!(files.len(), 701);
    let [mut packets, mut sections] = [0; 2];
    for file in &files {
        let lines = lines(file);
        sections += lines.iter().filter(|line| line.what == "section").count();
        packets += lines.iter().filter(|line| line.what == "packet").count();
        let is_other = file.contains("_00000_other");
        assert_eq!(
            lines.iter().filter(|line| line.what == "packet").count(),
            if is_other { 21 } else { 3 }
        );
    }
    assert_eq!(packets, 2121);
    // Files were closed and opened again, each time with a section.
    assert!(sections > files.len(), "{sections}");
    // As tshark sees the flows.
    for file in files.iter().step_by(97).skip(1) {
        let streams = tshark(file, &["udp.srcport", "udp.dstport"]);
        let ports = |row: &Vec<String>| {
            let mut row = row.clone();
            row.sort();
            row
        };
        assert_eq!(streams.len(), 3, "{file}");
        assert!(
            streams.iter().all(|row| ports(row) == ports(&streams[0])),
            "{streams:?}"
        );
    }
}

/// The first flows get a file, as far as they may; the packets of all are accounted for.
#[test]
fn packets_of_flows_beyond_the_limit_are_together_and_counted() {
    let folder = Folder::new();
    let (input, output) = (folder.file("in.pcap"), folder.file("flow.pcapng"));
    std::fs::write(&input, many_flows()).expect("written");
    let line = format!("read -w {output} --split flow --split-files 7 {input}");
    let report = events(&line);
    let files: Vec<String> = serde_json::from_value(report[0]["files"].clone()).expect("names");
    // 3 packets of each of 700 flows, and 21 of none.
    assert_eq!(files.len(), 8);
    assert_eq!(report[0]["written"], 2121);
    assert_eq!(report[0]["overflow"], 3 * 693);
    let counts: Vec<u64> = files.iter().map(|file| count(file)).collect();
    assert_eq!(counts, [21 + 3 * 693, 3, 3, 3, 3, 3, 3, 3]);
    let told =
        "2 079 packets of flows without a file are in the one with the number 0 (--split-files 7)";
    run(&line).assert_says(told);
    let alone = format!("read -w {output} --split-files 7 {input}");
    let rotated = format!("{line} --rotate-size 1M");
    assert_refused(
        run,
        &[(&alone, 2, "--split"), (&rotated, 2, "--rotate-size")],
    );
}

/// Long headers, names, and packets that are each of another flow: without a limit every file repeats them all, and each open file
/// keeps them in memory. The memory suffices for about 25 copies, and 17 files have two each.
#[test]
fn what_each_file_repeats_is_bounded() {
    let folder = Folder::new();
    let (input, output) = (folder.file("in.pcapng"), folder.file("flow.pcapng"));
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length[..], &body, &length].concat()
    };
    let header = [
        &0x1a2b_3c4d_u32.to_le_bytes()[..],
        &[1, 0, 0, 0],
        &[0xff; 8],
    ]
    .concat();
    let mut file = block(0x0a0d_0d0a, &header);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 0, 0]));
    // Records of names: unknown ones are kept.
    let mut names = Vec::new();
    for _ in 0..256 {
        names.extend(
            [
                &[0x55, 0x55][..],
                &60_000_u16.to_le_bytes(),
                &vec![7; 60_000],
            ]
            .concat(),
        );
    }
    names.extend([0; 4]);
    file.extend(block(4, &names));
    let packets = 400_u32;
    for number in 0..packets {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1]);
        frame.extend((0x0a01_0000 + number).to_be_bytes());
        frame.extend([0, 7, 0, 9, 0, 8, 0, 0]);
        let length = (frame.len() as u32).to_le_bytes();
        file.extend(block(6, &[&[0; 12], &length[..], &length, &frame].concat()));
    }
    std::fs::write(&input, &file).expect("written");
    let mut command = lab::tool::command("prlimit");
    let arguments = ["read", "--json", "--split", "flow", "-w", &output, &input];
    command.args(["--data=400000000", PROGRAM]).args(arguments);
    let ended = spawn(command).finish();
    ended.exit(0);
    let report = ended.events();
    let number = |key: &str| report[0][key].as_u64().expect("a number");
    assert_eq!(number("written"), u64::from(packets));
    // 256 MiB, 16 times the packets, and one copy.
    let most = (256 << 20) + 17 * file.len() as u64;
    assert!(number("bytes_written") < most, "{report:?}");
    let files = report[0]["files"].as_array().expect("names").len() as u64;
    assert_eq!(files - 1 + number("overflow"), u64::from(packets));
    assert!(number("overflow") > 0, "{report:?}");
}

#[test]
fn flows_of_the_corpus_are_those_of_tshark() {
    let folder = Folder::new();
    for name in [
        "HSRP_failover.pcap",
        "dns-uri.pcap",
        "beep-oobr.pcap",
        "icmpv6.pcap",
    ] {
        let file = capture(name);
        let output = folder.file(&format!("{name}ng"));
        let report = events(&format!("read -w {output} --split flow {file}"));
        let files: Vec<String> = serde_json::from_value(report[0]["files"].clone()).expect("names");
        // Of each packet its protocol and ends.
        let fields = [
            "ip.proto",
            "ipv6.nxt",
            "ip.addr",
            "ipv6.addr",
            "tcp.port",
            "udp.port",
        ];
        let flows = |file: &str| -> Vec<Vec<String>> {
            let sorted = |cell: &String| {
                let mut ends: Vec<&str> = cell.split(',').collect();
                ends.sort_unstable();
                ends.join(",")
            };
            tshark(file, &fields)
                .iter()
                .map(|row| row.iter().map(sorted).collect())
                .collect()
        };
        let mut expected = flows(&file);
        expected.sort();
        // One after the other in a file: tshark takes long to start.
        let merged = folder.file("merged.pcapng");
        tool("mergecap", &format!("-a -w {merged} {}", files.join(" ")));
        let mut found = flows(&merged);
        let mut rest = &found[..];
        for file in &files {
            let (flows, after) = rest.split_at(count(file) as usize);
            assert!(
                flows.iter().all(|flow| *flow == flows[0]),
                "{file}: {flows:?}"
            );
            rest = after;
        }
        assert!(rest.is_empty(), "{rest:?}");
        found.sort();
        assert_eq!(found, expected, "{name}");
        let mut different = expected.clone();
        different.dedup();
        assert_eq!(files.len(), different.len(), "{name}");
    }
    let line = "--split flow needs the name of a pcapng file: each flow gets a file of its own";
    let file = capture("dns-uri.pcap");
    for output in [folder.file("a.pcap"), "-".to_owned()] {
        let command = format!("read -q -w {output} --split flow {file}");
        assert_refused(run, &[(&command, 2, line)]);
    }
}

#[test]
fn injected_secrets_are_those_of_editcap() {
    let folder = Folder::new();
    let keys = folder.file("keys.log");
    let secret = "ab".repeat(32);
    let log = format!("# log\nCLIENT_RANDOM {secret} {secret}{}\n", &secret[..32]);
    std::fs::write(&keys, log).expect("written");
    let file = capture("dns-uri.pcap");
    let argument = format!("tls,{keys}");
    let flags = format!("--inject-secrets {keys}");
    let [ours, theirs] = both(&file, &flags, &["--inject-secrets", &argument]);
    let secrets = |lines: Vec<Line>| -> Vec<String> {
        let found = lines.into_iter().filter(|line| line.what == "secrets");
        found.map(|line| line.text).collect()
    };
    let [ours, theirs] = [ours, theirs].map(secrets);
    assert_eq!((&ours, ours.len()), (&theirs, 1));
    std::fs::write(&keys, "a secret that is none\n").expect("written");
    let copy = folder.file("copy.pcapng");
    let line = format!(
        "cannot read TLS secrets from {keys}: line 1 is neither \"LABEL HEX HEX\" nor a comment"
    );
    let command = format!("read -w {copy} --inject-secrets {keys} {file}");
    assert_refused(run, &[(&command, 1, &line)]);
}

/// Long secrets, too, come before the first packet, whose time names the file and begins its interval.
#[test]
fn secrets_of_megabytes_do_not_change_how_a_copy_is_split() {
    let folder = Folder::new();
    let [file, keys] = ["in.pcap", "keys.log"].map(|name| folder.file(name));
    let second = 1_000_000_000;
    let times = [1, 2, 3, 4].map(|number| (1_700_000_000 + number) * second);
    std::fs::write(&file, pcap(&times)).expect("written");
    let line = format!("CLIENT_RANDOM {} {}\n", "ab".repeat(32), "cd".repeat(48));
    std::fs::write(&keys, line.repeat(12_000)).expect("written");
    let output = folder.file("out.pcapng");
    let command = format!("read -w {output} --split 2s --inject-secrets {keys} {file}");
    let report = events(&command);
    let files: Vec<String> = serde_json::from_value(report[0]["files"].clone()).expect("names");
    let counts: Vec<u64> = files.iter().map(|file| count(file)).collect();
    assert_eq!(counts, [2, 2], "{files:?}");
    assert!(
        files[0].ends_with("out_00001_20231114221321.pcapng"),
        "{files:?}"
    );
}
