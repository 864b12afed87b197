//! The six experiments of the WinPcap article, with tapline and the tools that exist today, by size of the packets.
//!
//! `cargo bench -p tapline-lab --bench winpcap -- [--rounds N | --quick] [--tapline FILE]
//! [--only send|reject|deliver|dump|statistics]` requires root, two CPUs, a C compiler and the release build of the
//! program.
//!
//! ```text
//! CPU 0: Generator ─▶ veth ┃ veth ─▶ driver, stack, filter     CPU 1: the program ─▶ /dev/null or disk
//! ```
//!
//! | experiment | figure |
//! |---|---|
//! | send | packets/s that arrive at an XDP program which drops them |
//! | reject by a short filter, and by a long one | packets/s that the sender passes to a program which takes none |
//! | deliver a byte of each packet, and all of it, to a program | captured packets/s, lost ones, CPU of the program |
//! | dump 68 bytes of each packet, and all of it, to disk | the same |
//! | statistics mode | packets/s that the sender passes to a counter |
//!
//! The subjects take turns, so that other load on the machine affects all of them equally. A figure is the median over the
//! rounds, with minimum and maximum. On one CPU the generator sends and the kernel receives: what the kernel does for a
//! receiver slows the sender down.

#![forbid(unsafe_code)]

mod capture;
#[path = "../harness/mod.rs"]
mod harness;
mod receive;
#[path = "../send/sending/mod.rs"]
mod sending;
mod sent;
mod statistics;
#[path = "../count/way.rs"]
mod way;

use std::process::ExitCode;

use harness::{BenchOptions, Column, Report, column};

/// Lengths of the frames, without FCS.
const SIZES: [usize; 5] = [64, 88, 500, 1000, 1500];
const HEADS: [&str; 5] = ["64 B", "88 B", "500 B", "1000 B", "1500 B"];

/// Figures by size.
type BySize = [f64; SIZES.len()];

fn main() -> ExitCode {
    let parts = &["send", "reject", "deliver", "dump", "statistics"];
    harness::run(3, parts, measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let tapline = options.tapline().swap_remove(0);
    if options.has("send") {
        sent::measure(&tapline, report);
    }
    capture::measure(&tapline, options, report);
    if options.has("statistics") {
        statistics::measure(report);
    }
}

/// One column per size.
fn columns(unit: f64, decimals: usize) -> [Column; SIZES.len()] {
    HEADS.map(|head| column(head, unit, decimals))
}

/// Adds rates to a table that is plotted.
fn add_rates(report: &mut Report, title: &str, name: &str, pps: &BySize) {
    let table = report.table(title, &columns(1e3, 0));
    table.plot("frame, bytes without FCS", "thousands of packets/s");
    table.add(name, pps);
}
