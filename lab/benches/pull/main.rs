//! Compares CPU time per packet of `Capture::next` (pull) and `Capture::run` (closure) on the same packets.
//!
//! Fills a ring while nobody reads, then measures the CPU time of the thread that reads it up to the limit.

#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;

use tapline::capture::Backend;

use harness::{BenchOptions, Column, FullRing, Report, column, ratios, read_with_next};

const PACKETS: u64 = 100_000;

/// Maximum cost of `next` relative to a closure.
const LIMIT: f64 = 1.02;

const COLUMNS: [Column; 2] = [column(CLOSURE, 1.0, 1), column(NEXT, 1.0, 1)];
const CLOSURE: &str = "run, ns";
const NEXT: &str = "next, ns";

fn main() -> ExitCode {
    harness::run(30, &[], measure)
}

fn measure(_: &BenchOptions, report: &mut Report) {
    let title = format!("CPU of the reader per packet, {PACKETS} packets of 64 bytes in its ring");
    let mut ring = FullRing::new(PACKETS, 64);
    let rings = [Backend::PacketV2, Backend::PacketV3];
    for backend in rings {
        for round in report.rounds(backend.name()) {
            // The two take turns to go first.
            let mut times = [0.0; 2];
            for is_pulled in [round % 2 == 0, round % 2 != 0] {
                times[usize::from(is_pulled)] = read_ns(&mut ring, backend, is_pulled);
            }
            report.table(&title, &COLUMNS).add(backend.name(), &times);
        }
    }
    let table = report.table(&title, &COLUMNS);
    table.derive(column("ratio", 1.0, 3), |table, name| {
        ratios(table.of(name, NEXT), table.of(name, CLOSURE))
    });
    for backend in rings {
        let ratios = report.of(&title, backend.name(), "ratio");
        report.at_most(&format!("{}: next / run", backend.name()), &ratios, LIMIT);
    }
}

/// CPU nanoseconds per packet to read a full ring.
fn read_ns(ring: &mut FullRing, backend: Backend, is_pulled: bool) -> f64 {
    let capture = ring.open(backend);
    ring.thread_ns(|| {
        if is_pulled {
            return read_with_next(capture);
        }
        let mut bytes = 0;
        let summary = capture.run(|packet| {
            bytes += packet.len() + usize::from(packet.data()[0]);
            Ok(())
        });
        assert!(bytes > 0, "packets have bytes");
        summary.expect("a summary").account
    })
}
