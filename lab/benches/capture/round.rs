//! A round: every reader at every task, taking turns.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use store::read::Reader as FileReader;

use crate::harness::{TRIES, undisturbed};
use crate::reader::{Finished, Reader};
use crate::rig::{Arrival, DROP_FRAMES, Rig};
use crate::tool::Tool;

/// All processors, in /proc/stat.
const ALL: &str = "cpu";

/// A rate that every reader sustains.
pub const PACED_PPS: u64 = 500_000;
const PACED_FRAMES: u64 = 1_000_000;
/// Halvings of the interval in which the loss-free rate lies.
const HALVINGS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    Null,
    Tmpfs,
}

impl Sink {
    pub const ALL: [Self; 2] = [Self::Null, Self::Tmpfs];

    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "/dev/null",
            Self::Tmpfs => "tmpfs",
        }
    }
}

/// One start of a reader.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Frames that arrived at its interface.
    pub offered: u64,
    pub offered_pps: u64,
    pub seconds: f64,
    /// Processor time of the sender, in which the receiver's driver and stack work too.
    pub sender_cpu: Duration,
    pub reader: Finished,
    /// Packets in its file, if that can be read.
    pub in_file: Option<u64>,
    /// Which try it was: before it a hypervisor took a processor away. Beyond [`TRIES`] it did so in this one, too.
    pub tries: usize,
}

impl Trial {
    /// Packets that were offered and not captured.
    pub fn lost(&self) -> u64 {
        let captured = self.reader.counted.captured;
        let kept = self
            .in_file
            .map_or(captured, |packets| packets.min(captured));
        self.offered.saturating_sub(kept)
    }

    /// Reader's processor time, nanoseconds a packet.
    pub fn cost_ns(&self) -> f64 {
        self.reader.cpu.as_nanos() as f64 / self.reader.counted.captured.max(1) as f64
    }

    /// Sender's processor time, nanoseconds a packet.
    pub fn sender_ns(&self) -> f64 {
        self.sender_cpu.as_nanos() as f64 / self.offered.max(1) as f64
    }

    fn counts_right(&self) -> bool {
        self.in_file
            .is_none_or(|packets| packets == self.reader.counted.captured)
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "tries": self.tries.min(TRIES),
            "is_disturbed": self.tries > TRIES,
            "offered": self.offered,
            "offered_pps": self.offered_pps,
            "captured": self.reader.counted.captured,
            "in_file": self.in_file,
            "lost": self.lost(),
            "lost_by_own_count": self.reader.counted.lost,
            "reader_cpu_ns": self.reader.cpu.as_nanos() as u64,
            "reader_cpu_ns_per_packet": self.cost_ns(),
            "sender_cpu_ns_per_packet": self.sender_ns(),
            "wakeups_per_s": self.reader.waits as f64 / self.seconds,
        })
    }
}

/// What one reader did in a round.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Place in the list of tools.
    pub tool: usize,
    pub name: String,
    pub sink: Sink,
    pub paced: Trial,
    pub full: Trial,
    /// Trials between the two.
    pub between: Vec<Trial>,
}

impl Outcome {
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        [&self.paced, &self.full].into_iter().chain(&self.between)
    }

    /// The highest rate without a loss; 0 when there was none.
    pub fn loss_free_pps(&self) -> u64 {
        let clean = self.trials().filter(|trial| trial.lost() == 0);
        clean.map(|trial| trial.offered_pps).max().unwrap_or(0)
    }

    /// Trials in which the file holds another number of packets than the reader counted.
    pub fn miscounted(&self) -> impl Iterator<Item = &Trial> {
        self.trials().filter(|trial| !trial.counts_right())
    }
}

#[derive(Debug)]
pub struct Round {
    pub results: Vec<Outcome>,
    /// Frames that an empty XDP program drops, per second.
    pub drop_pps: u64,
}

impl Round {
    pub fn print_json(&self, number: u32) {
        let line = json!({"event": "xdp_drop", "round": number, "pps": self.drop_pps});
        println!("{line}");
        for result in &self.results {
            let line = json!({
                "event": "result",
                "round": number,
                "tool": result.name,
                "sink": result.sink.name(),
                "paced": result.paced.json(),
                "full": result.full.json(),
                "between": result.between.iter().map(Trial::json).collect::<Vec<_>>(),
                "loss_free_pps": result.loss_free_pps(),
            });
            println!("{line}");
        }
    }
}

