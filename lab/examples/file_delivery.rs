//! What batches and adaptive delivery cost and lose where packets go into a file in memory:
//! `cargo run --release -p tapline-lab --example file_delivery [ROUNDS]`. Needs root and two processors.
//!
//! The two take turns at every load, and what is printed are medians; frames have 128 bytes.

use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use store::write::{CaptureFile, CaptureFileOptions, Output};
use tapline::Stop;
use tapline::capture::{Capture, CaptureOptions, FileConsumer};
use tapline::capture::{DEFAULT_SNAPLEN, DeliveryMode, DirectionFilter};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

const SENDER_CPU: usize = 0;
const READER_CPU: usize = 1;
const FRAMES: u64 = 500_000;
const FRAME_BYTES: usize = 128;
const RING_BYTES: usize = 32 << 20;
/// Packets a second; `None` as fast as the sender can.
const LOADS: [Option<u64>; 3] = [Some(100_000), Some(400_000), None];
const SNAPLENS: [u32; 2] = [DEFAULT_SNAPLEN, 96];

fn deliveries() -> [(&'static str, DeliveryMode); 2] {
    let batch = DeliveryMode::Batch {
        min_bytes: 1 << 20,
        timeout: Duration::from_millis(100),
    };
    let adaptive = DeliveryMode::Adaptive {
        target: Duration::from_micros(200),
    };
    [("batch", batch), ("adaptive", adaptive)]
}

/// Share of the frames lost, and nanoseconds of the reader's processor for each that was not.
#[derive(Clone, Copy)]
struct Trial {
    lost: f64,
    cpu_ns: f64,
    pps: f64,
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let rounds: usize = rounds.unwrap_or(7).clamp(1, 1000);
    let [left, right] = Net::new().pair();
    let mut options = GeneratorOptions::new(left.interface().index, udp_frame(FRAME_BYTES));
    options.batch_frames = 64;
    let mut generator = left.run(|| Generator::new(options));
    right.run(|| generator.attach_peer(right.interface().index));
    for snaplen in SNAPLENS {
        for load in LOADS {
            let mut trials = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                for ((_, delivery), trials) in deliveries().into_iter().zip(&mut trials) {
                    trials.push(one(&left, &right, &mut generator, snaplen, delivery, load));
                }
            }
            for ((name, _), trials) in deliveries().into_iter().zip(&trials) {
                let of = |pick: fn(&Trial) -> f64| median(trials.iter().map(pick).collect());
                let most = trials.iter().map(|trial| trial.lost).fold(0.0, f64::max);
                println!(
                    "snaplen {snaplen:6}  {:4.0} kpps  {name:8}  lost {:6.3} % (at most {:6.3} %)  \
                     {:4.0} ns of processor a packet",
                    of(|trial| trial.pps) / 1e3,
                    of(|trial| trial.lost) * 100.0,
                    most * 100.0,
                    of(|trial| trial.cpu_ns),
                );
            }
        }
    }
}

fn one(
    left: &Host,
    right: &Host,
    generator: &mut Generator,
    snaplen: u32,
    delivery: DeliveryMode,
    load: Option<u64>,
) -> Trial {
    let options = CaptureOptions::default()
        .links(vec![right.interface().name.to_string()])
        .direction(DirectionFilter::In)
        .snaplen(snaplen)
        .delivery(delivery)
        .buffer_bytes(RING_BYTES);
    let capture = right.run(|| Capture::open(options)).expect("a capture");
    let folder = tempfile::TempDir::new_in("/dev/shm").expect("a folder in memory");
    let path = folder.path().join("packets.pcapng");
    let output = CaptureFileOptions::new(Output::Path(path), capture.interfaces().to_vec());
    let file = CaptureFile::create(output, 0).expect("a file");
    let stop = Stop::new().expect("a pipe");
    let stopper = stop.stopper();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            pin_to_cpu(READER_CPU).expect("the reader's processor");
            let mut consumer = FileConsumer::new(file, Duration::from_secs(1));
            let before = cpu_ns();
            let outcome = capture
                .run_consumer(&mut consumer, &stop)
                .expect("the capture succeeds");
            (outcome.account, cpu_ns() - before)
        });
        let sent = left.run(|| {
            pin_to_cpu(SENDER_CPU).expect("the sender's processor");
            generator.deliver(FRAMES, load)
        });
        stopper.stop();
        let (account, cpu_ns) = reader.join().expect("the reader ends");
        Trial {
            lost: account.lost.ring as f64 / FRAMES as f64,
            cpu_ns: cpu_ns as f64 / account.delivered.max(1) as f64,
            pps: sent.delivered_pps(),
        }
    })
}

/// Processor time of this thread.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
