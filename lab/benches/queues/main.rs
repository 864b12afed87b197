//! Several readers: what merging costs by the number of queues, and what two readers cost beside one.
//!
//! - `merge`: chunks of 2 to 64 queues in memory are merged into a file that takes everything. The CPU time per packet
//!   must not grow faster than the logarithm of the number of queues.
//! - `readers`, `rates`, `mgcap`: see [`readers`], [`rates`] and [`mgcap`].

#[path = "../harness/mod.rs"]
mod harness;
mod mgcap;
mod rates;
mod readers;

use std::process::ExitCode;
use std::time::Duration;

use abi::process::thread_usage;
use rustix::time::{ClockId, clock_gettime};
use store::model::{Interface, LinkType, Packet as Record};
use store::write::{CaptureFile, CaptureFileOptions, ChunkMerge, Output, PacketChunk};
use tapline::Packet;
use tapline::capture::{Consumer, ConsumerError, FileConsumer};

use harness::{Report, column, ratios};

const PARTS: [&str; 4] = ["merge", "readers", "rates", "mgcap"];

const QUEUES: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Packets that are merged in memory.
const PACKETS: u64 = 200_000;

const MERGE: &str = "CPU of the merger per packet, chunks of 128-byte packets in memory";
const MERGE_NS: &str = "ns";

fn main() -> ExitCode {
    harness::run(15, &PARTS, |options, report| {
        if options.has("merge") {
            measure_merge(report);
        }
        if options.has("readers") {
            readers::measure(report);
        }
        if options.has("rates") {
            rates::measure(report);
        }
        if options.has("mgcap") {
            mgcap::measure(report);
        }
    })
}

fn measure_merge(report: &mut Report) {
    for _ in report.rounds("merge") {
        for queues in QUEUES {
            let ns = merge_ns(queues);
            let table = report.table(MERGE, &[column(MERGE_NS, 1.0, 1)]);
            table.add(&format!("{queues} queues"), &[ns]);
        }
    }
    let of = |queues: usize| report.of(MERGE, &format!("{queues} queues"), MERGE_NS);
    let growth = ratios(&of(64), &of(2));
    // log2(64) / log2(2).
    report.at_most("cost of 64 queues / cost of 2", &growth, 6.0);
}

/// CPU nanoseconds per packet to merge packets that arrive at random among `queues` queues: as bad as it gets, since
/// packets that follow each other in a queue are written together.
fn merge_ns(queues: usize) -> f64 {
    let output = Output::Path("/dev/null".into());
    let mut file = CaptureFile::create(file_options(output), 0).expect("a file");
    let encoder = file.chunk_encoder();
    let bytes_each = 256 * PACKETS as usize / queues;
    let mut chunks: Vec<_> = (0..queues).map(|_| PacketChunk::new(bytes_each)).collect();
    let mut random = 1_u64;
    for number in 0..PACKETS {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let chunk = &mut chunks[(random >> 33) as usize % queues];
        let record = Record::new(number, &[7; 128]);
        assert!(encoder.encode(&record, chunk).expect("a packet"), "room");
    }
    let before = thread_usage();
    let mut merge = ChunkMerge::new(queues);
    for (queue, chunk) in chunks.into_iter().enumerate() {
        merge.add(queue, chunk);
    }
    let mut remaining = u64::MAX;
    let merged = merge.write_before(u64::MAX, &mut file, &mut remaining);
    merged.expect("they are written");
    let used = thread_usage().cpu.saturating_sub(before.cpu);
    assert_eq!(file.packets_accepted(), PACKETS);
    used.as_nanos() as f64 / PACKETS as f64
}

fn file_options(output: Output) -> CaptureFileOptions {
    CaptureFileOptions::new(output, vec![Interface::new(LinkType::ETHERNET, 0)])
}

/// A consumer that gets no packets.
struct Nobody;

impl Consumer for Nobody {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(())
    }
}

/// A file that takes everything.
fn null_file() -> FileConsumer {
    let output = Output::Path("/dev/null".into());
    let file = CaptureFile::create(file_options(output), 0).expect("a file");
    FileConsumer::new(file, Duration::from_secs(1))
}

fn cpu_time(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).expect("a time after the start")
}
