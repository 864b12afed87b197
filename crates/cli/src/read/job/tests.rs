use clap::Parser;

use super::*;
use crate::args::{Args, Command};

/// A pcap file of Ethernet with so many packets of 60 bytes.
fn pcap(packets: usize) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0, 1_u32].map(u32::to_le_bytes);
    let record = [1, 2, 60, 60_u32].map(u32::to_le_bytes);
    let record = [record.as_flattened(), &[0; 60]].concat();
    [header.as_flattened(), &record.repeat(packets)].concat()
}

/// Allocations while a file of so many packets is copied to nowhere.
fn allocations(packets: usize, filter: &str) -> u64 {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), pcap(packets)).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    let args = [
        "tapline",
        "read",
        "--bpf",
        filter,
        "-s",
        "40",
        "-w",
        "/dev/null",
        path,
        path,
    ];
    let Command::Read(args) = Args::parse_from(args).command else {
        panic!("not read");
    };
    let stop = tapline::Stop::new().expect("a pipe");
    let open = |path: &PathBuf| Input::open(path, &stop).expect("a capture");
    let Words { files, .. } = Words::new(&args).expect("files");
    let inputs = files.iter().map(open).collect();
    let (flag, selection) = (
        AtomicBool::new(false),
        Selection::new(&args, None).expect("a filter"),
    );
    let mut job = Job::new(&args, &flag, inputs, selection);
    let counted = allocation_counter::measure(|| job.work().expect("no failure"));
    assert_eq!(job.work.tally.passed, 2 * packets as u64);
    counted.count_total
}

#[test]
fn packets_are_filtered_merged_cut_and_copied_without_allocation() {
    let filter = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(filter.path(), "1\n6 0 0 262144\n").expect("written");
    let filter = filter.path().to_str().expect("UTF-8");
    assert_eq!(allocations(100, filter), allocations(10_000, filter));
}
