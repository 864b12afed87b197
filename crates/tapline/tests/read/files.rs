//! Reading capture files with the library.

use std::convert::Infallible;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use tapline::Packet;
use tapline::file::write::{CaptureFileOptions, Output};
use tapline::read::{ReadBuilder, ReadError, ReadSummary};

/// A capture with 5 packets: ICMPv6, from the test suite of tcpdump.
fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/corpus/captures/icmpv6.pcap")
}

/// Times of the packets that [`Read::next`](tapline::read::Read::next) returns.
fn times(builder: ReadBuilder) -> (Vec<Option<u64>>, ReadSummary) {
    let mut read = builder.open().expect("opened");
    let mut times = Vec::new();
    while let Some(packet) = read.next().expect("read") {
        times.push(packet.time().as_nanos());
    }
    (times, read.finish().expect("finished"))
}

#[test]
fn a_closure_and_next_return_the_same_packets() {
    for filter in ["", "icmp6", "greater 100", "ip"] {
        let builder = || tapline::read(capture()).filter(filter).expect("a filter");
        let (expected, summary) = times(builder());
        let mut read = builder().open().expect("opened");
        let mut found = Vec::new();
        read.run(|packet| {
            found.push(packet.time().as_nanos());
            Ok::<_, Infallible>(())
        })
        .expect("read");
        assert_eq!(found, expected, "{filter}");
        assert_eq!(read.summary(), summary);
        assert_eq!(summary.delivered, expected.len() as u64);
        assert_eq!(summary.received, summary.delivered + summary.filtered);
    }
}

#[test]
fn several_files_are_merged_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Output::Path(folder.path().join("copy.pcapng"));
    let builder = || tapline::read(capture()).file(capture());
    let (expected, _) = times(builder());
    assert!(expected.is_sorted());
    let mut read = builder().open().expect("opened");
    let options = CaptureFileOptions::new(output, Vec::new());
    read.write_to(options).expect("written");
    let summary = read.finish().expect("finished");
    assert_eq!(summary.written.packets, expected.len() as u64);
    assert!(summary.to_string().contains("copy.pcapng"), "{summary}");
    let (copied, _) = times(tapline::read(&summary.written.paths[0]));
    assert_eq!(copied, expected);
}

#[test]
fn a_count_ends_the_job() {
    let count = NonZeroU64::new(3).expect("not 0");
    let (times, summary) = times(tapline::read(capture()).count(count));
    assert_eq!((times.len(), summary.received), (3, 3));
}

#[test]
fn a_failed_consumer_and_impossible_selections_are_errors() {
    let mut read = tapline::read(capture()).open().expect("opened");
    let result = read.run(|_| Err("no more"));
    assert!(matches!(result, Err(ReadError::Consumer(error)) if error.to_string() == "no more"));
    let open = |builder: ReadBuilder| builder.open().err().expect("an error");
    let empty = open(tapline::read(capture()).from_ns(2).to_ns(2));
    assert!(matches!(empty, ReadError::EmptyTimeRange));
    assert!(matches!(open(ReadBuilder::new()), ReadError::NoInput));
    let missing = open(tapline::read("/nonexistent"));
    assert!(matches!(missing, ReadError::Open { .. }));
    let mut read = tapline::read(capture())
        .interface("eth7")
        .open()
        .expect("opened");
    while read.next().expect("read").is_some() {}
    let names = read.finish().expect_err("no such interface");
    assert_eq!(names.to_string(), "no interface is called eth7");
}

/// The header of a pcap file of Ethernet frames.
fn file_header() -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
    words.map(u32::to_ne_bytes).as_flattened().to_vec()
}

/// A frame of this length in a pcap file.
fn record(second: u32, bytes: u32) -> Vec<u8> {
    let words = [second, 0, bytes, bytes];
    let mut record = words.map(u32::to_ne_bytes).as_flattened().to_vec();
    record.resize(record.len() + bytes as usize, 0xff);
    record
}

#[test]
fn what_has_arrived_in_a_pipe_is_lent_before_more_arrives() {
    let (input, mut pipe) = std::io::pipe().expect("a pipe");
    let arrived = [file_header(), record(1, 60), record(2, 60), record(3, 70)].concat();
    pipe.write_all(&arrived).expect("room");
    let builder = ReadBuilder::new().stream("pipe", input).filter("less 65");
    let mut read = builder.expect("a filter").open().expect("opened");
    let second = |packet: Option<Packet<'_>>| {
        packet.map(|packet| packet.time().as_nanos().expect("a time") / 1_000_000_000)
    };
    assert_eq!(second(read.next().expect("read")), Some(1));
    assert_eq!(second(read.next_ready().expect("read")), Some(2));
    // The third is not selected, and the fourth has not arrived.
    assert_eq!(second(read.next_ready().expect("read")), None);
    pipe.write_all(&record(4, 60)).expect("room");
    assert_eq!(second(read.next().expect("read")), Some(4));
    assert_eq!(second(read.next_ready().expect("read")), None);
    drop(pipe);
    assert_eq!(second(read.next().expect("read")), None);
}

#[test]
fn the_progress_follows_the_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("frames.pcap");
    let mut file = file_header();
    for second in 0..5000_u32 {
        file.extend(record(second, 60));
    }
    std::fs::write(&path, &file).expect("room");
    let mut read = tapline::read(path).open().expect("opened");
    let progress = read.progress();
    for _ in 0..4097 {
        read.next().expect("a packet").expect("5000 packets");
    }
    // A file header, and 4096 records.
    assert_eq!(progress.bytes(), 24 + 4096 * (16 + 60));
    assert_eq!(progress.total_bytes(), Some(file.len() as u64));
}
