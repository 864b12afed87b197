//! The measured tasks: the link, the sender, and the figures of a turn.

use std::hint;
use std::time::{Duration, Instant};

use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, send_frames, udp_frame};
use tapline_lab::{Host, Net};

use crate::harness::{Column, column};
use crate::reader::{self, Reader};

const SENDER_CPU: usize = 0;
pub const READER_CPU: usize = 1;

/// Name of the readers' CPU in /proc/stat.
pub const READER: &str = "cpu1";
const FRAME_BYTES: usize = 128;
const SECOND: Duration = Duration::from_secs(1);

pub struct Task {
    pub part: &'static str,
    pub title: &'static str,
    /// Turns per round. Wake-up latency drifts with the machine, and steal time of some milliseconds should spoil only
    /// one short turn.
    pub turns: usize,
    /// How long the reader stalls, repeatedly.
    stall: Option<Duration>,
    /// Sends the task's frames and returns how long that took.
    send: fn(&Rig) -> Duration,
}

pub const TASKS: [Task; 4] = [
    Task {
        part: "sparse",
        title: "a packet every 5 to 15 ms",
        turns: 8,
        stall: None,
        send: |rig| rig.send_at(scattered().take(40)),
    },
    Task {
        part: "dense",
        title: "100 000 packets/s",
        turns: 8,
        stall: None,
        send: |rig| rig.send_at(steady(100_000, 25_000)),
    },
    Task {
        part: "stall",
        title: "50 000 packets/s, the reader away for 200 ms twice a second",
        turns: 1,
        stall: Some(Duration::from_millis(200)),
        send: |rig| rig.send_at(steady(50_000, 75_000)),
    },
    Task {
        part: "jump",
        title: "10 packets/s, 500 000, and 10 again",
        turns: 2,
        stall: None,
        send: |rig| {
            let mut generator = rig.generator();
            let [low, high] = [(5, 10), (250_000, 500_000)];
            let send = |(count, rate_pps)| rig.generate(&mut generator, count, rate_pps);
            [low, high, low, high, low].map(send).iter().sum()
        },
    },
];

pub const P50: &str = "p50, us";
pub const P99: &str = "p99";
pub const MAX: &str = "max";
pub const CPU: &str = "CPU, %";
pub const LOST: &str = "lost";

pub const COLUMNS: [Column; 7] = [
    column(P50, 1.0, 0),
    column(P99, 1.0, 0),
    column("p99.9", 1.0, 0),
    column(MAX, 1.0, 0),
    column(CPU, 1.0, 1),
    column("sleeps/s", 1.0, 0),
    column(LOST, 1.0, 0),
];

pub struct Rig {
    sender: Host,
    pub receiver: Host,
}

impl Rig {
    /// # Panics
    /// Without root or a second CPU.
    pub fn build() -> Self {
        pin_to_cpu(READER_CPU).expect("two CPUs, 0 and 1: one sends, one reads");
        let [sender, receiver] = Net::new().pair();
        Self { sender, receiver }
    }

    /// The interface to capture from.
    pub fn interface(&self) -> String {
        self.receiver.interface().name.to_string()
    }

    /// Runs one turn of a reader at a task. Returns a row of [`COLUMNS`].
    pub fn trial(&self, task: &Task, reader: &Reader) -> [f64; 7] {
        let before = self.receiver.counters().rx_packets;
        let (read, time) = reader::run(self, reader, task.stall, || (task.send)(self));
        let offered = self.receiver.counters().rx_packets - before;
        let us = |share| {
            let ns = read.delays.quantile(share);
            ns.map_or(f64::NAN, |ns| ns as f64 / 1000.0)
        };
        let seconds = time.as_secs_f64();
        [
            us(0.5),
            us(0.99),
            us(0.999),
            us(1.0),
            100.0 * read.used.cpu.as_secs_f64() / seconds,
            read.used.waits as f64 / seconds,
            offered.saturating_sub(read.delays.histogram.count()) as f64,
        ]
    }

    /// Sends one frame at each of the given moments from now, busy-waiting on the clock. Returns how long that took.
    fn send_at(&self, moments: impl Iterator<Item = Duration> + Send) -> Duration {
        let out = self.sender.interface().index;
        let frame = udp_frame(FRAME_BYTES);
        self.sender.run(move || {
            pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
            let start = Instant::now();
            let due = moments.map(|moment| {
                while start.elapsed() < moment {
                    hint::spin_loop();
                }
                &frame
            });
            send_frames(out, due).expect("frames are sent");
            start.elapsed()
        })
    }

    /// Creates a generator for many frames.
    fn generator(&self) -> Generator {
        let options = GeneratorOptions::new(self.sender.interface().index, udp_frame(FRAME_BYTES));
        let mut generator = self.sender.run(|| Generator::new(options));
        let peer = self.receiver.interface().index;
        self.receiver.run(|| generator.attach_peer(peer));
        generator
    }

    /// Sends with `generator` at a rate and returns how long that took.
    fn generate(&self, generator: &mut Generator, count: u64, rate_pps: u64) -> Duration {
        self.sender.run(|| {
            pin_to_cpu(SENDER_CPU).expect("the sender's CPU");
            generator.deliver(count, Some(rate_pps)).duration
        })
    }
}

fn steady(rate_pps: u32, count: u32) -> impl Iterator<Item = Duration> + Send {
    (0..count).map(move |number| SECOND * number / rate_pps)
}

/// Moments 5 to 15 ms apart, pseudo-random (a linear congruential generator).
fn scattered() -> impl Iterator<Item = Duration> + Send {
    let mut state: u64 = 1;
    let mut now_us = 0;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        now_us += 5_000 + (state >> 33) % 10_000;
        Duration::from_micros(now_us)
    })
}
