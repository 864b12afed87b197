//! One sending thread's share of a job: when its packets are due, and what became of them.

use std::io;
use std::sync::Arc;

use abi::clock::monotonic_ns;
use probe::Histogram;

use super::egress::Egress;
use super::error::SendError;
use super::queue::SendQueue;
use super::timing::{Pacer, Rate, Schedule, is_stopped};
use crate::stop::Stop;
use crate::uplink::UplinkWatch;

/// The stop flag is checked after so many batches or packets, whichever comes first.
const BATCHES_PER_CHECK: u32 = 32;
const PACKETS_PER_CHECK: usize = 2048;

/// Packets that carry the same send time, at most.
const STAMPED_BATCH: usize = 64;

/// How far the packets may be behind their plan: as many follow at once. It is more than threads often wait for a CPU.
const MAX_BEHIND_NS: u64 = 20_000_000;

/// Packets are stamped at most so often: each costs about two system calls more.
const STAMP_INTERVAL_NS: u64 = 1_000_000;

/// Batches and packets since the last check of the stop flag. Queues may be small, so the counts continue from one queue to the next.
#[derive(Default)]
struct SinceStopCheck {
    batches: u32,
    packets: usize,
}

impl SinceStopCheck {
    /// Adds a batch. Returns whether it is time for a check.
    fn add(&mut self, packets: usize) -> bool {
        self.batches += 1;
        self.packets += packets;
        let is_time = self.batches >= BATCHES_PER_CHECK || self.packets >= PACKETS_PER_CHECK;
        if is_time {
            *self = Self::default();
        }
        is_time
    }
}

/// Sends queues on one interface, or on two.
pub struct Run {
    pub egress: Egress,
    /// Of the second interface.
    pub second: Option<Egress>,
    rate: Rate,
    schedule: Option<Schedule>,
    /// By how much the plan was moved, since the thread was too far behind; `None` if it must not be.
    pub postponed_ns: Option<u64>,
    /// The planned time of the next packet, if it is known already.
    planned: Option<u64>,
    pacer: Pacer,
    /// Packets with their planned times, for a path that takes these.
    timed: SendQueue,
    /// When a packet is to be stamped again.
    next_stamp_ns: u64,
    since_stop_check: SinceStopCheck,
    /// Unless uplinks are permitted.
    uplinks: Option<Arc<UplinkWatch>>,
    /// The latest clock read.
    now_ns: u64,
    pub first_ns: Option<u64>,
    pub lateness: Histogram,
    pub is_stopped: bool,
}

impl Run {
    /// Sends at `rate`. A thread that is behind may have to keep that plan, or moves it.
    pub fn new(
        egress: Egress,
        second: Option<Egress>,
        rate: Rate,
        keeps_plan: bool,
        uplinks: Option<Arc<UplinkWatch>>,
    ) -> Self {
        Self {
            egress,
            second,
            rate,
            schedule: None,
            postponed_ns: (!keeps_plan).then_some(0),
            planned: None,
            pacer: Pacer::new(),
            timed: SendQueue::default(),
            next_stamp_ns: 0,
            since_stop_check: SinceStopCheck::default(),
            uplinks,
            now_ns: 0,
            first_ns: None,
            lateness: Histogram::default(),
            is_stopped: false,
        }
    }

