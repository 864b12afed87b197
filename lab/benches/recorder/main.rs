//! Compares CPU time per packet of a flight recorder with that of writing the same packets to /dev/null, and with that
//! of writing them and copying them once into memory of the recorder's size.
//!
//! Fills a ring while nobody reads, then measures the CPU time of the thread that reads it up to the limit. The
//! recorder's memory has been used once before, as that of the file's buffer has.

#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;
use std::time::Duration;

use tapline::capture::{
    Backend, Capture, Consumer, ConsumerError, FileConsumer, Recorder, RecorderOptions,
};
use tapline::file::model::Statistics;
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::{Packet, Stop};

use harness::{BenchOptions, Column, FullRing, Report, column, ratios};

const PACKETS: u64 = 100_000;

/// Queues of a device of 120 Gbit/s, the rate that FlowScope publishes (Emmerich et al., "FlowScope: Efficient packet capture
/// and storage in 100 Gbit/s networks", 2017).
const QUEUES: f64 = 64.0;

/// Packets of a queue, with the 20 bytes that Ethernet adds to each on the wire.
const QUEUE_PPS: f64 = 120e9 / 8.0 / (128.0 + 20.0) / QUEUES;

/// Maximum cost of the recorder relative to the file and the copy.
const LIMIT: f64 = 1.0;

const MEMORY: usize = 4 << 20;

const COLUMNS: [Column; 3] = [
    column(NULL, 1.0, 1),
    column(COPY, 1.0, 1),
    column(RECORD, 1.0, 1),
];
const NULL: &str = "/dev/null, ns";
const COPY: &str = "/dev/null and one copy, ns";
const RECORD: &str = "recorder, ns";

/// What takes the packets, as [`COLUMNS`].
#[derive(Clone, Copy)]
enum Taker {
    Null,
    NullAndCopy,
    Recorder,
}

fn main() -> ExitCode {
    harness::run(30, &[], measure)
}

fn measure(_: &BenchOptions, report: &mut Report) {
    let title = format!("CPU of the reader per packet, {PACKETS} packets of 128 bytes in its ring");
    let mut ring = FullRing::new(PACKETS, 128);
    for round in report.rounds("packets") {
        // They take turns to go first.
        let mut takers = [Taker::Null, Taker::NullAndCopy, Taker::Recorder];
        let mut times = [0.0; 3];
        takers.rotate_left(round as usize % 3);
        for taker in takers {
            times[taker as usize] = read_ns(&mut ring, taker);
        }
        report.table(&title, &COLUMNS).add("packet-v3", &times);
    }
    let table = report.table(&title, &COLUMNS);
    table.derive(column("recorder / /dev/null", 1.0, 3), |table, name| {
        ratios(table.of(name, RECORD), table.of(name, NULL))
    });
    let [record, copy] = [RECORD, COPY].map(|of| report.of(&title, "packet-v3", of));
    let ratios = ratios(&record, &copy);
    report.at_most("recorder / (/dev/null and one copy)", &ratios, LIMIT);
    let busy: Vec<_> = record.iter().map(|ns| ns * QUEUE_PPS * 1e-9).collect();
    let what = format!(
        "120 Gbit/s of 128-byte packets in {QUEUES} queues with a recorder each: part of a CPU for each, from the figure above"
    );
    report.at_most(&what, &busy, 1.0);
}

/// CPU nanoseconds per packet to read a full ring.
fn read_ns(ring: &mut FullRing, taker: Taker) -> f64 {
    let capture = ring.open(Backend::PacketV3);
    let interfaces = capture.interfaces().to_vec();
    let null = || {
        let options = CaptureFileOptions::new(Output::Path("/dev/null".into()), interfaces.clone());
        let file = CaptureFile::create(options, 0).expect("a file");
        FileConsumer::new(file, Duration::from_secs(1))
    };
    match taker {
        Taker::Null => used(ring, capture, &mut null()),
        Taker::NullAndCopy => {
            let (file, memory) = (null(), vec![1; MEMORY]);
            used(
                ring,
                capture,
                &mut Copier {
                    file,
                    memory,
                    at: 0,
                },
            )
        }
        Taker::Recorder => {
            let files = interfaces.clone();
            let files = move |_| {
                let output = Output::Path("/dev/null".into());
                Ok(CaptureFileOptions::new(output, files.clone()))
            };
            let options = RecorderOptions::new(MEMORY, Box::new(files));
            let mut recorder = Recorder::new(options, &interfaces).expect("a recorder");
            let old = tapline::file::model::Packet::new(0, &[0; 96]);
            for _ in 0..50_000 {
                recorder.packet(&Packet::from(old)).expect("kept");
            }
            used(ring, capture, &mut recorder)
        }
    }
}

/// Writes packets to a file, and copies each into memory that is used again and again.
struct Copier {
    file: FileConsumer,
    memory: Vec<u8>,
    at: usize,
}

impl Consumer for Copier {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let bytes = packet.data();
        if self.memory.len() - self.at < bytes.len() {
            self.at = 0;
        }
        self.memory[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self.file.packet(packet)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        self.file.finish(statistics)
    }
}

fn used(ring: &FullRing, capture: Capture, consumer: &mut impl Consumer) -> f64 {
    let stop = Stop::new().expect("a pipe");
    ring.thread_ns(|| {
        let summary = capture.run_consumer(consumer, &stop);
        summary.expect("a summary").account
    })
}
