//! Filters: how they are told from files, what they select, beside tcpdump.

use crate::read_support;
use std::path::Path;
use std::process::Stdio;

use crate::read_support::{
    capinfos, capture, corpus, json, made, name, pcap, read, read_from, read_well, tcpdump, text,
};

/// The packets of `path` that `tcpdump` selects, as [`tcpdump`] shows them; `None` where it does not
/// take the file or the filter.
fn selected_by_tcpdump(path: &Path, filter: &str, to: &Path) -> Option<String> {
    let mut command = lab::tool::command("tcpdump");
    command.args(["--nano", "-r"]).arg(path).arg("-w").arg(to);
    let output = command.arg(filter).stdin(Stdio::null()).output();
    let is_done = output.expect("tcpdump runs").status.success();
    is_done.then(|| tcpdump(to).expect("its own file"))
}

const FILTERS: [&str; 12] = [
    "tcp",
    "udp port 53 or port 80",
    "ip6",
    "not ip",
    "net 10.0.0.0/8 or net 192.168.0.0/16",
    "greater 100",
    "ip[8] > 32 and ip[6:2] & 0x1fff = 0",
    "vlan",
    "icmp or icmp6 or arp",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "ether[0] & 1 = 1 or ip multicast",
    "less 64 or portrange 1-1024",
];

#[test]
fn every_filter_selects_what_tcpdump_selects() {
    let folder = tempfile::tempdir().expect("a folder");
    let (theirs, ours) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
    let (mut compared, mut packets) = (0, 0);
    // Its microseconds are more than a second, which tcpdump prints as they are.
    let files = corpus()
        .into_iter()
        .filter(|path| !path.ends_with("timestamp_invalid_micro.pcap"));
    for (number, path) in files.enumerate() {
        for turn in 0..3 {
            let filter = FILTERS[(number + 5 * turn) % FILTERS.len()];
            let Some(expected) = selected_by_tcpdump(&path, filter, &theirs) else {
                continue;
            };
            let output = read(["-q", name(&path), filter, "-w", name(&ours)]);
            if matches!(output.status.code(), Some(2 | 4)) {
                // tcpdump filters more link types.
                let line = text(&output.stderr);
                assert!(line.contains("link type"), "{path:?} {filter}: {line}");
                continue;
            }
            if !output.status.success() {
                let line = text(&output.stderr);
                assert!(
                    line.contains("not in the range"),
                    "{path:?} {filter}: {line}"
                );
                continue;
            }
            assert_eq!(tcpdump(&ours), Some(expected.clone()), "{path:?} {filter}");
            compared += 1;
            packets += expected
                .lines()
                .filter(|line| line.contains("0x0000:"))
                .count();
        }
    }
    assert!(
        compared > 600 && packets > 2000,
        "{compared} files, {packets} packets"
    );
}

#[test]
fn counts_summaries_and_lines_are_of_the_packets_that_match() {
    let path = capture("dns_tcp_8053.pcap");
    let file = name(&path);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.pcapng");
    let all = json(&[file, "tcp[tcpflags] & tcp-push != 0"]);
    let (summary, packets) = all.split_last().expect("a summary");
    let count = packets.len() as u64;
    assert!(
        count > 1 && summary["filtered"].as_u64() > Some(0),
        "{summary}"
    );
    assert_eq!(summary["delivered"], count);
    let digest = &json(&["--summary", file, "tcp[tcpflags] & tcp-push != 0"])[0];
    assert_eq!(digest["packets"], count);
    read_well([
        "-q",
        "-w",
        name(&copy),
        file,
        "tcp[tcpflags] & tcp-push != 0",
    ]);
    let known = capinfos(std::slice::from_ref(&copy));
    assert_eq!(known[&copy]["Number of packets"], count.to_string());
    let first = json(&["-c", "1", file, "tcp[tcpflags] & tcp-push != 0"]);
    assert_eq!(first[0], packets[0]);
    assert_eq!(first.len(), 2);
    let cut = json(&["-s", "20", file, "tcp[tcpflags] & tcp-push != 0"]);
    assert_eq!(cut.len(), all.len(), "the filter sees whole packets");
}

#[test]
fn several_files_are_filtered_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) = (folder.path().join("a.pcap"), folder.path().join("b.pcap"));
    std::fs::write(&a, pcap(&[1, 3])).expect("written");
    std::fs::write(&b, pcap(&[2, 4])).expect("written");
    let found = json(&[
        name(&a),
        name(&b),
        "ether",
        "proto",
        "0x88b5",
        "and",
        "ether[17]=1",
    ]);
    assert_eq!(found.len(), 3, "the second packet of each, and the summary");
    assert_eq!(found[2]["received"], 4);
}

#[test]
fn words_that_name_no_file_begin_the_filter() {
    let path = capture("icmpv6.pcap");
    let file = name(&path);
    let expected = read_well(["-q", file, "icmp6 and ip6[6] = 58"]);
    assert!(!expected.is_empty());
    let forms: [&[&str]; 4] = [
        &["-q", file, "icmp6", "and", "ip6[6]", "=", "58"],
        &["-q", file, "icmp6 and", "ip6[6] = 58"],
        &["-q", file, "--", "icmp6", "and", "ip6[6] = 58"],
        &[file, "icmp6", "-q", "and", "ip6[6]=58"],
    ];
    for form in forms {
        assert_eq!(read_well(form), expected, "{form:?}");
    }
    let bytes = std::fs::read(&path).expect("the file");
    let piped = read_from(&bytes, &["-q", "-", "icmp6 and ip6[6] = 58"]);
    assert_eq!(text(&piped.stdout), expected);
    assert_eq!(read_well(["-q", file, ""]), read_well(["-q", file]));
}

