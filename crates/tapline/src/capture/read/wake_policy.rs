//! What the reader does between two rounds over its rings: go on, spin, or sleep, and until when.

use std::io;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns, thread_cpu_ns};
use ring::{BlockReason, DeliveryMode, TimestampSource};

use super::super::plan::options::CaptureOptions;
use super::adaptive::{Moderation, Wait};
use super::dispatcher::Round;
use super::forecast::Forecast;
use super::poller::{GATHER_NS, Interrupts, Poller, Wakeup, gather, nanoseconds, spin};
use super::queue::RxQueue;
use crate::precise_wakeup::PreciseWakeup;

/// Interval at which stop and interfaces are checked while the reader spins.
const SPIN_CHECK_NS: u64 = 1_000_000;

/// Longest interval at which rings of blocks are checked.
const BLOCKS_NS: u64 = 4_000_000;

/// Shortest interval at which rings are checked.
const MIN_CHECK_NS: u64 = 100_000;

/// What follows a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another round, after a check of stop and interfaces.
    Continue,
    /// Look for packets without sleeping, until this time.
    Spin(u64),
    /// Sleep until a packet arrives.
    ForPacket,
    /// Sleep until this time.
    Until(u64),
    /// Sleep until a batch has gathered.
    ForBatch,
}

impl Next {
    /// Whether no packet waits and the reader sleeps.
    pub fn is_sleep(self) -> bool {
        !matches!(self, Self::Continue | Self::Spin(_))
    }
}

/// What a sleep depends on beside the policy.
pub struct Sleep<'s, F> {
    pub poller: &'s Poller,
    pub queues: &'s [RxQueue],
    pub interrupts: Interrupts<'s, F>,
    pub now_ns: u64,
    /// The latest end.
    pub until_ns: u64,
}

/// How the reader waits with the configured delivery.
pub struct WakePolicy {
    kind: Kind,
    spin_ns: u64,
    /// Packets read since the rings were empty last.
    packets: u64,
    /// When the last of them was read, if the reader spins.
    read_ns: u64,
    checked_ns: u64,
    _precise: Option<PreciseWakeup>,
}

enum Kind {
    /// The rings wake the reader, for each packet, or for each block if a block is a batch.
    Rings,
    Adaptive(Moderation),
    /// The rings wake the reader for the first packet or block, and it waits for a batch.
    Batch {
        bytes: usize,
        timeout_ns: u64,
        /// Largest plausible age of the first packet when the reader wakes.
        oldest_ns: u64,
        checks: Checks,
        /// When the gathering batch is handed over at the latest; `None` before its first packet.
        due_ns: Option<u64>,
        /// A batch is being handed over, with all packets in the rings.
        is_emptying: bool,
    },
}

impl Kind {
    fn batch(
        min_bytes: usize,
        timeout: Duration,
        timestamps: TimestampSource,
        queues: &[RxQueue],
    ) -> Self {
        let timeout_ns = nanoseconds(timeout);
        let times = queues.iter().map(|queue| queue.ring().block_time());
        let is_in_blocks = times.clone().all(|time| time.is_some());
        let block_ns = times.flatten().max().map_or(0, nanoseconds);
        let oldest_ns = match timestamps {
            // The kernel's timer counts in jiffies and hands a block over late.
            TimestampSource::Kernel | TimestampSource::Driver => timeout_ns,
            // By another clock the packet may seem to be of any age.
            _ => block_ns.min(timeout_ns),
        };
        Self::Batch {
            bytes: min_bytes,
            timeout_ns,
            oldest_ns,
            checks: Checks::new(min_bytes, is_in_blocks.then_some(block_ns), queues),
            due_ns: (queues.iter().any(|queue| queue.ring().holds(1)))
                .then(|| due_ns(queues, timeout_ns, oldest_ns)),
            // A ring only wakes a reader that has found it empty.
            is_emptying: true,
        }
    }
}

/// When the fill level of the rings is checked while a batch gathers.
#[derive(Clone, Copy, Debug)]
enum Checks {
    /// At this interval, so that the end of the batch is noticed soon.
    Every(u64),
    /// A quarter of a ring ends the batch.
    Forecast(Forecast),
}

