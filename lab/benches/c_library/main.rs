//! Compares CPU time per packet of a capture in Rust, in C and in C++ on the same packets.
//!
//! Each fills its ring while nobody reads and reads it, so that caches and pages are warm; then it does so eight times more, and
//! measures the CPU time of the thread that reads it in batches. The median of these times is the figure of a round: reading a
//! ring takes about a millisecond, which one interrupt lengthens. Rust reads packet by packet with `next`, and a batch at a
//! time with `lend_each`: C and C++ are compared with the cheaper one of each round. C and C++ read packet by packet, and in
//! arrays. Their programs are processes of their own. The bench builds the library that they link to.

#[path = "../harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use tapline::capture::{Backend, PacketBatch};
use tapline_lab::generator::pin_to_cpu;
use tapline_lab::tool;

use harness::{
    BenchOptions, Column, FullRing, Report, c_compiler, column, install_c_library, ratios,
    repository, succeed,
};

const PACKETS: u64 = 100_000;

/// How often a ring is filled and read in a round.
const TURNS: u64 = 9;

/// Maximum cost of C and C++ relative to Rust.
const LIMIT: f64 = 1.03;

const COLUMNS: [Column; 6] = [
    column(NEXT, 1.0, 1),
    column(LEND_EACH, 1.0, 1),
    column(C, 1.0, 1),
    column(CPP, 1.0, 1),
    column(C_ARRAYS, 1.0, 1),
    column(CPP_ARRAYS, 1.0, 1),
];
const NEXT: &str = "Rust, next, ns";
const LEND_EACH: &str = "Rust, lend_each, ns";
const C: &str = "C, ns";
const CPP: &str = "C++, ns";
const C_ARRAYS: &str = "C, arrays, ns";
const CPP_ARRAYS: &str = "C++, arrays, ns";

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
    let [packets, turns] = [PACKETS, TURNS].map(|number| number.to_string());
    for (backend, number) in BACKENDS {
        for round in report.rounds(backend.name()) {
            // They take turns to go first, and every second time their order is reversed, so that none always follows the same.
            let round = round as usize;
            let mut times = [0.0; 6];
            for turn in 0..6 {
                let step = if round.is_multiple_of(2) {
                    turn
                } else {
                    6 - turn
                };
                let place = (round / 2 + step) % 6;
                times[place] = match place {
                    0 => ring.batches_ns(backend, TURNS, with_next),
                    1 => ring.batches_ns(backend, TURNS, with_lend_each),
                    2 => read(
                        &mut ring,
                        &programs[0],
                        &[number, &packets, "cursor", &turns],
                    ),
                    3 => read(
                        &mut ring,
                        &programs[1],
                        &[number, &packets, "cursor", &turns],
                    ),
                    4 => read(
                        &mut ring,
                        &programs[0],
                        &[number, &packets, "arrays", &turns],
                    ),
                    _ => read(
                        &mut ring,
                        &programs[1],
                        &[number, &packets, "arrays", &turns],
                    ),
                };
            }
            report.table(&title, &COLUMNS).add(backend.name(), &times);
        }
    }
    for (name, language, limit) in [
        ("C / Rust", C, Some(LIMIT)),
        ("C++ / Rust", CPP, Some(LIMIT)),
        ("C, arrays / Rust", C_ARRAYS, None),
        ("C++, arrays / Rust", CPP_ARRAYS, None),
    ] {
        let table = report.table(&title, &COLUMNS);
        table.derive(column(name, 1.0, 3), |table, row| {
            let [next, lend_each] = [NEXT, LEND_EACH].map(|way| table.of(row, way));
            let rust: Vec<f64> = (next.iter().zip(lend_each))
                .map(|(one, other)| one.min(*other))
                .collect();
            ratios(table.of(row, language), &rust)
        });
        for (backend, _) in BACKENDS {
            let ratios = report.of(&title, backend.name(), name);
            if let Some(limit) = limit {
                report.at_most(&format!("{}: {name}", backend.name()), &ratios, limit);
            }
        }
    }
}

/// Touches packets, and returns their number.
fn with_next(mut batch: PacketBatch<'_>) -> u64 {
    let (mut packets, mut bytes) = (0, 0);
    while let Some(packet) = batch.next() {
        packets += 1;
        bytes += packet.len() + usize::from(packet.data()[0]);
    }
    assert!(bytes > 0, "packets have bytes");
    packets
}

/// Touches packets, and returns their number.
fn with_lend_each(mut batch: PacketBatch<'_>) -> u64 {
    let (mut packets, mut bytes) = (0, 0);
    batch.lend_each(usize::MAX, |packet| {
        packets += 1;
        bytes += packet.len() + usize::from(packet.data()[0]);
    });
    assert!(bytes > 0, "packets have bytes");
    packets
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
fn read(ring: &mut FullRing, program: &Path, arguments: &[&str]) -> f64 {
    let right = ring.host();
    let mut command = right.command(program.to_str().expect("text"));
    command.arg(right.interface().name.to_string());
    command.args(arguments);
    pin_to_cpu(1).expect("a second CPU");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    let mut input = child.stdin.take().expect("a pipe");
    for _ in 0..TURNS {
        assert_eq!(line(), "ready");
        ring.fill();
        input.write_all(b"\n").expect("it reads");
    }
    let printed = line();
    let words: Vec<_> = printed.split(' ').collect();
    assert_eq!(words[0], PACKETS.to_string(), "{printed}");
    assert!(child.wait().expect("it ends").success());
    words[2].parse().expect("a time")
}
