//! Filters: how they are distinguished from files, and which packets they select, compared with tcpdump.

use std::error::Error;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tapline::file::model::{Interface, LinkType, Packet};
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};

use crate::support::files::{capinfos, capture, corpus, made, pcap, tcpdump};
use crate::support::run::{command, events, printed, run, run_with};
use crate::support::{assert_has, assert_refused, number, text};

/// Writes the packets of `file` that tcpdump selects; false where it does not take the file or the filter.
fn is_selected_by_tcpdump(file: &str, filter: &str, to: &str) -> bool {
    let mut command = lab::tool::command("tcpdump");
    command
        .args(["--nano", "-r", file, "-w", to, filter])
        .stdin(Stdio::null());
    command.output().expect("tcpdump runs").status.success()
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

/// Time, length and bytes of the packets that match. An error about a link type is `None`: tcpdump filters more
/// of them.
fn selected(file: &str, filter: &str) -> Option<Vec<(u64, usize, Vec<u8>)>> {
    let select = || -> Result<_, Box<dyn Error>> {
        let mut read = tapline::read(file).filter(filter)?.open()?;
        let mut packets = Vec::new();
        while let Some(packet) = read.next()? {
            let time_ns = packet.time().as_nanos().unwrap_or_default();
            packets.push((time_ns, packet.len(), packet.data().to_vec()));
        }
        Ok(packets)
    };
    let is_other = |error: &dyn Error| {
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("link type") || text.contains("LinkType"),
            "{file} {filter}: {text}"
        );
    };
    select().inspect_err(|error| is_other(&**error)).ok()
}

/// By the library: what the program's shell adds is shown by the other tests.
#[test]
fn every_filter_selects_what_tcpdump_selects() {
    let theirs = tempfile::NamedTempFile::new().expect("a file");
    let theirs = text(theirs.path());
    let (mut compared, mut packets) = (0, 0);
    // Its microseconds are more than a second, which tcpdump takes as they are.
    let files = corpus()
        .into_iter()
        .filter(|file| !file.ends_with("/timestamp_invalid_micro.pcap"));
    for (number, file) in files.enumerate() {
        for turn in 0..3 {
            let filter = FILTERS[(number + 5 * turn) % FILTERS.len()];
            if !is_selected_by_tcpdump(&file, filter, &theirs) {
                continue;
            }
            let Some(mut ours) = selected(&file, filter) else {
                continue;
            };
            let expected = selected(&theirs, "").expect("its own file");
            for ((_, _, ours), (_, _, theirs)) in ours.iter_mut().zip(&expected) {
                // libpcap cuts what is longer than the file says that any packet is.
                ours.truncate(theirs.len());
            }
            // tcpdump writes seconds of 32 bits.
            let in_range = ours
                .iter()
                .all(|(time_ns, ..)| *time_ns < 1_000_000_000 << 32);
            assert!(ours == expected || !in_range, "{file} {filter}");
            compared += 1;
            packets += expected.len();
        }
    }
    assert!(
        compared > 600 && packets > 2000,
        "{compared} files, {packets} packets"
    );
}

#[test]
fn counts_summaries_and_lines_are_of_the_packets_that_match() {
    let file = capture("dns_tcp_8053.pcap");
    let filter = "'tcp[tcpflags] & tcp-push != 0'";
    let all = events(&format!("read {file} {filter}"));
    let (summary, packets) = all.split_last().expect("a summary");
    assert!(
        packets.len() > 1 && number(summary, "filtered") > 0,
        "{summary}"
    );
    assert_eq!(summary["delivered"], packets.len());
    let digest = &events(&format!("read --summary {file} {filter}"))[0];
    assert_eq!(digest["packets"], packets.len());
    let copy = tempfile::NamedTempFile::new().expect("a file");
    let copy = text(copy.path());
    printed(&format!("read -q -w {copy} {file} {filter}"));
    let known = capinfos(std::slice::from_ref(&copy));
    assert_eq!(known[&copy]["Number of packets"], packets.len().to_string());
    let first = events(&format!("read -c 1 {file} {filter}"));
    assert_eq!((first.len(), &first[0]), (2, &packets[0]));
    let cut = events(&format!("read -s 20 {file} {filter}"));
    assert_eq!(cut.len(), all.len(), "the filter sees whole packets");
}