/// Has every installed tool do everything once.
pub fn run(rig: &Rig, tools: &[Tool]) -> Round {
    let tools: Vec<_> = tools
        .iter()
        .enumerate()
        .filter(|(_, tool)| tool.program.is_some())
        .collect();
    // It rises and falls with the machine: before, between and after what is compared with it.
    let mut drop_pps = vec![dropped_per_second(rig)];
    let mut results = Vec::new();
    for sink in Sink::ALL {
        let each = |count: fn(&Tool) -> u64, rate| -> Vec<_> {
            tools
                .iter()
                .map(|(_, tool)| trial(rig, tool, sink, count(tool), rate))
                .collect()
        };
        let paced = each(|_| PACED_FRAMES, Some(PACED_PPS));
        let full = each(Tool::most_frames, None);
        for ((&(number, tool), paced), full) in tools.iter().zip(paced).zip(full) {
            let between = search(&paced, &full, |rate| {
                trial(rig, tool, sink, rate.min(tool.most_frames()), Some(rate))
            });
            let name = tool.name.clone();
            results.push(Outcome {
                tool: number,
                name,
                sink,
                paced,
                full,
                between,
            });
        }
        drop_pps.push(dropped_per_second(rig));
    }
    drop_pps.sort_unstable();
    Round {
        results,
        drop_pps: drop_pps[drop_pps.len() / 2],
    }
}

/// What the rig carries at most: nobody reads.
fn dropped_per_second(rig: &Rig) -> u64 {
    let mut traffic = rig.traffic(Arrival::Reader);
    let _attached = rig.drop_all();
    let (sent, _) = undisturbed(ALL, || traffic.deliver(DROP_FRAMES, None)).0;
    per_second(sent.delivered, sent.duration)
}

/// Looks for the highest rate without a loss between two trials, a second at each rate
/// unless that is too much for a file.
fn search(paced: &Trial, full: &Trial, mut at_rate: impl FnMut(u64) -> Trial) -> Vec<Trial> {
    let mut trials = Vec::new();
    if full.lost() == 0 {
        return trials;
    }
    let mut low = if paced.lost() == 0 {
        paced.offered_pps
    } else {
        0
    };
    let mut high = full.offered_pps;
    for _ in 0..HALVINGS {
        let middle = u64::midpoint(low, high);
        let trial = at_rate(middle);
        if trial.lost() == 0 {
            low = middle;
        } else {
            high = middle;
        }
        trials.push(trial);
    }
    trials
}

fn trial(rig: &Rig, tool: &Tool, sink: Sink, count: u64, rate_pps: Option<u64>) -> Trial {
    let (trial, tries) = undisturbed(ALL, || one_trial(rig, tool, sink, count, rate_pps));
    Trial { tries, ..trial }
}

fn one_trial(rig: &Rig, tool: &Tool, sink: Sink, count: u64, rate_pps: Option<u64>) -> Trial {
    let path = match sink {
        Sink::Null => "/dev/null".into(),
        Sink::Tmpfs => rig.folder.path().join("capture"),
    };
    let mut traffic = rig.traffic(tool.arrival());
    let reader = Reader::start(tool, rig, &path, count);
    let (sent, sender_cpu) = traffic.deliver(count, rate_pps);
    let reader = reader.finish();
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
        reader,
        in_file,
        tries: 1,
    }
}

fn per_second(count: u64, time: Duration) -> u64 {
    (u128::from(count) * 1_000_000_000 / time.as_nanos().max(1)) as u64
}

/// Counts the packets of a file.
fn packets_in(path: &Path) -> u64 {
    let mut reader = FileReader::open(path).unwrap_or_else(|error| panic!("{error}"));
    let mut packets = 0;
    while let Some(_packet) = reader
        .next_packet()
        .unwrap_or_else(|error| panic!("{error}"))
    {
        packets += 1;
    }
    packets
}
