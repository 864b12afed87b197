//! What readers are measured at.

use std::time::Duration;

use serde_json::{Value, json};
use tapline::latency::Delays;

use crate::harness::TRIES;
use crate::kind::Kind;
use crate::reader::{self, Finished};
use crate::rig::Rig;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A packet every 5 to 15 ms.
    Sparse,
    /// 100 000 a second.
    Dense,
    /// 50 000 a second, and the reader is away for 200 ms again and again.
    Stall,
    /// 10 a second, 500 000, and back.
    Jump,
}

impl Task {
    pub const ALL: [Self; 4] = [Self::Sparse, Self::Dense, Self::Stall, Self::Jump];

    /// How often readers take turns in a round: where a delay is a wake-up, it drifts with the machine, and
    /// a processor that a hypervisor takes away for some milliseconds spoils one short turn, not all.
    pub fn turns(self) -> usize {
        match self {
            Self::Sparse | Self::Dense => 8,
            Self::Jump => 2,
            Self::Stall => 1,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Sparse => "a packet every 5 to 15 ms",
            Self::Dense => "100 000 packets/s",
            Self::Stall => "50 000 packets/s, the reader away for 200 ms twice a second",
            Self::Jump => "10 packets/s, 500 000, and 10 again",
        }
    }
}

/// What one reader came to at one task.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Packets that came to the reader's interface.
    pub offered: u64,
    pub seconds: f64,
    pub reader: Finished,
}

impl Trial {
    pub fn delays(&self) -> &Delays {
        &self.reader.delays
    }

    pub fn cpu_share(&self) -> f64 {
        self.reader.cpu.as_secs_f64() / self.seconds
    }

    pub fn sleeps_per_s(&self) -> f64 {
        self.reader.sleeps as f64 / self.seconds
    }

    /// Packets that were sent and that the reader did not have.
    pub fn lost(&self) -> u64 {
        self.offered
            .saturating_sub(self.reader.delays.histogram.count())
    }

    /// As a line; it is of try number `tries`, and was disturbed if that is beyond [`TRIES`].
    pub fn json(&self, round: u32, task: Task, kind: Kind, tries: usize) -> Value {
        let delays = self.delays();
        json!({
            "event": "result",
            "round": round,
            "task": task.name(),
            "reader": kind.name(),
            "tries": tries.min(TRIES),
            "is_disturbed": tries > TRIES,
            "offered": self.offered,
            "lost": self.lost(),
            "delay_p50_ns": delays.quantile(0.5),
            "delay_p99_ns": delays.quantile(0.99),
            "delay_p999_ns": delays.quantile(0.999),
            "delay_max_ns": delays.max_ns,
            "cpu_share": self.cpu_share(),
            "sleeps_per_s": self.sleeps_per_s(),
        })
    }
}

pub fn run(rig: &Rig, task: Task, kind: Kind) -> Trial {
    let stall = (task == Task::Stall).then_some(Duration::from_millis(200));
    let before = rig.receiver.counters().rx_packets;
    let (reader, time) = reader::run(rig, kind, stall, || send(rig, task));
    Trial {
        offered: rig.receiver.counters().rx_packets - before,
        seconds: time.as_secs_f64(),
        reader,
    }
}

/// Sends what the task asks for; tells how long that took.
fn send(rig: &Rig, task: Task) -> Duration {
    let steady =
        |rate_pps: u32, count: u32| (0..count).map(move |number| SECOND * number / rate_pps);
    match task {
        Task::Sparse => rig.send_at(scattered().take(40)),
        Task::Dense => rig.send_at(steady(100_000, 25_000)),
        Task::Stall => rig.send_at(steady(50_000, 75_000)),
        Task::Jump => {
            let mut generator = rig.generator();
            let parts = [
                (5, 10),
                (250_000, 500_000),
                (5, 10),
                (250_000, 500_000),
                (5, 10),
            ];
            let send = |(count, rate_pps)| rig.generate(&mut generator, count, rate_pps);
            parts.map(send).iter().sum()
        }
    }
}

/// Moments 5 to 15 ms apart, without a pattern (a linear congruential generator).
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