impl Checks {
    /// For batches of `min_bytes`; `block_ns` is the time of a block, if the packets come in blocks.
    fn new(min_bytes: usize, block_ns: Option<u64>, queues: &[RxQueue]) -> Self {
        let smallest = queues.iter().map(|queue| queue.ring().buffer_bytes()).min();
        let smallest = smallest.unwrap_or(0);
        // At 10 Gbit/s.
        let fill_ns = |bytes: usize| (bytes as u64 * 8 / 10).max(MIN_CHECK_NS);
        if min_bytes >= smallest / 4 {
            // Short packets take up to twice their length in the ring, and the wake-up takes time.
            let most_ns = fill_ns(smallest / 8 * 3);
            return Self::Forecast(Forecast::new(MIN_CHECK_NS, most_ns));
        }
        let check_ns = block_ns.map_or(GATHER_NS, |ns| ns.clamp(GATHER_NS, BLOCKS_NS));
        Self::Every(check_ns.min(fill_ns(smallest / 4)))
    }

    /// Another batch gathers.
    fn begin(&mut self) {
        if let Self::Forecast(forecast) = self {
            forecast.begin();
        }
    }

    /// A batch has gathered.
    fn end(&mut self, queues: &[RxQueue]) {
        if let Self::Forecast(forecast) = self {
            forecast.observe(monotonic_ns(), waiting_parts(queues));
        }
    }

    /// After which time to check again.
    fn next_ns(&mut self, now_ns: u64, queues: &[RxQueue]) -> u64 {
        match self {
            Self::Every(interval_ns) => *interval_ns,
            Self::Forecast(forecast) => forecast.next_check_ns(now_ns, waiting_parts(queues)),
        }
    }
}

/// Parts of a quarter that wait in the fullest ring.
fn waiting_parts(queues: &[RxQueue]) -> u64 {
    let parts = queues.iter().map(|queue| queue.ring().waiting_parts());
    parts.max().unwrap_or(0)
}

/// When a batch that begins with the waiting packets is handed over at the latest.
fn due_ns(queues: &[RxQueue], timeout_ns: u64, oldest_ns: u64) -> u64 {
    // A block makes its packets visible only when the kernel hands it over.
    let late = queues
        .iter()
        .map(RxQueue::ring)
        .filter(|ring| !ring.wakes_early());
    let realtime_ns = realtime_ns();
    let ages = late.filter_map(|ring| ring.oldest_age_ns(realtime_ns));
    // If the clock was set meanwhile, a packet may seem to be of any age.
    let age_ns = ages.max().unwrap_or(0).min(oldest_ns);
    monotonic_ns().saturating_add(timeout_ns - age_ns)
}

impl WakePolicy {
    /// Must be called by the thread that reads, whose timer settings it changes.
    pub fn new(options: &CaptureOptions, queues: &[RxQueue]) -> Self {
        let wakes_early = queues.iter().any(|queue| queue.ring().wakes_early());
        let batch = |bytes, timeout| Kind::batch(bytes, timeout, options.timestamps, queues);
        let is_batch = |queue: &RxQueue| {
            let blocks = queue.ring().blocks();
            blocks.is_some_and(|blocks| blocks.reason == BlockReason::Batch)
        };
        let kernel_gathers = queues.iter().all(is_batch);
        let kind = match options.delivery {
            DeliveryMode::Adaptive { target } if wakes_early => {
                Kind::Adaptive(Moderation::new(nanoseconds(target)))
            }
            DeliveryMode::Batch { .. } if kernel_gathers => Kind::Rings,
            DeliveryMode::Batch { min_bytes, timeout } => batch(min_bytes, timeout),
            DeliveryMode::Blocks { bytes, timeout } if wakes_early => batch(bytes, timeout),
            _ => Kind::Rings,
        };
        let (spin, precise) = match options.delivery {
            DeliveryMode::Batch { .. } | DeliveryMode::Blocks { .. } => {
                let sleeps = !matches!(kind, Kind::Rings);
                (Duration::ZERO, sleeps.then(PreciseWakeup::begin))
            }
            _ if options.spin > Duration::ZERO => (options.spin, Some(PreciseWakeup::begin())),
            _ => (Duration::ZERO, Some(PreciseWakeup::begin_prompt())),
        };
        Self {
            kind,
            spin_ns: nanoseconds(spin),
            packets: 0,
            read_ns: 0,
            checked_ns: 0,
            _precise: precise,
        }
    }

    /// Whether the waiting packets have to wait longer, because their batch is not complete.
    pub fn holds_back(&mut self, queues: &[RxQueue]) -> bool {
        let Kind::Batch {
            bytes,
            due_ns,
            is_emptying,
            ..
        } = &mut self.kind
        else {
            return false;
        };
        let Some(due) = *due_ns else {
            // If no batch is being handed over, packets that came since the sleep begin one.
            return !*is_emptying;
        };
        let is_enough = |queue: &RxQueue| queue.ring().holds(*bytes) || queue.ring().is_filling();
        if monotonic_ns() < due && !queues.iter().any(is_enough) {
            return true;
        }
        (*due_ns, *is_emptying) = (None, true);
        false
    }

