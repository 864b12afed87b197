//! The loss-free rate of two readers with one merged file, beside two readers with a file each.
//!
//! ```text
//! CPU 0: sender ─▶ veth, queue 0 ─▶ stack ─▶ ring 0 ─▶ reader 0 ┐
//!                                                              ├─▶ /dev/null, or two of them
//! CPU 1: sender ─▶ veth, queue 1 ─▶ stack ─▶ ring 1 ─▶ reader 1 ┘
//! ```
//!
//! Each CPU sends, receives and reads, and the merging thread runs where there is time. So the rate is what both CPUs
//! together can do for all of that.

use std::num::NonZeroUsize;
use std::sync::{Barrier, Mutex};
use std::thread::scope;
use std::time::Duration;

use netlink::{Channels, Ethtool};
use ring::TimestampSource;
use rustix::time::ClockId;
use tapline::Stop;
use tapline::capture::{
    CaptureOptions, CaptureSummary, DeliveryMode, FanoutMode, Mode, ParallelCapture, Queues,
    ReaderOptions,
};
use tapline_lab::generator::{Generator, GeneratorOptions, pin_to_cpu, udp_frame};
use tapline_lab::{Host, Net};

use crate::harness::{Column, Report, column, ratios};
use crate::{Nobody, cpu_time, null_file};

const RATES: &str = "Loss-free rate of two readers to /dev/null, a sender on each CPU";
const MERGED: &str = "one file, kpps";
const FILES: &str = "two files, kpps";
const COLUMNS: [Column; 4] = [
    column(MERGED, 1e3, 0),
    column(FILES, 1e3, 0),
    column("one file, lost at full speed, %", 1.0, 2),
    column("two files, lost at full speed, %", 1.0, 2),
];

/// Packets of each sender at full speed: many times what rings and chunks hold.
const PACKETS: u64 = 2_000_000;

/// Memory of the rings, both together.
const RING_BYTES: usize = 64 << 20;

/// As `tapline capture -w` takes packets from rings.
const BATCHES: DeliveryMode = DeliveryMode::Batch {
    min_bytes: usize::MAX,
    timeout: Duration::from_millis(100),
};

/// A rate at which nothing is lost, packets per second of each sender.
const LOW_PPS: u64 = 100_000;

/// Steps of the search for the highest rate without a loss.
const HALVINGS: u32 = 5;

pub struct Rig {
    left: Host,
    right: Host,
    senders: [Generator; 2],
}

/// How packets are captured.
#[derive(Clone, Copy)]
pub struct Way {
    readers: usize,
    is_merged: bool,
    mode: Mode,
    timestamps: TimestampSource,
}

impl Way {
    /// Two readers of packet rings.
    fn mirror(is_merged: bool) -> Self {
        Self::packet_rings(2, is_merged)
    }

    /// Readers of packet rings, with one merged file or a file each.
    pub fn packet_rings(readers: usize, is_merged: bool) -> Self {
        Self {
            readers,
            is_merged,
            mode: Mode::Mirror,
            timestamps: TimestampSource::Kernel,
        }
    }

    /// Readers in drop mode, with a file each.
    pub fn drop(readers: usize, timestamps: TimestampSource) -> Self {
        Self {
            readers,
            is_merged: false,
            mode: Mode::Drop,
            timestamps,
        }
    }
}

pub struct Trial {
    /// Both senders together.
    pps: u64,
    pub delivered: u64,
    pub lost: u64,
    /// Written after younger packets.
    pub late: u64,
    /// CPU time of all threads of the capture per packet, after a warm-up, nanoseconds.
    pub cpu_ns: f64,
}

impl Trial {
    /// Packets that were captured, per second.
    pub fn captured_pps(&self) -> f64 {
        let captured = self.delivered as f64 / (self.delivered + self.lost) as f64;
        self.pps as f64 * captured
    }
}

/// Adds the table and its target.
pub fn measure(report: &mut Report) {
    for bytes in [128, 256] {
        let name = format!("{bytes} bytes");
        let mut rig = Rig::new(bytes, Mode::Mirror);
        for round in report.rounds(&format!("rates, {name}")) {
            let mut figures = [0.0; 4];
            let mut ways = [true, false];
            ways.rotate_left(round as usize % 2);
            for is_merged in ways {
                let (pps, lost) = loss_free(&mut rig, Way::mirror(is_merged), report);
                let place = usize::from(!is_merged);
                (figures[place], figures[2 + place]) = (pps as f64, lost);
            }
            report.table(RATES, &COLUMNS).add(&name, &figures);
        }
    }
    let of = |head| {
        [128, 256]
            .map(|bytes| report.of(RATES, &format!("{bytes} bytes"), head))
            .concat()
    };
    let rates = ratios(&of(MERGED), &of(FILES));
    report.at_least(
        "loss-free rate with one file / with a file for each reader",
        &rates,
        0.85,
    );
}

/// The highest rate without a loss, and the loss at full speed in percent.
fn loss_free(rig: &mut Rig, way: Way, report: &mut Report) -> (u64, f64) {
    let full = report.undisturbed("cpu", || rig.trial(way, None));
    let lost = full.lost as f64 * 100.0 / (full.delivered + full.lost) as f64;
    if full.lost == 0 {
        return (full.pps, lost);
    }
    let (mut low, mut high, mut best) = (LOW_PPS, full.pps / 2, 0);
    for _ in 0..HALVINGS {
        let middle = u64::midpoint(low, high);
        let trial = report.undisturbed("cpu", || rig.trial(way, Some(middle)));
        if trial.lost == 0 {
            (low, best) = (middle, best.max(trial.pps));
        } else {
            high = middle;
        }
    }
    (best, lost)
}

