//! One run of a sender, watched from the far end.

use std::process::Command;
use std::time::{Duration, Instant};

use super::rig::{Rig, Traffic};
use super::tool::Sender;
use crate::harness::{Running, pause, softirq_time};

/// Between two looks at the far end's counter.
const LOOK: Duration = Duration::from_millis(1);
/// For packets that are still in the far end's queue when the sender ends.
const SETTLE: Duration = Duration::from_millis(5);
/// A sender that takes longer is ended.
const LONGEST: Duration = Duration::from_mins(1);

/// What a sender prints whose queue is not given back yet; the time to wait for it, and how often.
const BUSY: &str = "Device or resource busy";
const RELEASE: Duration = Duration::from_millis(50);
const ATTEMPTS: u32 = 20;

/// What arrived, and when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    pub packets: u64,
    /// Packets from the first look that saw any to the last look that saw more, and the time between.
    counted: u64,
    window: Duration,
}

impl Delivered {
    /// Packets per second, without start and end of the sender. NaN if there was only one look.
    pub fn pps(&self) -> f64 {
        self.counted as f64 / self.window.as_secs_f64()
    }

    /// Packets in `time` at this rate. `None` if there was only one look.
    pub fn in_time(&self, time: Duration) -> Option<u64> {
        let window_ns = self.window.as_nanos();
        let packets = (u128::from(self.counted) * time.as_nanos()).checked_div(window_ns)?;
        u64::try_from(packets).ok()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub delivered: Delivered,
    /// CPU time of the sender, and of the kernel's softirq threads.
    pub cpu: Duration,
}

impl Trial {
    /// Nanoseconds of CPU time per delivered packet.
    pub fn ns_per_packet(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.delivered.packets as f64
    }
}

/// Runs a command until it ends and counts what arrives. `look` is called every millisecond. Returns the output of a
/// command that fails.
pub fn watch(
    rig: &mut Rig,
    command: Command,
    mut look: impl FnMut(&Running),
) -> Result<(Trial, String), String> {
    let before = rig.arrived();
    let softirqs = softirq_time();
    let start = Instant::now();
    let running = Running::start(command);
    let mut delivered = Delivered::default();
    let mut first: Option<(u64, Instant)> = None;
    loop {
        let has_ended = running.has_ended(LOOK);
        let packets = rig.arrived() - before;
        let now = Instant::now();
        if packets > delivered.packets {
            let &mut (first_packets, first_time) = first.get_or_insert((packets, now));
            delivered = Delivered {
                packets,
                counted: packets - first_packets,
                window: now - first_time,
            };
        }
        if has_ended {
            break;
        }
        look(&running);
        if start.elapsed() > LONGEST {
            running.kill();
            running.finish();
            let packets = delivered.packets;
            return Err(format!(
                "ended after a minute, when {packets} packets had arrived"
            ));
        }
    }
    let finished = running.finish();
    pause(SETTLE);
    delivered.packets = rig.arrived() - before;
    if !finished.status.success() {
        return Err(finished.text);
    }
    let cpu = finished.used.cpu + softirq_time().saturating_sub(softirqs);
    Ok((Trial { delivered, cpu }, finished.text))
}

/// Sends about `count` packets as fast as the sender can.
///
/// The kernel gives back the queue of an AF_XDP socket some time after its process has ended, so a sender that finds the
/// queue taken is started again, for a second at most.
pub fn run(rig: &mut Rig, sender: &Sender, traffic: &Traffic, count: u64) -> Result<Trial, String> {
    for _ in 0..ATTEMPTS {
        let command = sender.command(rig, traffic, Sender::whole(count));
        match watch(rig, command, |_| {}) {
            Err(text) if text.contains(BUSY) => pause(RELEASE),
            result => return result.map(|(trial, _)| trial),
        }
    }
    Err(BUSY.into())
}

/// The last line that a failed program printed.
pub fn refusal(text: &str) -> &str {
    let lines = text.lines().map(str::trim);
    lines
        .rev()
        .find(|line| !line.is_empty())
        .unwrap_or("no message")
}