#[test]
fn several_files_are_filtered_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let [a, b] = [("a.pcap", [1, 3]), ("b.pcap", [2, 4])].map(|(name, times)| {
        let path = folder.path().join(name);
        std::fs::write(&path, pcap(&times)).expect("written");
        text(&path)
    });
    let found = events(&format!("read {a} {b} ether proto 0x88b5 and ether[17]=1"));
    assert_eq!(found.len(), 3, "the second packet of each, and the summary");
    assert_eq!(found[2]["received"], 4);
}

#[test]
fn words_that_name_no_file_begin_the_filter() {
    let file = capture("icmpv6.pcap");
    let expected = printed(&format!("read -q {file} 'icmp6 and ip6[6] = 58'"));
    assert!(!expected.is_empty());
    for form in [
        "icmp6 and ip6[6] = 58",
        "'icmp6 and' 'ip6[6] = 58'",
        "-- icmp6 and 'ip6[6] = 58'",
        "icmp6 and ip6[6]=58",
    ] {
        assert_eq!(
            printed(&format!("read -q {file} {form}")),
            expected,
            "{form}"
        );
    }
    assert_eq!(
        printed(&format!("read {file} icmp6 -q and ip6[6]=58")),
        expected
    );
    let bytes = std::fs::read(&file).expect("the file");
    assert_eq!(
        run_with(&bytes, "read -q - 'icmp6 and ip6[6] = 58'").stdout,
        expected
    );
    let all = printed(&format!("read -q {file}"));
    assert_eq!(printed(&format!("read -q {file} ''")), all);
    // A folder may be called like a word of the filter.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("ip6")).expect("made");
    let mut command = command(&format!(
        "read -q {} ip6",
        text(&std::fs::canonicalize(&file).expect("a path"))
    ));
    let output = command
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .collect::<Vec<_>>(),
        all
    );
}

#[test]
fn a_misspelt_file_is_no_filter() {
    let file = capture("icmpv6.pcap");
    assert_refused(
        run,
        &[
            ("read a.pcpa", 1, "cannot open a.pcpa: "),
            ("read a.pcpa tcp", 1, "cannot open a.pcpa: "),
            ("read a.pcpa -- tcp", 1, "cannot open a.pcpa: "),
            (&format!("read {file} a.pcpa"), 1, "cannot open a.pcpa: "),
            (
                &format!("read {file} b/a.pcpa {file}"),
                1,
                "cannot open b/a.pcpa: ",
            ),
        ],
    );
}

#[test]
fn a_wrong_filter_is_wrong_usage_and_its_place_is_shown() {
    let file = capture("icmpv6.pcap");
    let folder = tempfile::tempdir().expect("a folder");
    let copy = text(&folder.path().join("copy.pcapng"));
    for (filter, carets) in [
        ("tcp prot 80", "      ^^^^"),
        ("tcp port 80 and (", "^"),
        ("port 70000", "^^^^^"),
        ("outbound", "^^^^^^^^"),
    ] {
        let ended = run(&format!("read -w {copy} {file} '{filter}'"));
        assert_eq!(ended.status.code(), Some(2), "{filter}: {ended:?}");
        let [first, line, below] = &ended.stderr[..] else {
            panic!("{ended:?}");
        };
        assert!(
            first.starts_with("tapline: filter is invalid for "),
            "{first}"
        );
        assert!(first.contains("(link type EN10MB): column "), "{first}");
        assert!(
            *line == format!("  {filter}") && below.ends_with(carets),
            "{ended:?}"
        );
        assert!(!Path::new(&copy).exists());
    }
    let ended = run(&format!("read -q {file} 'ip and arp'"));
    assert!(ended.exit(2).contains("rejects all packets"), "{ended:?}");
}

