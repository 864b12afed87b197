//! Cost of filtering and of printing a large file: compares `tapline read` with `tcpdump -r` in one run.
//!
//! `cargo bench -p tapline-lab --bench read -- [--rounds N | --quick] [--tapline FILE]...` requires a release build of
//! tapline, 1.1 GB of disk, 4 GiB of memory, and an otherwise idle machine.
//!
//! Creates a capture of 1.1 GB in `--trace-in FOLDER` (default: /var/tmp), syncs it and reads it once, so that it is in
//! the page cache. For each filter the two programs take turns to write the matching packets to a new file in /dev/shm.
//! `cp` then copies that file in /dev/shm, which is the minimum cost of writing it. A run is measured from the start of
//! the process to its exit. Before the measurements, the two output files are compared packet by packet.

#![forbid(unsafe_code)]

#[path = "../harness/mod.rs"]
mod harness;
mod trace;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use abi::process::wait;
use harness::{BenchOptions, Column, Report, column, ratios};
use store::read::Reader as CaptureReader;
use tapline_lab::tool;

/// A filter and the share of the trace that it selects.
const FILTERS: [(&str, &str); 4] = [
    ("tcp port 22", "0.1 %"),
    ("udp port 53", "2 %"),
    ("tcp port 443", "half"),
    ("ip", "all"),
];

const PACKETS: u64 = 2_000_000;
/// Packets to print.
const PRINTED: u64 = 1_000_000;
const PEER: &str = "tcpdump";

const COLUMNS: [Column; 2] = [column("wall, ms", 1e-3, 0), column("CPU, ms", 1e-3, 0)];

fn main() -> ExitCode {
    harness::run(9, &[], measure)
}

fn measure(options: &BenchOptions, report: &mut Report) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in /dev/shm");
    let trace_folder = tempfile::tempdir_in(&options.trace_in).expect("a folder for the trace");
    let trace = trace_folder.path().join("trace.pcapng");
    let bytes = trace::write(&trace, PACKETS).expect("room for the trace");
    into_page_cache(&trace).expect("a trace that is whole");
    let [in_peer, in_copy, in_own] =
        ["tcpdump.pcap", "copy", "tapline.pcapng"].map(|name| folder.path().join(name));
    let peer = Program::new(
        PEER,
        tool::path(PEER),
        &["-r", "TRACE", "-w", "OUT"],
        [&trace, &in_peer],
    );
    // The minimum cost of writing the result, without finding the packets.
    let copy = ["--reflink=never", "TRACE", "OUT"];
    let copy = Program::new("cp out.pcap", "/bin/cp".into(), &copy, [&in_peer, &in_copy]);
    let own = options.tapline().into_iter().map(|program| {
        let name = program
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string();
        let arguments = ["read", "-q", "-w", "OUT", "TRACE"];
        Program::new(&name, program, &arguments, [&trace, &in_own])
    });
    let own: Vec<_> = own.collect();
    report.note(format!(
        "`tapline read trace.pcapng FILTER -w out.pcapng` and `tcpdump -r trace.pcapng FILTER -w out.pcap`: \
         {PACKETS} packets, {} MB, in the page cache of {}, output in /dev/shm",
        bytes / 1_000_000,
        options.trace_in.display(),
    ));
    for (filter, share) in FILTERS {
        peer.run(filter);
        let mut packets = 0;
        for program in &own {
            program.run(filter);
            packets = compare(&in_peer, &in_own);
            program.remove();
        }
        peer.remove();
        let title = format!("`{filter}` selects {share}: {packets} packets");
        for _ in report.rounds(filter) {
            let table = report.table(&title, &COLUMNS);
            // Each program reuses the memory of the previous one: new memory costs more.
            table.add(&peer.name, &peer.run(filter));
            table.add(&copy.name, &copy.run(filter));
            copy.remove();
            peer.remove();
            for program in &own {
                table.add(&program.name, &program.run(filter));
                program.remove();
            }
        }
    }
    measure_printing(options, report, &trace);
    for table in report.tables() {
        for (head, of) in [("tcpdump's wall / this", "wall, ms"), ("CPU", "CPU, ms")] {
            table.derive(column(head, 1.0, 1), |table, name| {
                ratios(table.of(PEER, of), table.of(name, of))
            });
        }
    }
}

