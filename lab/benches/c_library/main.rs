//! Compares CPU time per packet of a capture in Rust, in C and in C++ on the same packets.
//!
//! Each fills its ring while nobody reads, then measures the CPU time of the thread that reads it up to the limit. The
//! programs in C and C++ are processes of their own; `make c-library` builds the library that they link to.

#[path = "../harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use abi::process::thread_usage;
use tapline::capture::{Backend, CaptureOptions, DeliveryMode};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

use harness::{BenchOptions, Column, Report, column, ratios};

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
    let [left, right] = Net::new().pair();
    let options = GeneratorOptions::new(left.interface().index, udp_frame(64));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    let mut fill = || {
        let sent = left.run(|| generator.deliver(PACKETS, None));
        assert_eq!(sent.delivered, PACKETS);
    };
    for (backend, number) in BACKENDS {
        for round in report.rounds(backend.name()) {
            // They take turns to go first.
            let mut times = [0.0; 3];
            for turn in 0..3 {
                let place = (round as usize + turn) % 3;
                times[place] = match place {
                    0 => read_rust(&right, backend, &mut fill),
                    place => read(&right, &programs[place - 1], number, &mut fill),
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

/// Links the library and builds the programs in C and C++.
fn build(folder: &Path) -> [PathBuf; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository");
    let archive = root.join("target/c-library/libtapline_c.a");
    assert!(
        archive.exists(),
        "{} is missing: run `make c-library`",
        archive.display()
    );
    let prefix = folder.join("usr");
    let script = root.join("packaging/c-library.sh");
    succeed(Command::new(script).args([&archive, &prefix, &prefix]));
    [("cc", "pull.c"), ("c++", "pull.cpp")].map(|(compiler, source)| {
        let program = folder.join(source.replace('.', "_"));
        let mut command = Command::new(compiler);
        if source == "pull.cpp" {
            command.arg("-std=c++20");
        }
        let source = root.join("lab/benches/c_library").join(source);
        command
            .arg("-O2")
            .arg("-I")
            .arg(prefix.join("include"))
            .arg(source);
        command
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(prefix.join("lib"))
            .arg("-ltapline");
        command.arg(format!("-Wl,-rpath,{}/lib", prefix.display()));
        succeed(&mut command);
        program
    })
}

fn succeed(command: &mut Command) {
    let status = command.status().expect("a program that runs");
    assert!(status.success(), "{command:?}: {status}");
}

/// CPU nanoseconds per packet that a program measures.
fn read(right: &Host, program: &Path, backend: &str, fill: &mut impl FnMut()) -> f64 {
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
    fill();
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"\n").expect("it reads");
    let printed = line();
    let words: Vec<_> = printed.split(' ').collect();
    assert_eq!(words[0], packets, "{printed}");
    assert!(child.wait().expect("it ends").success());
    words[2].parse().expect("a time")
}

/// The same in Rust, in this thread.
fn read_rust(right: &Host, backend: Backend, fill: &mut impl FnMut()) -> f64 {
    pin_to_cpu(1).expect("a second CPU");
    let options = CaptureOptions::default()
        .interface(right.interface().name.to_string())
        .backend(backend)
        .delivery(match backend {
            Backend::PacketV2 => DeliveryMode::Immediate,
            _ => DeliveryMode::default(),
        })
        .snaplen(96)
        .buffer_bytes(64 << 20)
        .packets(PACKETS);
    let mut capture = right.run(|| options.open()).expect("a capture");
    fill();
    let mut bytes = 0;
    let before = thread_usage();
    while let Some(packet) = capture.next().expect("a packet") {
        bytes += packet.len() + usize::from(packet.data()[0]);
    }
    let used = thread_usage().cpu.saturating_sub(before.cpu);
    let account = capture.finish().expect("a summary").account;
    assert_eq!(
        (account.delivered, account.lost.total()),
        (PACKETS, 0),
        "{bytes}"
    );
    used.as_nanos() as f64 / PACKETS as f64
}
