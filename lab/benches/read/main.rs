//! What filtering a large file costs: `tapline read` beside `tcpdump -r`, in one run.
//!
//! `cargo bench -p tapline-lab --bench read -- [--rounds N | --quick] [--tapline FILE]...` needs a
//! release build of tapline, 1.1 GB of disk and 4 GiB of memory, and a machine that does nothing else.
//!
//! A capture of 1.1 GB is made in `--trace-in FOLDER` (/var/tmp if not said), synced and read once, so
//! that it is in the page cache. For each filter the two programs take turns to write what matches to
//! a new file in /dev/shm; beside them `cp` copies that file in /dev/shm, which is the least that any
//! program takes that writes it. A run is measured from the start of the process to its end. Before
//! anything is measured the two files are compared, packet by packet.

#![forbid(unsafe_code)]

mod agreement;
#[path = "../harness/mod.rs"]
mod harness;
mod reader;
mod trace;

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use harness::{BenchOptions, Machine, Spread};
use reader::{Reader, Spent};

/// A filter and what it selects of the trace.
const FILTERS: [(&str, &str); 4] = [
    ("tcp port 22", "0.1 %"),
    ("udp port 53", "2 %"),
    ("tcp port 443", "half"),
    ("ip", "all"),
];

const PACKETS: u64 = 2_000_000;

fn main() -> ExitCode {
    harness::run(9, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in /dev/shm");
    let trace_folder = tempfile::tempdir_in(&options.trace_in).expect("a folder for the trace");
    let trace = trace_folder.path().join("trace.pcapng");
    let bytes = trace::write(&trace, PACKETS).expect("room for the trace");
    into_page_cache(&trace).expect("a trace that is whole");
    let peer = Reader::tcpdump(&trace, folder.path());
    let ours: Vec<_> = options
        .tapline
        .iter()
        .map(|program| Reader::tapline(program, &trace, folder.path()))
        .collect();

    println!("{}", Machine::find().line());
    println!(
        "\n`tapline read trace.pcapng FILTER -w out.pcapng` and `tcpdump -r trace.pcapng FILTER -w \
         out.pcap`: {PACKETS} packets, {} MB, in the page cache of {}, output in /dev/shm; median \
         (least–most) of {} rounds, milliseconds\n",
        bytes / 1_000_000,
        options.trace_in.display(),
        options.rounds
    );
    println!("| filter | selects | packets | program | wall | CPU | tcpdump's wall / this | CPU |");
    println!("|---|---|---:|---|---:|---:|---:|---:|");
    let copy = Reader::copy(&peer.output, folder.path());
    // The copy comes directly behind the file it is of.
    let readers: Vec<&Reader> = [&peer, &copy].into_iter().chain(&ours).collect();
    for (filter, share) in FILTERS {
        let packets = agreement::assert(&peer, &ours, filter);
        let mut spent = vec![Vec::new(); readers.len()];
        for _ in 0..options.rounds {
            for (spent, reader) in spent.iter_mut().zip(&readers) {
                spent.push(reader.run(filter));
                // The next gets the memory that this one had: new memory costs more.
                if !std::ptr::eq(*reader, &raw const peer) {
                    reader.remove();
                }
                if std::ptr::eq(*reader, &raw const copy) {
                    peer.remove();
                }
            }
        }
        for (spent_here, reader) in spent.iter().zip(&readers) {
            let row = row(&spent[0], spent_here);
            println!(
                "| `{filter}` | {share} | {packets} | {} | {row} |",
                reader.name
            );
        }
    }
    ExitCode::SUCCESS
}

/// Writes the file out, so that nothing is left to write while others are measured, and reads it.
fn into_page_cache(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    io::copy(&mut File::open(path)?, &mut io::sink())?;
    Ok(())
}

/// Wall, CPU, and how many times those of the peer, each round beside its own.
fn row(peer: &[Spent], own: &[Spent]) -> String {
    let spread = |values: Vec<f64>| Spread::of(values).expect("a round");
    let ratio = |value: fn(&Spent) -> f64| {
        let pairs = peer.iter().zip(own);
        spread(pairs.map(|(peer, own)| value(peer) / value(own)).collect()).show(1.0, 1)
    };
    let wall: fn(&Spent) -> f64 = |spent| spent.wall.as_secs_f64();
    let cpu: fn(&Spent) -> f64 = |spent| spent.cpu.as_secs_f64();
    format!(
        "{} | {} | {} | {}",
        spread(own.iter().map(wall).collect()).show(1e-3, 0),
        spread(own.iter().map(cpu).collect()).show(1e-3, 0),
        ratio(wall),
        ratio(cpu)
    )
}