/// The first million packets as lines, to /dev/null. Without -S tcpdump keeps a table of all TCP connections, so both ways
/// are measured; the bound is against `-nn`, which is what people type.
fn measure_printing(options: &BenchOptions, report: &mut Report, trace: &PathBuf) {
    let count = PRINTED.to_string();
    let print = |path: PathBuf, name: &str, arguments: &[&str]| {
        let arguments = [arguments, &["TRACE"]].concat();
        Program::new(name, path, &arguments, [trace, trace])
    };
    let peer = print(tool::path(PEER), PEER, &["-nn", "-c", &count, "-r"]);
    let absolute = print(
        tool::path(PEER),
        "tcpdump -S",
        &["-nnS", "-c", &count, "-r"],
    );
    let own = options.tapline().into_iter().map(|program| {
        let name = program.file_name().unwrap_or_default();
        let name = name.display().to_string();
        print(program, &name, &["read", "-q", "-c", &count])
    });
    let own: Vec<_> = own.collect();
    let title = format!("{PRINTED} printed packets, tcpdump with -nn");
    for _ in report.rounds("print") {
        let table = report.table(&title, &COLUMNS);
        for program in [&peer, &absolute].into_iter().chain(&own) {
            table.add(&program.name, &program.run("ip"));
        }
    }
    let [peer, own] = [PEER, &own[0].name].map(|name| report.of(&title, name, "wall, ms"));
    let what = "Wall time to print a million packets, tapline / tcpdump -nn";
    report.at_most(what, &ratios(&own, &peer), 1.0);
}

/// Syncs the file, so that no writeback runs during the measurements, and reads it.
fn into_page_cache(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    io::copy(&mut File::open(path)?, &mut io::sink())?;
    Ok(())
}

/// Compares bytes, lengths and times of all packets, and counts them. The trace uses whole microseconds, as tcpdump
/// writes them.
fn compare(peer: &Path, own: &Path) -> u64 {
    let open = |path: &Path| CaptureReader::open(path).expect("a capture");
    let (mut peer, mut own) = (open(peer), open(own));
    for packets in 0.. {
        let expected = peer.next_packet().expect("undamaged");
        let found = own.next_packet().expect("undamaged");
        assert_eq!(expected, found, "packet {packets}");
        if expected.is_none() {
            return packets;
        }
    }
    0
}

/// A program to measure, and its output file.
struct Program {
    name: String,
    path: PathBuf,
    arguments: Vec<PathBuf>,
    output: PathBuf,
}

impl Program {
    /// Replaces TRACE and OUT in `arguments` by `files`.
    fn new(name: &str, path: PathBuf, arguments: &[&str], [trace, output]: [&PathBuf; 2]) -> Self {
        let arguments = arguments.iter().map(|&word| match word {
            "TRACE" => trace.clone(),
            "OUT" => output.clone(),
            _ => word.into(),
        });
        Self {
            name: name.into(),
            path,
            arguments: arguments.collect(),
            output: output.clone(),
        }
    }

    /// Runs the program to its exit, with a filter if it takes one. The output file exists afterwards. Returns seconds
    /// of wall time and of CPU time.
    fn run(&self, filter: &str) -> [f64; 2] {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        let takes_filter = !self.path.ends_with("cp");
        command.args(takes_filter.then_some(filter));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begin = Instant::now();
        let child = command.spawn();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let ended = wait(child).expect("it ends");
        let wall = begin.elapsed();
        assert!(ended.status.success(), "{}: {}", self.name, ended.status);
        [wall.as_secs_f64(), ended.cpu.as_secs_f64()]
    }

    fn remove(&self) {
        fs::remove_file(&self.output).expect("it was written");
    }
}
