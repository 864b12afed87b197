//! Runs a reader and collects its results.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::harness::{Counted, Report, Running, Used, on_cpu, packets_in, wait_for_capture};
use crate::rig::{Arrival, READER_CPU, Rig};
use crate::tool::Tool;

/// All CPUs, in /proc/stat.
pub const ALL_CPUS: &str = "cpu";

/// A rate that every reader sustains.
pub const PACED_PPS: u64 = 500_000;
const PACED_FRAMES: u64 = 1_000_000;
/// Bisection steps for the loss-free rate of a reader that keeps up with much of what is sent.
pub const HALVINGS: u32 = 5;

/// Time for a reader to drain its ring.
const WORK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    Null,
    Tmpfs,
}

impl Sink {
    pub const ALL: [Self; 2] = [Self::Null, Self::Tmpfs];

    pub fn part(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Tmpfs => "tmpfs",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Null => "to /dev/null",
            Self::Tmpfs => "to tmpfs",
        }
    }
}

/// One run of a reader.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Frames that arrived at its interface.
    pub offered: u64,
    pub offered_pps: u64,
    pub seconds: f64,
    /// CPU time of the sender, including the receiver's driver and stack.
    sender_cpu: Duration,
    pub counted: Counted,
    /// The reader's usage from its first wait for packets to its exit.
    pub used: Used,
    /// Packets in its file, if the file is readable.
    pub in_file: Option<u64>,
}

impl Trial {
    /// Packets that arrived but were not captured.
    pub fn lost(&self) -> u64 {
        let captured = self.counted.captured;
        let kept = self
            .in_file
            .map_or(captured, |packets| packets.min(captured));
        self.offered.saturating_sub(kept)
    }

    /// CPU time of the reader in nanoseconds per packet.
    pub fn cost_ns(&self) -> f64 {
        self.used.cpu.as_nanos() as f64 / self.counted.captured.max(1) as f64
    }

    /// CPU time of the sender in nanoseconds per packet.
    pub fn sender_ns(&self) -> f64 {
        self.sender_cpu.as_nanos() as f64 / self.offered.max(1) as f64
    }
}

/// The results of one reader in a round.
pub struct Outcome {
    pub paced: Trial,
    pub full: Trial,
    /// Trials between the two.
    between: Vec<Trial>,
}

impl Outcome {
    /// Searches for the highest loss-free rate between two trials. Each rate runs for a second, or less if the file
    /// would be too large.
    pub fn search(
        paced: Trial,
        full: Trial,
        halvings: u32,
        mut at_rate: impl FnMut(u64) -> Trial,
    ) -> Self {
        let mut between = Vec::new();
        let mut low = if paced.lost() == 0 {
            paced.offered_pps
        } else {
            0
        };
        let mut high = full.offered_pps;
        let halvings = if full.lost() == 0 { 0 } else { halvings };
        for _ in 0..halvings {
            let middle = u64::midpoint(low, high);
            let trial = at_rate(middle);
            if trial.lost() == 0 {
                low = middle;
            } else {
                high = middle;
            }
            between.push(trial);
        }
        Self {
            paced,
            full,
            between,
        }
    }

    fn trials(&self) -> impl Iterator<Item = &Trial> {
        [&self.paced, &self.full].into_iter().chain(&self.between)
    }

    /// The highest loss-free rate; 0 if there is none.
    pub fn loss_free_pps(&self) -> u64 {
        let clean = self.trials().filter(|trial| trial.lost() == 0);
        clean.map(|trial| trial.offered_pps).max().unwrap_or(0)
    }

    /// Trials in which the file and the reader's counter disagree.
    pub fn miscounted(&self) -> impl Iterator<Item = &Trial> {
        let differs = |trial: &&Trial| trial.in_file.is_some_and(|n| n != trial.counted.captured);
        self.trials().filter(differs)
    }
}

/// How a reader starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// From its start until it sleeps on its packet socket.
    pub time: Duration,
    /// What it used of that.
    pub cpu: Duration,
}

impl Start {
    /// The shorter times of two starts.
    pub fn or_faster(self, other: Self) -> Self {
        Self {
            time: self.time.min(other.time),
            cpu: self.cpu.min(other.cpu),
        }
    }
}

/// Starts a reader, and ends it when it waits for packets. Its end is not measured: closing the socket takes longer than all
/// of the start.
pub fn start(rig: &Rig, tool: &Tool) -> Start {
    let mut command = tool.command(rig);
    let file = Path::new("/dev/null");
    command.args(tool.arguments(rig, file, &PACED_FRAMES.to_string()));
    let begin = Instant::now();
    let mut reader = on_cpu(READER_CPU, || Running::start(command));
    wait_for_capture(&mut reader, rig.receiver.interface().index.0, None);
    let start = Start {
        time: begin.elapsed(),
        cpu: reader.used().cpu,
    };
    reader.interrupt();
    let finished = reader.finish();
    assert!(
        finished.status.success(),
        "{} ended with {}: {}",
        tool.name,
        finished.status,
        finished.text
    );
    start
}

/// Runs a trial at a rate, or at full speed.
pub fn run(rig: &Rig, tool: &Tool, sink: Sink, rate: Option<u64>, report: &mut Report) -> Trial {
    let count = match rate {
        Some(PACED_PPS) => PACED_FRAMES,
        Some(rate) => rate.min(tool.most_frames()),
        None => tool.most_frames(),
    };
    report.undisturbed(ALL_CPUS, || one_trial(rig, tool, sink, count, rate))
}

fn one_trial(rig: &Rig, tool: &Tool, sink: Sink, count: u64, rate_pps: Option<u64>) -> Trial {
    let path = match sink {
        Sink::Null => "/dev/null".into(),
        Sink::Tmpfs => rig.folder.path().join("capture"),
    };
    let mut traffic = rig.traffic(tool.arrival());
    let mut command = tool.command(rig);
    command.args(tool.arguments(rig, &path, &count.to_string()));
    let mut reader = on_cpu(READER_CPU, || Running::start(command));
    // The sockets of a program with XDP are not listed: it prints when its program is attached.
    let printed = (tool.arrival() == Arrival::Reader).then(|| tool.capturer().begins());
    wait_for_capture(&mut reader, rig.receiver.interface().index.0, printed);
    let before = reader.used();
    let (sent, sender_cpu) = traffic.deliver(count, rate_pps);
    // It exits after `count` packets, and is interrupted if it lost some.
    if !reader.has_ended(tool.capturer().block_timeout() + WORK) {
        reader.interrupt();
    }
    let finished = reader.finish();
    let counted = tool.capturer().counted(&finished.text);
    let Some(counted) = counted.filter(|_| finished.status.success()) else {
        panic!(
            "{} ended with {}: {}",
            tool.name, finished.status, finished.text
        );
    };
    let in_file = (sink == Sink::Tmpfs).then(|| {
        let packets = packets_in(&path);
        fs::remove_file(&path).expect("the file is removed");
        packets
    });
    Trial {
        offered: sent.delivered,
        offered_pps: per_second(sent.delivered, sent.duration),
        seconds: sent.duration.as_secs_f64(),
        sender_cpu,
        counted,
        used: finished.used.since(before),
        in_file,
    }
}

pub fn per_second(count: u64, time: Duration) -> u64 {
    (u128::from(count) * 1_000_000_000 / time.as_nanos().max(1)) as u64
}
