//! Compares CPU time per packet of a flight recorder with that of writing the same packets to /dev/null, and with that
//! of writing them and copying them once into memory of the recorder's size.
//!
//! Fills a ring while nobody reads, then measures the CPU time of the thread that reads it up to the limit. The
//! recorder's memory has been used once before, as that of the file's buffer has.

#[path = "../harness/mod.rs"]
mod harness;

use std::process::ExitCode;
use std::time::Duration;

use abi::process::thread_usage;
use tapline::capture::{
    Backend, Capture, CaptureOptions, Consumer, ConsumerError, FileConsumer, Recorder,
    RecorderOptions,
};
use tapline::file::model::Statistics;
use tapline::file::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::{Packet, Stop};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

use harness::{BenchOptions, Column, Report, column, ratios};

const PACKETS: u64 = 100_000;

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
    let [left, right] = Net::new().pair();
    let options = GeneratorOptions::new(left.interface().index, udp_frame(128));
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    for round in report.rounds("packets") {
        // They take turns to go first.
        let mut takers = [Taker::Null, Taker::NullAndCopy, Taker::Recorder];
        let mut times = [0.0; 3];
        takers.rotate_left(round as usize % 3);
        for taker in takers {
            times[taker as usize] = read_ns(&left, &right, &mut generator, taker);
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
}

/// CPU nanoseconds per packet to read a full ring.
fn read_ns(left: &Host, right: &Host, generator: &mut Generator, taker: Taker) -> f64 {
    pin_to_cpu(1).expect("a second CPU");
    let options = CaptureOptions::default()
        .interface(right.interface().name.to_string())
        .backend(Backend::PacketV3)
        .snaplen(96)
        .buffer_bytes(64 << 20)
        .packets(PACKETS);
    let capture = right.run(|| options.open()).expect("a capture");
    let sent = left.run(|| generator.deliver(PACKETS, None));
    assert_eq!(sent.delivered, PACKETS);
    let interfaces = capture.interfaces().to_vec();
    let null = || {
        let options = CaptureFileOptions::new(Output::Path("/dev/null".into()), interfaces.clone());
        let file = CaptureFile::create(options, 0).expect("a file");
        FileConsumer::new(file, Duration::from_secs(1))
    };
    let used = match taker {
        Taker::Null => used(capture, &mut null()),
        Taker::NullAndCopy => {
            let (file, memory) = (null(), vec![1; MEMORY]);
            used(
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
            used(capture, &mut recorder)
        }
    };
    used.as_nanos() as f64 / PACKETS as f64
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

fn used(capture: Capture, consumer: &mut impl Consumer) -> Duration {
    let stop = Stop::new().expect("a pipe");
    let before = thread_usage();
    let summary = capture.run_consumer(consumer, &stop);
    let used = thread_usage().cpu.saturating_sub(before.cpu);
    let account = summary.expect("a summary").account;
    let found = (account.delivered, account.lost.total());
    assert_eq!(found, (PACKETS, 0));
    used
}
