//! What the reader does between two rounds over its rings.

use std::io;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use ring::{Delivery, TimestampSource};

use super::delivery::Round;
use super::job::Capture;
use super::lane::Lane;
use super::moderation::{Moderation, Wait};
use super::options::Options;
use super::outcome::Ended;
use super::punctual::Punctual;
use super::wait::{GATHER_NS, Woken, gather, nanoseconds, spin};
use crate::stop::Stop;

/// Time between two looks at the stop and at the state of the interfaces while the reader spins.
const GLANCE_NS: u64 = 1_000_000;

/// Time between two looks at rings of blocks, at most.
const BLOCKS_NS: u64 = 4_000_000;

/// Time between two looks at rings, at least.
const LEAST_NS: u64 = 100_000;

/// What comes after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next round, after a glance at what else happened.
    On,
    /// Look for packets without a sleep, until this moment.
    Spin(u64),
    /// Sleep until there is a packet.
    ForPacket,
    /// Sleep until this moment.
    Until(u64),
    /// Sleep until a batch has gathered.
    ForBatch,
}

impl Step {
    /// Whether nothing is waiting and the reader sleeps.
    pub fn is_pause(self) -> bool {
        !matches!(self, Self::On | Self::Spin(_))
    }
}

/// How the reader waits, by the delivery that was asked for.
pub(super) struct Pause {
    policy: Policy,
    spin_ns: u64,
    /// Packets read since the rings were last empty.
    packets: u64,
    /// When the last of them was, if the reader spins.
    read_ns: u64,
    glanced_ns: u64,
    _punctual: Option<Punctual>,
}

enum Policy {
    /// The rings wake the reader when there is something to do.
    Rings,
    Moderated(Moderation),
    /// The rings wake for the first packet or block, and a batch is waited for beside them.
    Batch {
        bytes: usize,
        timeout_ns: u64,
        /// How old the first packet may be held to be when the reader hears of it.
        oldest_ns: u64,
        /// Time between two looks at how much there is.
        look_ns: u64,
        /// When the batch that is gathering is handed over at the latest; `None` before its first
        /// packet.
        due_ns: Option<u64>,
        /// A batch is being handed over: all that is there goes with it.
        is_emptying: bool,
    },
}

impl Policy {
    fn batch(
        min_bytes: usize,
        timeout: Duration,
        timestamps: TimestampSource,
        lanes: &[Lane],
    ) -> Self {
        let timeout_ns = nanoseconds(timeout);
        let times = lanes.iter().map(|lane| lane.source.block_time());
        let is_in_blocks = times.clone().all(|time| time.is_some());
        let block_ns = times.flatten().max().map_or(0, nanoseconds);
        let oldest_ns = match timestamps {
            // A timer that counts in jiffies hands a block over later than was asked.
            TimestampSource::Kernel => timeout_ns,
            // By another clock it may seem to be of any age.
            _ => block_ns.min(timeout_ns),
        };
        let look_ns = if is_in_blocks {
            block_ns.clamp(GATHER_NS, BLOCKS_NS)
        } else {
            GATHER_NS
        };
        Self::Batch {
            bytes: min_bytes,
            timeout_ns,
            oldest_ns,
            look_ns: look_ns.min(quarter_ns(lanes)),
            due_ns: (lanes.iter().any(|lane| lane.source.holds(1)))
                .then(|| due_ns(lanes, timeout_ns, oldest_ns)),
            // A ring wakes its reader when that has found it empty.
            is_emptying: true,
        }
    }
}

/// How long packets at 10 Gbit/s take to fill a quarter of the smallest ring.
fn quarter_ns(lanes: &[Lane]) -> u64 {
    let bytes = lanes.iter().map(|lane| lane.source.buffer_bytes()).min();
    let bits = bytes.map_or(0, |bytes| bytes as u64 / 4 * 8);
    (bits / 10).max(LEAST_NS)
}

/// When a batch that begins with what lies ready is handed over at the latest.
fn due_ns(lanes: &[Lane], timeout_ns: u64, oldest_ns: u64) -> u64 {
    // A ring of blocks tells of a packet when its block is handed over.
    let late = lanes.iter().filter(|lane| !lane.source.wakes_early());
    let realtime_ns = realtime_ns();
    let ages = late.filter_map(|lane| lane.source.oldest_age_ns(realtime_ns));
    // By a clock that was set meanwhile it may seem to be of any age.
    let age_ns = ages.max().unwrap_or(0).min(oldest_ns);
    monotonic_ns().saturating_add(timeout_ns - age_ns)
}

