//! Compares CPU time per packet of a capture in Rust, in C and in C++ on the same packets.
//!
//! Each fills its ring while nobody reads, then measures the CPU time of the thread that reads it in batches up to the
//! limit, and closes the capture after that. The programs in C and C++ are processes of their own. The bench builds the
//! library that they link to.

#[path = "../harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use tapline::capture::Backend;
use tapline_lab::generator::pin_to_cpu;
use tapline_lab::tool;

use harness::{
    BenchOptions, Column, FullRing, Report, c_compiler, column, install_c_library, ratios,
    repository, succeed,
};

const PACKETS: u64 = 100_000;

/// Maximum cost of C and C++ relative to Rust.
const LIMIT: f64 = 1.03;

const COLUMNS: [Column; 3] = [column(RUST, 1.0, 1), column(C, 1.0, 1), column(CPP, 1.0, 1)];
const RUST: &str = "Rust, ns";
const C: &str = "C, ns";
const CPP: &str = "C++, ns";

/// The back ends, with their numbers in C.
const BACKENDS: [(Backend, &str); 2] = [(Backend::PacketV2, "1"), (Backend::PacketV3, "2")];

fn main() -> ExitCode {
    harness::run(30, &[], measure)
}

fn measure(_: &BenchOptions, report: &mut Report) {
    let title = format!("CPU of the reader per packet, {PACKETS} packets of 64 bytes in its ring");
    let folder = tempfile::tempdir().expect("a folder");
    let programs = build(folder.path());
    let mut ring = FullRing::new(PACKETS, 64);
    for (backend, number) in BACKENDS {
        for round in report.rounds(backend.name()) {
            // They take turns to go first.
            let mut times = [0.0; 3];
            for turn in 0..3 {
                let place = (round as usize + turn) % 3;
                times[place] = match place {
                    0 => {
                        let capture = ring.open(backend);
                        ring.batches_ns(capture)
                    }
                    place => read(&mut ring, &programs[place - 1], number),
                };
            }
            report.table(&title, &COLUMNS).add(backend.name(), &times);
        }
    }
    for (name, language) in [("C / Rust", C), ("C++ / Rust", CPP)] {
        let table = report.table(&title, &COLUMNS);
        table.derive(column(name, 1.0, 3), |table, row| {
            ratios(table.of(row, language), table.of(row, RUST))
        });
        for (backend, _) in BACKENDS {
            let ratios = report.of(&title, backend.name(), name);
            report.at_most(&format!("{}: {name}", backend.name()), &ratios, LIMIT);
        }
    }
}

/// Installs the library and builds the programs in C and C++.
fn build(folder: &Path) -> [PathBuf; 2] {
    let prefix = folder.join("usr");
    install_c_library(&prefix);
    [
        ("cc", "-std=gnu11", "pull.c"),
        ("g++", "-std=c++20", "pull.cpp"),
    ]
    .map(|(compiler, standard, source)| {
        let program = folder.join(source.replace('.', "_"));
        let source = repository().join("lab/benches/c_library").join(source);
        let mut command = c_compiler(&tool::path(compiler), &prefix);
        command.args([standard, "-O2"]).arg(source);
        // Libraries follow the sources that need them.
        succeed(command.arg("-ltapline").arg("-o").arg(&program));
        program
    })
}

/// CPU nanoseconds per packet that a program measures.
fn read(ring: &mut FullRing, program: &Path, backend: &str) -> f64 {
    let right = ring.host();
    let mut command = right.command(program.to_str().expect("text"));
    let packets = PACKETS.to_string();
    command.args([&right.interface().name.to_string(), backend, &packets]);
    pin_to_cpu(1).expect("a second CPU");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), "ready");
    ring.fill();
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"\n").expect("it reads");
    let printed = line();
    let words: Vec<_> = printed.split(' ').collect();
    assert_eq!(words[0], packets, "{printed}");
    assert!(child.wait().expect("it ends").success());
    words[2].parse().expect("a time")
}