    /// What follows a round that ended at `now_ns`.
    pub fn after(&mut self, now_ns: u64, round: Round) -> Next {
        self.packets += round.packets;
        if !round.emptied {
            return Next::Continue;
        }
        if self.spin_ns > 0 {
            if round.packets > 0 {
                self.read_ns = now_ns;
            }
            if now_ns.saturating_sub(self.checked_ns) > SPIN_CHECK_NS {
                self.checked_ns = now_ns;
                return Next::Continue;
            }
            let until_ns = self.read_ns.saturating_add(self.spin_ns);
            if now_ns < until_ns {
                let check_ns = self.checked_ns.saturating_add(SPIN_CHECK_NS + 1);
                return Next::Spin(until_ns.min(check_ns));
            }
        }
        let packets = std::mem::take(&mut self.packets);
        match &mut self.kind {
            Kind::Rings => Next::ForPacket,
            Kind::Adaptive(moderation) => {
                match moderation.emptied(now_ns, packets, thread_cpu_ns) {
                    Wait::ForPacket => Next::ForPacket,
                    Wait::Until(moment_ns) => Next::Until(moment_ns),
                }
            }
            Kind::Batch { is_emptying, .. } => {
                *is_emptying = false;
                Next::ForBatch
            }
        }
    }

    /// Does what `next` says. Returns a reason to end the capture.
    pub fn wait(
        &mut self,
        next: Next,
        sleep: &Sleep<'_, impl Fn() -> bool>,
    ) -> io::Result<Option<Wakeup>> {
        let queues = sleep.queues;
        let left_ns = sleep.until_ns.saturating_sub(sleep.now_ns);
        match next {
            Next::Continue => sleep.poller.wait(0, queues),
            Next::ForPacket => sleep.poller.wait(left_ns, queues),
            Next::Spin(moment_ns) => {
                spin(queues, moment_ns.min(sleep.until_ns));
                Ok(None)
            }
            Next::Until(moment_ns) => {
                let until_ns = moment_ns.min(sleep.until_ns);
                gather(queues, &sleep.interrupts, until_ns, usize::MAX, |_| {
                    GATHER_NS
                })
            }
            Next::ForBatch => self.wait_for_batch(sleep, left_ns),
        }
    }

    fn wait_for_batch(
        &mut self,
        sleep: &Sleep<'_, impl Fn() -> bool>,
        left_ns: u64,
    ) -> io::Result<Option<Wakeup>> {
        let Kind::Batch {
            bytes,
            timeout_ns,
            oldest_ns,
            checks,
            due_ns: due,
            ..
        } = &mut self.kind
        else {
            return Ok(None);
        };
        let queues = sleep.queues;
        if due.is_none() {
            if let Some(wakeup) = sleep.poller.wait(left_ns, queues)? {
                return Ok(Some(wakeup));
            }
            let has_packet = |queue: &RxQueue| queue.ring().holds(1);
            if !queues.iter().any(has_packet) {
                // The wake-up may be for packets that have been read.
                for queue in queues {
                    queue.ring().rearm();
                }
                if !queues.iter().any(has_packet) {
                    return Ok(None);
                }
            }
        }
        let due = *due.get_or_insert_with(|| {
            checks.begin();
            due_ns(queues, *timeout_ns, *oldest_ns)
        });
        let until_ns = due.min(sleep.until_ns);
        let wakeup = gather(queues, &sleep.interrupts, until_ns, *bytes, |now_ns| {
            checks.next_ns(now_ns, queues)
        });
        // Where the sleep ends the batch there is no check of its own.
        checks.end(queues);
        wakeup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_spins_for_seconds_is_interrupted_for_a_stop_every_millisecond() {
        let options = CaptureOptions::default()
            .delivery(DeliveryMode::Immediate)
            .spin(Duration::from_secs(5));
        let mut policy = WakePolicy::new(&options, &[]);
        let packet = Round {
            packets: 1,
            emptied: true,
        };
        let mut now_ns = 1_000 * SPIN_CHECK_NS;
        assert_eq!(policy.after(now_ns, packet), Next::Continue);
        for _ in 0..3 {
            let Next::Spin(until_ns) = policy.after(now_ns, Round::EMPTY) else {
                panic!("it spins");
            };
            assert_eq!(until_ns, now_ns + SPIN_CHECK_NS + 1);
            now_ns = until_ns;
            assert_eq!(policy.after(now_ns, Round::EMPTY), Next::Continue);
        }
    }
}
