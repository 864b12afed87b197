//! All rotation limits at once: each one in turn ends a file while the others are not reached.

use std::fs;

use crate::support::files::{capinfos, pcap, records};
use crate::support::run::printed;
use crate::support::text;

/// Time of the first packet, in nanoseconds: 2023-11-14 22:13:20 UTC.
const START_NS: u64 = 1_700_000_000_000_000_000;
const PACKETS: u64 = 100;
/// Time between two packets.
const GAP_NS: u64 = 100_000_000;

/// A file of a rotation, as capinfos and editcap see it.
#[derive(Debug)]
struct Part {
    name: String,
    size: u64,
    /// The numbers of its packets, by their times.
    packets: Vec<u64>,
}

/// Writes 100 packets, ten in each second, into files with these limits.
fn parts(flags: &str) -> Vec<Part> {
    let folder = tempfile::tempdir().expect("a folder");
    let input = text(&folder.path().join("in.pcap"));
    let times: Vec<_> = (0..PACKETS).map(|n| START_NS + n * GAP_NS).collect();
    fs::write(&input, pcap(&times)).expect("a file");
    let output = text(&folder.path().join("out.pcapng"));
    assert!(printed(&format!("read -q {input} -w {output} {flags}")).is_empty());
    fs::remove_file(&input).expect("it is there");

    let entries = fs::read_dir(folder.path()).expect("the folder");
    let mut files: Vec<_> = entries
        .map(|entry| text(&entry.expect("an entry").path()))
        .collect();
    files.sort();
    let known = capinfos(&files);
    let part = |file: &String| {
        let number = |key: &str| known[file][key].parse::<u64>().expect("a number");
        let packets = records(file).into_iter();
        let packets: Vec<_> = packets
            .map(|packet| (packet.time_ns - START_NS) / GAP_NS)
            .collect();
        assert_eq!(number("Number of packets"), packets.len() as u64);
        Part {
            name: file.rsplit('/').next().expect("a name").to_owned(),
            size: number("File size (bytes)"),
            packets,
        }
    };
    files.iter().map(part).collect()
}

/// All packets are there once and in order, and each name has the file's number and the time of its start.
#[track_caller]
fn assert_whole(parts: &[Part]) {
    let all: Vec<_> = parts
        .iter()
        .flat_map(|part| part.packets.iter().copied())
        .collect();
    assert_eq!(all, (0..PACKETS).collect::<Vec<_>>());
    assert_names(parts, 1);
}

#[track_caller]
fn assert_names(parts: &[Part], first: usize) {
    for (number, part) in (first..).zip(parts) {
        // The first packet is of 22:13:20, and the last of 22:13:29.
        let second = 20 + part.packets[0] / 10;
        let expected = format!("out_{number:05}_202311142213{second}.pcapng");
        assert_eq!(part.name, expected);
    }
}

fn counts(parts: &[Part]) -> Vec<usize> {
    parts.iter().map(|part| part.packets.len()).collect()
}

#[test]
fn the_number_of_packets_ends_files() {
    let parts = parts("--rotate-packets 30 --rotate-size 1M --rotate-interval 1h --keep 50");
    assert_eq!(counts(&parts), [30, 30, 30, 10]);
    assert_whole(&parts);
}

#[test]
fn the_time_ends_files_at_its_multiples() {
    let parts = parts("--rotate-packets 1000 --rotate-size 1M --rotate-interval 4s --keep 50");
    // The first packet is at a multiple of 4 s.
    assert_eq!(counts(&parts), [40, 40, 20]);
    assert_whole(&parts);
}

#[test]
fn the_size_ends_files() {
    const LIMIT: u64 = 2048;
    let parts = parts(&format!(
        "--rotate-packets 1000 --rotate-size {LIMIT} --rotate-interval 1h --keep 50",
    ));
    let (last, full) = parts.split_last().expect("files");
    assert!(full.len() > 3 && last.size <= LIMIT, "{parts:?}");
    for part in full {
        // A packet of 60 bytes is a block of 92. Room for statistics at the end of the file is kept free.
        assert!(part.size <= LIMIT && part.size + 2 * 92 > LIMIT, "{part:?}");
    }
    assert_whole(&parts);
}

#[test]
fn the_number_of_files_removes_the_oldest() {
    let parts = parts("--rotate-packets 30 --rotate-size 1M --rotate-interval 1h --keep 2");
    assert_eq!(counts(&parts), [30, 10]);
    assert_eq!(parts[0].packets[0], 60);
    assert_names(&parts, 3);
}

/// Packets, then time, then packets again: whichever limit is reached first.
#[test]
fn limits_take_turns() {
    let parts = parts("--rotate-packets 15 --rotate-size 1M --rotate-interval 2s --keep 50");
    assert_eq!(counts(&parts), [15, 5, 15, 5, 15, 5, 15, 5, 15, 5]);
    assert_whole(&parts);
}
