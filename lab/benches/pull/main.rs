//! CPU time per packet of `Capture::next` (pull) against `Capture::run` (closure), on the same packets.
//!
//! Fills a ring while nobody reads, then measures the CPU time of the thread that reads it to the limit.

#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;

use abi::process::thread_usage;
use tapline::capture::{Backend, CaptureOptions, DeliveryMode};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

use harness::{BenchOptions, Spread};

const PACKETS: u64 = 100_000;

fn main() -> ExitCode {
    harness::run(15, measure)
}

fn measure(options: &BenchOptions) -> ExitCode {
    println!(
        "CPU time per packet of the reader, {PACKETS} packets of 64 bytes, median (least–most)"
    );
    println!("ring         closure ns          next() ns           ratio");
    for backend in [Backend::PacketV2, Backend::PacketV3] {
        let [left, right] = Net::new().pair();
        let generated = GeneratorOptions::new(left.interface().index, udp_frame(64));
        let mut generator = left.run(|| Generator::new(generated));
        // Of neighbouring pairs, each way first in turn: a machine that slows down slows both.
        let (mut pushed, mut pulled, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..options.rounds {
            let mut one = |pull| read_ns(&left, &right, &mut generator, backend, pull);
            let (push_ns, pull_ns) = if round % 2 == 0 {
                let push_ns = one(false);
                (push_ns, one(true))
            } else {
                let pull_ns = one(true);
                (one(false), pull_ns)
            };
            pushed.push(push_ns);
            pulled.push(pull_ns);
            ratios.push(pull_ns / push_ns);
        }
        let [pushed, pulled] = [pushed, pulled].map(|values| shown(values, 1));
        println!(
            "{:<12} {pushed:<19} {pulled:<19} {}",
            backend.name(),
            shown(ratios, 3)
        );
    }
    ExitCode::SUCCESS
}

fn shown(values: Vec<f64>, decimals: usize) -> String {
    Spread::of(values).map_or_else(String::new, |spread| spread.show(1.0, decimals))
}

/// CPU nanoseconds per packet to read a full ring.
fn read_ns(
    left: &Host,
    right: &Host,
    generator: &mut Generator,
    backend: Backend,
    pull: bool,
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
    let summary = if pull {
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