#[test]
fn a_folder_may_be_called_like_a_word_of_the_filter() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("ip6")).expect("made");
    let path = std::fs::canonicalize(capture("icmpv6.pcap")).expect("a path");
    let mut command = read_support::command(["-q", name(&path), "ip6"]);
    let output = command
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), read_well(["-q", name(&path)]));
}

#[test]
fn a_misspelt_file_is_no_filter() {
    let path = capture("icmpv6.pcap");
    let file = name(&path);
    for (args, missing) in [
        (&["a.pcpa"][..], "a.pcpa"),
        (&["a.pcpa", "tcp"], "a.pcpa"),
        (&["a.pcpa", "--", "tcp"], "a.pcpa"),
        (&[file, "a.pcpa"], "a.pcpa"),
        (&[file, "b/a.pcpa", file], "b/a.pcpa"),
    ] {
        let output = read(args);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}");
        let begin = format!("tapline: cannot open {missing}: ");
        assert!(
            line.starts_with(&begin) && line.lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn a_wrong_filter_is_wrong_usage_and_its_place_is_shown() {
    let path = capture("icmpv6.pcap");
    let file = name(&path);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.pcapng");
    for (filter, place) in [
        ("tcp prot 80", "\n      ^^^^\n"),
        ("tcp port 80 and (", "^\n"),
        ("port 70000", "^^^^^\n"),
        ("outbound", "^^^^^^^^\n"),
    ] {
        let output = read(["-w", name(&copy), file, filter]);
        let lines = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{filter}: {lines}");
        let (first, below) = lines.split_once('\n').expect("two lines");
        assert!(
            first.starts_with("tapline: filter is invalid for ")
                && first.contains("(link type EN10MB): column "),
            "{first}"
        );
        assert!(
            below.starts_with(&format!("  {filter}\n")) && below.ends_with(place),
            "{lines}"
        );
        assert!(!copy.exists());
    }
    let output = read(["-q", file, "ip and arp"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("rejects all packets"));
}

#[test]
fn each_interface_has_the_filter_for_its_link_type() {
    let path = made("sections.pcapng");
    let types = json(&["--summary", name(&path)]);
    let interfaces = types[0]["interfaces"].as_array().expect("interfaces");
    let mut known: Vec<_> = interfaces
        .iter()
        .map(|one| one["link_type"].to_string())
        .collect();
    known.dedup();
    assert!(known.len() > 1, "several link types: {known:?}");
    let all = json(&[name(&path)]);
    let long = json(&[name(&path), "len >= 0"]);
    assert_eq!(long.len(), all.len());
}

/// Long enough that several threads read it; between the packets are some with a queue, an option that
/// not every block has.
fn long_file(path: &Path) {
    use tapline::file::model::{Interface, LinkType, Packet};
    let interface = Interface::new(LinkType::ETHERNET, 0);
    let output = tapline::file::write::Output::Path(path.to_owned());
    let options = tapline::file::write::CaptureFileOptions::new(output, vec![interface]);
    let mut file = tapline::file::write::CaptureFile::create(options, 0).expect("made");
    let mut frame = [0; 1500];
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    for number in 0..6000_u64 {
        frame[14..22].copy_from_slice(&number.to_be_bytes());
        let bytes = &frame[..60 + (number as usize * 7919) % 1441];
        let packet = Packet {
            queue: number.is_multiple_of(17).then_some(3),
            ..Packet::new(number * 1000, bytes)
        };
        file.write(&packet).expect("written");
    }
    file.close(&[]).expect("closed");
}

#[test]
fn a_long_file_is_copied_byte_for_byte_and_filtered_as_tcpdump_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (long, whole, same) = (
        path("long.pcapng"),
        path("whole.pcapng"),
        path("same.pcapng"),
    );
    long_file(&long);
    assert!(std::fs::metadata(&long).expect("made").len() > 4 << 20);
    read_well(["-q", "-w", name(&whole), name(&long)]);
    read_well(["-q", "-w", name(&same), name(&long), "len >= 0"]);
    let bytes = |path: &Path| std::fs::read(path).expect("a file");
    assert!(bytes(&whole) == bytes(&same), "with and without a filter");
    for filter in [
        "ether[21] & 1 = 0",
        "ether[21] = 5",
        "greater 1000",
        "ether[20] & 3 != 1",
    ] {
        let expected = selected_by_tcpdump(&long, filter, &path("a.pcap"));
        for to in ["b.pcapng", "b.pcap"] {
            read_well(["-q", "-w", name(&path(to)), name(&long), filter]);
            assert_eq!(tcpdump(&path(to)), expected, "{filter} {to}");
        }
        for count in ["1", "100", "1999"] {
            let some = path("some.pcapng");
            let args = ["-q", "-c", count, "-w", name(&some), name(&long), filter];
            read_well(args);
            let found = tcpdump(&some).expect("a file");
            assert!(
                expected.as_ref().expect("tcpdump").starts_with(&found),
                "{filter} {count}"
            );
            let packets = found.matches("0x0000:").count();
            let most = expected
                .as_ref()
                .expect("tcpdump")
                .matches("0x0000:")
                .count();
            assert_eq!(packets, most.min(count.parse().expect("a number")));
        }
    }
}
