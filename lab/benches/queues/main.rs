//! Several readers: what merging costs by the number of queues, and what two readers cost beside one.
//!
//! - `merge`: chunks of 2 to 64 queues in memory are merged into a file that takes everything. The CPU time per packet
//!   must not grow faster than the logarithm of the number of queues.
//! - `readers`: rings are filled while nobody reads. Then one reader, or two with one file or two files, read them to
//!   `/dev/null`. Two readers share the two CPUs with nobody, so their CPU time per packet is compared, not their rate.
//! - `rates`, `mgcap`: see [`rates`] and [`mgcap`].

#[path = "../harness/mod.rs"]
mod harness;
mod mgcap;
mod rates;

use std::io;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use abi::process::thread_usage;
use rustix::time::{ClockId, clock_gettime};
use store::model::{Interface, LinkType, Packet as Record};
use store::write::{CaptureFile, CaptureFileOptions, ChunkMerge, Output, PacketChunk};
use tapline::capture::{
    CaptureOptions, CaptureSummary, Consumer, ConsumerError, FanoutMode, FileConsumer,
    ParallelCapture, Queues, ReaderOptions,
};
use tapline::{Packet, Stop};

use harness::{BenchOptions, Column, FullRing, Report, column, ratios};

const PARTS: [&str; 4] = ["merge", "readers", "rates", "mgcap"];

const QUEUES: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Packets that are merged in memory.
const PACKETS: u64 = 200_000;

/// Packets in the rings: so many that memory that is used for the first time does not dominate.
const RING_PACKETS: u64 = 2_000_000;

const MERGE: &str = "CPU of the merger per packet, chunks of 128-byte packets in memory";
const MERGE_NS: &str = "ns";

const READERS: &str = "CPU per packet from rings to /dev/null, all threads";
const ONE: &str = "one reader, ns";
const TWO: &str = "two readers, one file, ns";
const FILES: &str = "two readers, two files, ns";
const COLUMNS: [Column; 3] = [
    column(ONE, 1.0, 1),
    column(TWO, 1.0, 1),
    column(FILES, 1.0, 1),
];

fn main() -> ExitCode {
    harness::run(15, &PARTS, |options, report| {
        if options.has("merge") {
            measure_merge(report);
        }
        if options.has("readers") {
            measure_readers(options, report);
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
    let output = Output::Stream {
        writer: Box::new(io::sink()),
        name: "nothing".into(),
    };
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

/// Who reads.
#[derive(Clone, Copy)]
enum Readers {
    One,
    Two,
    TwoFiles,
}

fn measure_readers(_: &BenchOptions, report: &mut Report) {
    for bytes in [128, 256] {
        let name = format!("{bytes} bytes");
        let mut ring = FullRing::new(RING_PACKETS, bytes);
        for round in report.rounds(&name) {
            // They take turns to go first.
            let mut all = [Readers::One, Readers::Two, Readers::TwoFiles];
            all.rotate_left(round as usize % 3);
            let mut times = [0.0; 3];
            for readers in all {
                times[readers as usize] = read_ns(&mut ring, readers);
            }
            report.table(READERS, &COLUMNS).add(&name, &times);
        }
    }
    let of = |report: &Report, head| {
        [128, 256]
            .map(|bytes| report.of(READERS, &format!("{bytes} bytes"), head))
            .concat()
    };
    let [one, two, files] = [ONE, TWO, FILES].map(|head| of(report, head));
    report.at_most(
        "two readers with a file each / one reader",
        &ratios(&files, &one),
        1.1,
    );
    report.at_most(
        "two readers with one file / one reader",
        &ratios(&two, &one),
        1.1,
    );
    report.at_most(
        "one file / a file for each reader",
        &ratios(&two, &files),
        1.15,
    );
    report.note(
        "Two readers have no CPUs that are free of the sender here, so their CPU per packet is compared, and no rate.",
    );
}

/// A consumer that gets no packets.
struct Nobody;

impl Consumer for Nobody {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(())
    }
}

/// CPU nanoseconds per packet, of the whole process, to read full rings.
fn read_ns(ring: &mut FullRing, readers: Readers) -> f64 {
    let options = CaptureOptions::default()
        .interface(ring.host().interface().name.to_string())
        .snaplen(ring::DEFAULT_SNAPLEN)
        .buffer_bytes(1 << 30);
    let mut sharing = ReaderOptions::default();
    let count = match readers {
        Readers::One => 1,
        Readers::Two | Readers::TwoFiles => 2,
    };
    sharing.queues = Queues::Count(NonZeroUsize::new(count).expect("not zero"));
    // The generator sends one flow.
    sharing.distribution = Some(FanoutMode::Random);
    let options = match readers {
        // They end by themselves: the last of them some time after the others.
        Readers::TwoFiles => options.duration(Duration::from_millis(1)),
        // If the rings have lost some, the time ends it.
        _ => (options.packets(RING_PACKETS)).duration(Duration::from_secs(20)),
    };
    let stop = Stop::new().expect("a pipe");
    let (used, summary) = match readers {
        Readers::One => {
            let capture = ring.host().run(|| options.open()).expect("a capture");
            ring.fill();
            let mut file = null_file();
            timed(|| capture.run_consumer(&mut file, &stop).expect("a summary"))
        }
        Readers::Two => {
            let capture = ring.host().run(|| ParallelCapture::open(options, &sharing));
            let capture = capture.expect("a capture");
            ring.fill();
            let mut file = null_file();
            timed(|| capture.run_file(&mut file, &stop).expect("a summary"))
        }
        Readers::TwoFiles => {
            let capture = ring.host().run(|| ParallelCapture::open(options, &sharing));
            let capture = capture.expect("a capture");
            ring.fill();
            let mut files = [null_file(), null_file()];
            timed(|| {
                let summary = capture.run_files(&mut files, &mut Nobody, &stop);
                summary.expect("a summary")
            })
        }
    };
    ring.ns(used, &summary.account)
}

/// A file that takes everything.
fn null_file() -> FileConsumer {
    let output = Output::Path("/dev/null".into());
    let file = CaptureFile::create(file_options(output), 0).expect("a file");
    FileConsumer::new(file, Duration::from_secs(1))
}

/// CPU time of the process, and the summary.
fn timed(run: impl FnOnce() -> CaptureSummary) -> (Duration, CaptureSummary) {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::try_from(time).expect("a time after the start")
    };
    let before = now();
    let summary = run();
    (now().saturating_sub(before), summary)
}