impl Pause {
    /// To be called by the thread that reads.
    fn new(options: &Options, lanes: &[Lane]) -> Self {
        let wakes_early = lanes.iter().any(|lane| lane.source.wakes_early());
        let batch = |bytes, timeout| Policy::batch(bytes, timeout, options.timestamps, lanes);
        let policy = match options.delivery {
            Delivery::Adaptive { target } if wakes_early => {
                Policy::Moderated(Moderation::new(nanoseconds(target)))
            }
            Delivery::Batch { min_bytes, timeout } => batch(min_bytes, timeout),
            Delivery::Blocks { bytes, timeout } if wakes_early => batch(bytes, timeout),
            _ => Policy::Rings,
        };
        let (spin, punctual) = match options.delivery {
            Delivery::Batch { .. } | Delivery::Blocks { .. } => {
                let sleeps = !matches!(policy, Policy::Rings);
                (Duration::ZERO, sleeps.then(Punctual::begin))
            }
            _ if options.spin > Duration::ZERO => (options.spin, Some(Punctual::begin())),
            _ => (Duration::ZERO, Some(Punctual::begin_prompt())),
        };
        Self {
            policy,
            spin_ns: nanoseconds(spin),
            packets: 0,
            read_ns: 0,
            glanced_ns: 0,
            _punctual: punctual,
        }
    }

    /// Whether the packets that wait are to wait longer, since their batch is not complete.
    pub fn holds_back(&mut self, lanes: &[Lane]) -> bool {
        let Policy::Batch {
            bytes,
            due_ns,
            is_emptying,
            ..
        } = &mut self.policy
        else {
            return false;
        };
        let Some(due) = *due_ns else {
            // With nothing to hand over, what has come since the sleep begins a batch.
            return !*is_emptying;
        };
        let is_enough = |lane: &Lane| lane.source.holds(*bytes) || lane.source.is_filling();
        if monotonic_ns() < due && !lanes.iter().any(is_enough) {
            return true;
        }
        (*due_ns, *is_emptying) = (None, true);
        false
    }

    /// What comes after a round that ended at `now_ns`.
    pub fn after(&mut self, now_ns: u64, round: Round) -> Step {
        self.packets += round.packets;
        if !round.emptied {
            return Step::On;
        }
        if self.spin_ns > 0 {
            if round.packets > 0 {
                self.read_ns = now_ns;
            }
            if now_ns.saturating_sub(self.glanced_ns) > GLANCE_NS {
                self.glanced_ns = now_ns;
                return Step::On;
            }
            let until_ns = self.read_ns.saturating_add(self.spin_ns);
            if now_ns < until_ns {
                return Step::Spin(until_ns);
            }
        }
        let packets = std::mem::take(&mut self.packets);
        match &mut self.policy {
            Policy::Rings => Step::ForPacket,
            Policy::Moderated(moderation) => match moderation.emptied(now_ns, packets) {
                Wait::ForPacket => Step::ForPacket,
                Wait::Until(moment_ns) => Step::Until(moment_ns),
            },
            Policy::Batch { is_emptying, .. } => {
                *is_emptying = false;
                Step::ForBatch
            }
        }
    }
}

impl Capture {
    /// How to wait by the delivery that is asked for.
    pub(super) fn new_pause(&self) -> Pause {
        Pause::new(&self.options, &self.lanes)
    }

    /// Does what `step` says, from `now_ns` to `until_ns` at most; says so if the capture is to end.
    pub(super) fn pause(
        &mut self,
        pause: &mut Pause,
        step: Step,
        now_ns: u64,
        until_ns: u64,
        stop: &Stop,
    ) -> io::Result<Option<Ended>> {
        let left_ns = until_ns.saturating_sub(now_ns);
        match step {
            Step::On => self.wait(0),
            Step::ForPacket => self.wait(left_ns),
            Step::Spin(moment_ns) => {
                spin(&self.lanes, moment_ns.min(until_ns));
                Ok(None)
            }
            Step::Until(moment_ns) => {
                self.gather(stop, moment_ns.min(until_ns), usize::MAX, GATHER_NS)
            }
            Step::ForBatch => self.wait_for_batch(&mut pause.policy, left_ns, until_ns, stop),
        }
    }

    fn wait_for_batch(
        &mut self,
        policy: &mut Policy,
        left_ns: u64,
        until_ns: u64,
        stop: &Stop,
    ) -> io::Result<Option<Ended>> {
        let Policy::Batch {
            bytes,
            timeout_ns,
            oldest_ns,
            look_ns,
            due_ns: due,
            ..
        } = policy
        else {
            return Ok(None);
        };
        if due.is_none() {
            if let Some(ended) = self.wait(left_ns)? {
                return Ok(Some(ended));
            }
            let has_packet = |lane: &Lane| lane.source.holds(1);
            if !self.lanes.iter().any(has_packet) {
                // What woke may be a sign whose packets have been read.
                self.lanes.iter().for_each(|lane| lane.source.rearm());
                if !self.lanes.iter().any(has_packet) {
                    return Ok(None);
                }
            }
        }
        let due = *due.get_or_insert_with(|| due_ns(&self.lanes, *timeout_ns, *oldest_ns));
        self.gather(stop, due.min(until_ns), *bytes, *look_ns)
    }

    fn gather(
        &mut self,
        stop: &Stop,
        until_ns: u64,
        bytes: usize,
        look_ns: u64,
    ) -> io::Result<Option<Ended>> {
        let woken = gather(&self.lanes, stop, &self.wish, until_ns, bytes, look_ns)?;
        Ok(woken.map(|woken: Woken| self.ended(woken)))
    }
}