#[test]
fn each_interface_has_the_filter_for_its_link_type() {
    let file = made("sections.pcapng");
    let types = events(&format!("read --summary {file}"));
    let interfaces = types[0]["interfaces"].as_array().expect("interfaces");
    let mut known: Vec<_> = interfaces
        .iter()
        .map(|one| one["link_type"].to_string())
        .collect();
    known.dedup();
    assert!(known.len() > 1, "several link types: {known:?}");
    let [all, long] =
        ["", "'len >= 0'"].map(|filter| events(&format!("read {file} {filter}")).len());
    assert_eq!(long, all);
}

/// Long enough that several threads read it; between the packets are some with a queue, an option that
/// not every block has.
fn long_file(path: &str) {
    let interface = Interface::new(LinkType::ETHERNET, 0);
    let options = CaptureFileOptions::new(Output::Path(path.into()), vec![interface]);
    let mut file = CaptureFile::create(options, 0).expect("made");
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
    let path = |name: &str| text(&folder.path().join(name));
    let [long, whole, same] = ["long.pcapng", "whole.pcapng", "same.pcapng"].map(path);
    long_file(&long);
    assert!(std::fs::metadata(&long).expect("made").len() > 4 << 20);
    printed(&format!("read -q -w {whole} {long}"));
    printed(&format!("read -q -w {same} {long} 'len >= 0'"));
    let bytes = |path: &str| std::fs::read(path).expect("a file");
    assert!(bytes(&whole) == bytes(&same), "with and without a filter");
    for filter in [
        "ether[21] & 1 = 0",
        "ether[21] = 5",
        "greater 1000",
        "ether[20] & 3 != 1",
    ] {
        let theirs = path("a.pcap");
        assert!(is_selected_by_tcpdump(&long, filter, &theirs));
        let expected = tcpdump(&theirs).expect("its own file");
        let packets = |text: &str| text.matches("0x0000:").count();
        let select = |flags: &str, to: &str| {
            let to = path(to);
            printed(&format!("read -q {flags} -w {to} {long} '{filter}'"));
            tcpdump(&to).expect("our file")
        };
        for to in ["b.pcapng", "b.pcap"] {
            assert_eq!(select("", to), expected, "{filter} {to}");
        }
        for count in [1, 100, 1999] {
            let found = select(&format!("-c {count}"), "some.pcapng");
            assert!(expected.starts_with(&found), "{filter} {count}");
            assert_eq!(packets(&found), packets(&expected).min(count));
        }
    }
    assert_has(
        &events(&format!("read -c 1 {long}"))[1],
        &json!({"delivered": 1}),
    );
}

/// A small file can have interfaces of tens of thousands of link types. To compile a long filter for each would take many minutes.
#[test]
fn a_filter_is_compiled_once_for_all_unknown_link_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = text(&folder.path().join("many.pcapng"));
    let types = 10_000..50_000;
    let count = types.len() as u32;
    let interfaces = types.map(|number| Interface::new(LinkType(number), 0));
    let output = Output::Path(path.clone().into());
    let options = CaptureFileOptions::new(output, interfaces.collect());
    let mut file = CaptureFile::create(options, 0).expect("made");
    for (interface, byte) in [(0, 7), (count / 2, 8), (count - 1, 7)] {
        let bytes = [byte; 20];
        let packet = Packet {
            interface,
            ..Packet::new(1, &bytes)
        };
        file.write(&packet).expect("written");
    }
    file.close(&[]).expect("closed");
    // Long enough that it matters.
    let terms = (0..100).map(|term| format!(" or link[{}] = {}", term % 20, 100 + term));
    let filter = format!("link[0] = 7{}", terms.collect::<String>());
    let found = events(&format!("read {path} '{filter}'")).pop();
    let expected = json!({"received": 3, "delivered": 2, "filtered": 1});
    assert_has(&found.expect("a summary"), &expected);
}
