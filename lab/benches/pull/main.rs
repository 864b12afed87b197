//! Compares CPU time per packet of `Capture::next` (pull) and `Capture::run` (closure) on the same packets.
//!
//! Fills a ring while nobody reads, then measures the CPU time of the thread that reads it up to the limit.

#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;

use abi::process::thread_usage;
use tapline::capture::{Backend, CaptureOptions, DeliveryMode};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

use harness::{BenchOptions, Column, Report, column, ratios};

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
    let [left, right] = Net::new().pair();
    let options = GeneratorOptions::new(left.interface().index, udp_frame(64));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    let rings = [Backend::PacketV2, Backend::PacketV3];
    for backend in rings {
        for round in report.rounds(backend.name()) {
            let mut read = |is_pulled| read_ns(&left, &right, &mut generator, backend, is_pulled);
            // The two take turns to go first.
            let mut times = [0.0; 2];
            for is_pulled in [round % 2 == 0, round % 2 != 0] {
                times[usize::from(is_pulled)] = read(is_pulled);
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
fn read_ns(
    left: &Host,
    right: &Host,
    generator: &mut Generator,
    backend: Backend,
    is_pulled: bool,
) -> f64 {
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
    let sent = left.run(|| generator.deliver(PACKETS, None));
    assert_eq!(sent.delivered, PACKETS);
    let mut bytes = 0;
    let before = thread_usage();
    let summary = if is_pulled {
        while let Some(packet) = capture.next().expect("a packet") {
            bytes += packet.len() + usize::from(packet.data()[0]);
        }
        capture.finish()
    } else {
        capture.run(|packet| {
            bytes += packet.len() + usize::from(packet.data()[0]);
            Ok(())
        })
    };
    let used = thread_usage().cpu.saturating_sub(before.cpu);
    let account = summary.expect("a summary").account;
    assert_eq!(
        (account.delivered, account.lost.total()),
        (PACKETS, 0),
        "{bytes}"
    );
    used.as_nanos() as f64 / PACKETS as f64
}