impl Rig {
    /// Two hosts, with a receive queue and a sender for each CPU.
    pub fn new(frame_bytes: usize, mode: Mode) -> Self {
        let [left, right] = Net::new().pair();
        for host in [&left, &right] {
            let mut ethtool = host.run(Ethtool::open).expect("a handle");
            let queues = Channels::new().receive(2).transmit(2);
            let set = ethtool.set_channels(host.interface().name, &queues);
            set.expect("a queue for each CPU");
        }
        let senders = [(); 2].map(|()| {
            let options = GeneratorOptions::new(left.interface().index, udp_frame(frame_bytes));
            left.run(|| Generator::new(options))
        });
        let mut rig = Self {
            left,
            right,
            senders,
        };
        let peer = rig.right.interface().index;
        let [first, second] = &mut rig.senders;
        // In drop mode the capture attaches its program there.
        if mode == Mode::Mirror {
            rig.right.run(|| first.attach_peer(peer));
        }
        rig.left.run(|| second.attach_own());
        rig
    }

    /// Sends from both CPUs, at `rate_pps` each or at full speed.
    pub fn trial(&mut self, way: Way, rate_pps: Option<u64>) -> Trial {
        let count = match (way.mode, rate_pps) {
            (Mode::Mirror, None) => PACKETS,
            (Mode::Mirror, Some(rate)) => rate.min(PACKETS),
            // Several times as fast.
            _ => 4 * PACKETS,
        };
        self.trial_of(way, rate_pps, count, 0)
    }

    /// As [`trial`](Self::trial), with `count` packets of each sender, after `warm_up` at full speed, which are read
    /// before the others come.
    pub fn trial_of(&mut self, way: Way, rate_pps: Option<u64>, count: u64, warm_up: u64) -> Trial {
        let options = CaptureOptions::default()
            .interface(self.right.interface().name.to_string())
            .snaplen(ring::DEFAULT_SNAPLEN)
            .mode(way.mode)
            .timestamps(way.timestamps)
            .delivery(BATCHES)
            .buffer_bytes(RING_BYTES);
        let mut sharing = ReaderOptions::default();
        sharing.queues = Queues::Count(NonZeroUsize::new(way.readers).expect("not zero"));
        sharing.is_merged = way.is_merged;
        sharing.distribution = (way.mode == Mode::Mirror).then_some(FanoutMode::Cpu);
        let capture = self.right.run(|| ParallelCapture::open(options, &sharing));
        let capture = capture.expect("a capture");
        let stop = Stop::new().expect("a pipe");
        let stopper = stop.stopper();
        let (start, process_cpu) = (Barrier::new(self.senders.len()), Mutex::new(Vec::new()));
        let (left, senders) = (&self.left, &mut self.senders);
        let (summary, duration, sender_cpu) = scope(|scope| {
            let running = scope.spawn(|| run(capture, way, &stop));
            let sending = senders.iter_mut().enumerate().map(|(cpu, sender)| {
                let (start, process_cpu) = (&start, &process_cpu);
                scope.spawn(move || {
                    left.run(|| {
                        pin_to_cpu(cpu).expect("two CPUs");
                        if warm_up > 0 {
                            sender.send(warm_up, None);
                            sender.send(warm_up / 8, rate_pps);
                        }
                        let times = || {
                            if start.wait().is_leader() {
                                let mut all = process_cpu.lock().expect("no panic");
                                all.push(cpu_time(ClockId::ProcessCPUTime));
                            }
                            cpu_time(ClockId::ThreadCPUTime)
                        };
                        let before = times();
                        let duration = sender.send(count, rate_pps).duration;
                        (duration, times().saturating_sub(before))
                    })
                })
            });
            let sending: Vec<_> = sending.collect();
            let sent = sending.into_iter().map(|one| one.join().expect("sent"));
            let (durations, cpu): (Vec<_>, Vec<_>) = sent.unzip();
            let duration = durations.into_iter().max().unwrap_or(Duration::ZERO);
            stopper.stop();
            let summary = running.join().expect("a summary");
            (summary, duration, cpu.into_iter().sum::<Duration>())
        });
        let process_cpu = process_cpu.into_inner().expect("no panic");
        let cpu = process_cpu[1].saturating_sub(process_cpu[0]);
        let cpu = cpu.saturating_sub(sender_cpu);
        let account = summary.account;
        let lost = account.lost.total();
        let packets = u128::from(2 * count);
        Trial {
            pps: (packets * 1_000_000_000 / duration.as_nanos().max(1)) as u64,
            delivered: account.delivered,
            lost,
            late: summary.merge.map_or(0, |merge| merge.late),
            cpu_ns: cpu.as_nanos() as f64 / packets as f64,
        }
    }
}

fn run(capture: ParallelCapture, way: Way, stop: &Stop) -> CaptureSummary {
    let summary = if way.is_merged {
        capture.run_file(&mut null_file(), stop)
    } else {
        let mut files: Vec<_> = (0..way.readers).map(|_| null_file()).collect();
        capture.run_files(&mut files, &mut Nobody, stop)
    };
    summary.expect("a summary")
}