    /// Begins recorded times anew.
    pub fn repeat(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.repeat();
        }
    }

    /// Sends the packets of `queue` at its rate. Returns whether all were sent: not if `stop` was requested, or if
    /// `limit` packets have been submitted.
    pub fn transmit(
        &mut self,
        queue: &SendQueue,
        stop: &Stop,
        limit: Option<u64>,
    ) -> Result<bool, SendError> {
        let is_complete = self.transmit_all(queue, stop, limit);
        self.pacer.pause();
        if let Err(SendError::Stopped) = is_complete {
            self.is_stopped = true;
            return Ok(false);
        }
        is_complete
    }

    fn transmit_all(
        &mut self,
        queue: &SendQueue,
        stop: &Stop,
        limit: Option<u64>,
    ) -> Result<bool, SendError> {
        let wait = |source| SendError::Wait { source };
        let batch = self.egress.way().batch();
        let batch = if queue.has_stamps() {
            batch.min(STAMPED_BATCH)
        } else {
            batch
        };
        let limit = limit.unwrap_or(u64::MAX);
        let mut next = 0;
        while next < queue.len() {
            let left = limit.saturating_sub(self.submitted());
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            if left == 0 {
                return Ok(false);
            }
            let most = queue.len().min(next + left.min(batch));
            let Some(end) = self.due(queue, next, most, stop).map_err(wait)? else {
                self.is_stopped = true;
                return Ok(false);
            };
            self.refuse_uplink(self.now_ns)?;
            if self.timed.is_empty() {
                self.send(queue, next, end, stop)?;
            } else {
                let timed = std::mem::take(&mut self.timed);
                let result = self.send(&timed, 0, timed.len(), stop);
                self.timed = timed;
                self.timed.clear();
                result?;
            }
            let is_time = self.since_stop_check.add(end - next);
            next = end;
            if is_time {
                self.now_ns = monotonic_ns();
                if is_stopped(stop, 0).map_err(wait)? {
                    self.is_stopped = true;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Fails if an interface has become an uplink.
    #[inline]
    pub fn refuse_uplink(&self, now_ns: u64) -> Result<(), SendError> {
        let uplinks = self.uplinks.as_ref();
        let found = uplinks.and_then(|uplinks| uplinks.check(now_ns));
        found.map_or(Ok(()), |link| Err(SendError::BecameUplink { link }))
    }

    /// Packets submitted on all interfaces.
    fn submitted(&self) -> u64 {
        let second = self.second.as_ref();
        self.egress.counts.submitted() + second.map_or(0, |egress| egress.counts.submitted())
    }

    /// Sends packets `first..end` now, each on its interface.
    pub fn send(
        &mut self,
        queue: &SendQueue,
        first: usize,
        end: usize,
        stop: &Stop,
    ) -> Result<(), SendError> {
        self.first_ns.get_or_insert_with(monotonic_ns);
        let Some(second) = &mut self.second else {
            return self.egress.send(queue, first, end, stop);
        };
        let mut at = first;
        while at < end {
            let (is_second, next) = queue.same_interface(at, end);
            let egress = if is_second {
                &mut *second
            } else {
                &mut self.egress
            };
            egress.send(queue, at, next, stop)?;
            at = next;
        }
        Ok(())
    }

    /// Waits for packet `next` of `queue`; returns the end of those that are due then, at most `most`. `None`: the
    /// job was stopped.
    fn due(
        &mut self,
        queue: &SendQueue,
        next: usize,
        most: usize,
        stop: &Stop,
    ) -> io::Result<Option<usize>> {
        let rate = self.rate;
        let first_ns = *self.first_ns.get_or_insert_with(monotonic_ns);
        let schedule = (self.schedule).get_or_insert_with(|| Schedule::new(rate, first_ns));
        if !schedule.is_paced() {
            return Ok(Some(most));
        }
        let mut plan = |index: usize, postponed_ns: Option<u64>| {
            let packet = queue.packet(index);
            let planned_ns = schedule.next(packet.bytes.len(), packet.time_ns);
            planned_ns.saturating_add(postponed_ns.unwrap_or(0))
        };
        let planned = self.planned.take();
        let mut planned = planned.unwrap_or_else(|| plan(next, self.postponed_ns));
        let (keeps_times, lead_ns) = (self.egress.way().keeps_times(), self.egress.way().lead_ns());
        let wait_ns = planned.saturating_sub(lead_ns);
        let Some(now_ns) = self.pacer.wait_until(wait_ns, stop)? else {
            return Ok(None);
        };
        self.now_ns = now_ns;
        if now_ns >= self.next_stamp_ns {
            self.egress.way().stamp_next(planned);
            self.next_stamp_ns = now_ns + STAMP_INTERVAL_NS;
        }
        let behind_ns = now_ns.saturating_sub(planned);
        if let Some(postponed_ns) = &mut self.postponed_ns {
            *postponed_ns += behind_ns.saturating_sub(MAX_BEHIND_NS);
        }
        let mut end = next;
        while planned <= now_ns + lead_ns {
            self.lateness.record(now_ns.saturating_sub(planned));
            if keeps_times {
                self.timed.push_of(queue, end, planned);
            }
            end += 1;
            if end == most {
                // The next packet may be in another queue: it is planned when it comes.
                return Ok(Some(end));
            }
            planned = plan(end, self.postponed_ns);
        }
        self.planned = Some(planned);
        Ok(Some(end))
    }
}
