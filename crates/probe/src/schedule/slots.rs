//! Which probe is due next, and when.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use super::deferred::Deferred;
use super::epochs::Epochs;
use super::permutation::Permutation;
use super::rate_limits::{MAX_DEFERRED, RateLimits, max_deferred};
use crate::forecast::{Forecast, gap, round_ns};
use crate::plan::ProbePlan;
use crate::probe::{Probe, Slot};
use crate::target_plans::TargetPlans;
use crate::targets::Targets;

/// Maximum delay that the schedule catches up on. A longer delay shifts the rest of the run.
const MAX_CATCH_UP_NS: u64 = 10_000_000;
/// First back-off pause after a local drop, and how often it doubles.
const FIRST_PAUSE_NS: u64 = 1_000_000;
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// Consecutive successful sends that halve the next pause.
const CALM: u32 = 64;
/// One part in this many of the time without pauses is returned to the back-off reserve.
const CALM_PARTS: u64 = 16;
/// Slots that one call defers, and deferred ones that it looks at.
const MAX_STEPS: usize = 2048;

/// The order and the times of a run.
///
/// Time is divided into rounds, and each round into one slot per target. Slot `round · targets +
/// position` belongs to the target at that position of a permuted order. The order is the same in every
/// round, so the time between two probes to a target is always the interval. Within a round, slots
/// may be gathered into groups that are due together with their first slot. Targets that are added follow
/// in the order of their indices.
///
/// A slot that was held gives its tokens back, and takes others when it is issued again. With a rate limit, it then takes
/// time that the next slots have to wait.
///
/// A slot that waited for a limit has taken its time of the rate before. If many are due after a break, the rate limits them
/// apart from the others.
#[derive(Debug)]
pub(crate) struct Schedule {
    order: Permutation,
    /// Number of targets in `order`.
    permuted: u32,
    epochs: Epochs,
    rounds: Option<u32>,
    interval_ns: u64,
    rate_pps: Option<u32>,
    /// Total number of slots.
    slots: u64,
    /// Whether sending has been stopped: targets that are added later are not probed.
    has_stopped: bool,
    /// Number of the next slot.
    next_slot: u64,
    /// When that slot is due, in 2⁻³² nanoseconds.
    due: u128,
    gap: u128,
    /// Number of slots sent together.
    group: u64,
    /// Slots that wait for a limit.
    deferred: Deferred,
    /// Before this time, the rate limit permits no deferred slot; in the unit of `due`.
    deferred_due: u128,
    /// Slots that were issued and wait for something outside.
    held: BTreeSet<u64>,
    /// Slots that were held and are to be issued again, oldest first.
    requeued: VecDeque<u64>,
    /// Minimum time between two probes by the rate limit, in the unit of `due`; 0 without one.
    rate_gap: u128,
    /// Before this time, the rate limit permits no slot besides those that are due.
    rate_due: u128,
    limits: RateLimits,
    backoff: Backoff,
}

/// Pauses after local drops.
#[derive(Debug)]
struct Backoff {
    doublings: u32,
    calm: u32,
    until_ns: u64,
    /// Remaining and maximum reserve of pause time.
    left_ns: u64,
    most_ns: u64,
}

/// What to do next: send a probe, skip a slot, or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Probe, Slot),
    /// No probe is sent in this slot, because its target is idle.
    Skip(Slot),
    /// No probe is due before this time.
    Wait(u64),
    /// The window is full. No probe is due before some in flight end, or this time.
    Full(u64),
    Done,
}

/// The slot of a probe that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IssuedSlot {
    pub probe: Probe,
    pub slot: Slot,
    /// Number of probes issued to its target.
    pub issued: u32,
    pub slot_number: u64,
}

impl Schedule {
    pub fn new(plan: &ProbePlan, forecast: &Forecast) -> Self {
        let targets = u64::from(forecast.targets);
        let limits = RateLimits::new(plan);
        Self {
            order: Permutation::new(
                forecast.targets,
                plan.key.0[0] ^ plan.key.0[1].rotate_left(32),
            ),
            permuted: forecast.targets,
            epochs: Epochs::new(targets),
            rounds: plan.rounds,
            interval_ns: plan.interval_ns,
            rate_pps: plan.rate_pps,
            slots: targets * u64::from(plan.rounds.unwrap_or(u32::MAX - 1)),
            has_stopped: false,
            next_slot: plan.first_probe,
            due: 0,
            gap: forecast.gap(),
            group: forecast.group.into(),
            deferred: Deferred::new(limits.prefixes(), max_deferred(plan), MAX_DEFERRED),
            deferred_due: 0,
            held: BTreeSet::new(),
            requeued: VecDeque::new(),
            rate_gap: rate_gap(plan.rate_pps),
            rate_due: 0,
            limits,
            backoff: Backoff {
                doublings: 0,
                calm: 0,
                until_ns: 0,
                left_ns: plan.backoff_ns,
                most_ns: plan.backoff_ns,
            },
        }
    }

    pub fn limits(&mut self) -> &mut RateLimits {
        &mut self.limits
    }

    /// Adds targets, up to a total of `targets`. All slots before `expired` have expired.
    pub fn grow(&mut self, targets: u32, expired: u64) {
        // Those that are held may have timed out.
        let expired = expired.min(self.issued_end());
        self.epochs.grow(self.next_slot, targets.into(), expired);
        let round_ns = round_ns(self.interval_ns, self.rate_pps, targets);
        self.gap = gap(round_ns, targets);
        if !self.has_stopped {
            self.slots = self.epochs.end_of(self.rounds.unwrap_or(u32::MAX - 1));
        }
    }

    /// Sends at most `pps` probes per second from now on, to `targets` targets.
    pub fn limit_rate(&mut self, pps: u32, targets: u32) {
        let pps = self.rate_pps.map_or(pps, |known| known.min(pps)).max(1);
        self.rate_pps = Some(pps);
        self.rate_gap = rate_gap(Some(pps));
        self.gap = gap(round_ns(self.interval_ns, Some(pps), targets), targets);
    }

    /// The first slot that has to wait if `flight` rounds are in flight, the oldest with slot `expired`.
    #[inline]
    pub fn limit(&self, expired: u64, flight: u32) -> u64 {
        self.epochs.limit(expired, flight)
    }

    /// The probe that is due at `now_ns`, or the slot of a target that is not probed in this round. Slots from number `limit` on have to wait.
    #[inline]
    pub fn next_step(
        &mut self,
        now_ns: u64,
        limit: u64,
        targets: &Targets,
        own: &TargetPlans,
    ) -> Step {
        if let Some(step) = self.deferred_step(now_ns, targets) {
            return step;
        }
        if !self.requeued.is_empty()
            && let Some(step) = self.requeued_step(now_ns, targets)
        {
            return step;
        }
        // Each iteration returns or defers a slot.
        for _ in 0..MAX_STEPS {
            if self.next_slot == self.slots {
                return if self.deferred.is_empty() && self.requeued.is_empty() {
                    Step::Done
                } else {
                    Step::Wait(self.waiting_ns(now_ns))
                };
            }
            if self.next_slot >= limit {
                return Step::Full(self.waiting_ns(now_ns));
            }
            let lead = self.lead();
            let due_ns = (self.due.saturating_sub(lead) >> 32) as u64;
            if due_ns > now_ns {
                return Step::Wait(due_ns.min(self.waiting_ns(now_ns)));
            }
            if now_ns - due_ns > MAX_CATCH_UP_NS {
                self.due = (u128::from(now_ns - MAX_CATCH_UP_NS) << 32) + lead;
            }
            let slot = self.slot_at(self.next_slot);
            let probe = self.probe_in(slot);
            if targets.is_idle(probe.target) || !own.is_due(probe.target, probe.round) {
                self.advance();
                return Step::Skip(slot);
            }
            if self.limits.is_unlimited() {
                self.advance();
                return Step::Send(probe, slot);
            }
            let Some(address) = targets.address(probe.target) else {
                self.advance();
                return Step::Skip(slot);
            };
            let (ready_ns, waits_for) = self.limits.ready(probe.target, address);
            if ready_ns <= now_ns {
                self.limits.take(probe.target, address, now_ns);
                self.advance();
                return Step::Send(probe, slot);
            }
            if !self.deferred.has_room(waits_for) {
                return Step::Wait(ready_ns.min(self.waiting_ns(now_ns)));
            }
            self.deferred.push(waits_for, self.next_slot, ready_ns);
            self.advance();
        }
        Step::Wait(now_ns + 1)
    }

    /// When the next deferred or requeued probe may be sent, after `now_ns`.
    fn waiting_ns(&self, now_ns: u64) -> u64 {
        let deferred = self.deferred.next_ns();
        let deferred = deferred.map(|at| at.max(self.deferred_due_ns()));
        // Without room among the deferred, one that is requeued waits until another of them leaves.
        let has_room = !self.deferred.is_full();
        let requeued = self.requeued.front().filter(|_| has_room);
        let requeued = requeued.map(|_| self.rate_due_ns());
        let first = deferred.into_iter().chain(requeued).min();
        first.map_or(u64::MAX, |at| at.max(self.backoff.until_ns).max(now_ns + 1))
    }

    /// The probe that was held and is issued again at `now_ns`, if the rate permits one. Those that have to wait for their
    /// prefix are deferred.
    fn requeued_step(&mut self, now_ns: u64, targets: &Targets) -> Option<Step> {
        if now_ns < self.backoff.until_ns {
            return None;
        }
        while self.rate_due_ns() <= now_ns {
            let slot_number = *self.requeued.front()?;
            let slot = self.slot_at(slot_number);
            let probe = self.probe_in(slot);
            let address = targets.address(probe.target);
            let Some(address) = address.filter(|_| !targets.is_idle(probe.target)) else {
                self.requeued.pop_front();
                return Some(Step::Skip(slot));
            };
            let (ready_ns, waits_for) = self.limits.ready(probe.target, address);
            if ready_ns <= now_ns {
                self.requeued.pop_front();
                self.limits.take(probe.target, address, now_ns);
                self.use_rate(now_ns);
                return Some(Step::Send(probe, slot));
            }
            if !self.deferred.has_room(waits_for) {
                return None;
            }
            self.requeued.pop_front();
            self.use_rate(now_ns);
            self.deferred.push(waits_for, slot_number, ready_ns);
        }
        None
    }

    /// When the rate limit permits a slot besides those that are due.
    fn rate_due_ns(&self) -> u64 {
        match self.rate_gap {
            0 => 0,
            _ => (self.rate_due >> 32) as u64,
        }
    }

    /// When the rate limit permits a deferred slot.
    #[inline]
    fn deferred_due_ns(&self) -> u64 {
        (self.deferred_due >> 32) as u64
    }

    /// Takes the time of a probe from the rate. The next slot waits if none is left.
    fn use_rate(&mut self, now_ns: u64) {
        if self.rate_gap == 0 {
            return;
        }
        let earliest = u128::from(now_ns.saturating_sub(MAX_CATCH_UP_NS)) << 32;
        self.rate_due = self.rate_due.max(earliest) + self.rate_gap;
        self.due = self.due.max(self.rate_due);
    }

    /// A deferred probe that is due. One whose limit was used up by others stays the first one that waits for it.
    #[inline]
    fn deferred_step(&mut self, now_ns: u64, targets: &Targets) -> Option<Step> {
        if now_ns < self.backoff.until_ns.max(self.deferred_due_ns()) {
            return None;
        }
        for _ in 0..MAX_STEPS {
            let (waited_for, slot_number) = self.deferred.first_due(now_ns)?;
            let slot = self.slot_at(slot_number);
            let probe = self.probe_in(slot);
            let address = targets.address(probe.target);
            let Some(address) = address.filter(|_| !targets.is_idle(probe.target)) else {
                self.deferred.pop_first(waited_for, now_ns);
                return Some(Step::Skip(slot));
            };
            let (ready_ns, waits_for) = self.limits.ready(probe.target, address);
            if ready_ns <= now_ns {
                self.limits.take(probe.target, address, now_ns);
                let next_ns = self.limits.ready_of(waited_for);
                self.deferred.pop_first(waited_for, next_ns);
                let earliest = u128::from(now_ns.saturating_sub(MAX_CATCH_UP_NS)) << 32;
                self.deferred_due = self.deferred_due.max(earliest) + self.rate_gap;
                return Some(Step::Send(probe, slot));
            }
            if waits_for == waited_for || !self.deferred.has_room(waits_for) {
                self.deferred.delay_first(waited_for, ready_ns);
            } else {
                // The other limit permits it later still.
                let next_ns = self.limits.ready_of(waited_for);
                self.deferred.pop_first(waited_for, next_ns);
                self.deferred.push(waits_for, slot_number, ready_ns);
            }
        }
        None
    }

    /// How much earlier than its own time the next slot is sent with its group, in the unit of `due`.
    #[inline]
    fn lead(&self) -> u128 {
        match self.group {
            1 => 0,
            group => self.gap * u128::from(self.epochs.place_in_round(self.next_slot) % group),
        }
    }

    #[inline]
    fn advance(&mut self) {
        // Slots of a group take the time of the rate one after the other, from the time of the group on.
        let start = self.due.saturating_sub(self.lead());
        self.rate_due = self.rate_due.max(start) + self.rate_gap;
        self.next_slot += 1;
        self.due += self.gap;
    }

    /// Notes that a probe was sent.
    #[inline]
    pub fn sent(&mut self) {
        let backoff = &mut self.backoff;
        if backoff.doublings > 0 {
            backoff.calm += 1;
            if backoff.calm == CALM {
                (backoff.calm, backoff.doublings) = (0, backoff.doublings - 1);
            }
        }
    }

    /// Notes that a local queue was full. The next probes wait, longer each time, until the back-off
    /// reserve is used up. A part of the time since the last pause is returned to the reserve first.
    pub fn congested(&mut self, now_ns: u64) {
        let backoff = &mut self.backoff;
        if now_ns < backoff.until_ns {
            return;
        }
        let calm_ns = now_ns - backoff.until_ns;
        backoff.left_ns = (backoff.left_ns + calm_ns / CALM_PARTS).min(backoff.most_ns);
        let pause_ns = (FIRST_PAUSE_NS << backoff.doublings).min(backoff.left_ns);
        backoff.left_ns -= pause_ns;
        backoff.calm = 0;
        backoff.doublings = (backoff.doublings + 1).min(MAX_PAUSE_DOUBLINGS);
        backoff.until_ns = now_ns + pause_ns;
        let until = u128::from(backoff.until_ns) << 32;
        self.due = self.due.max(until + self.lead());
    }

    /// Holds the slot of an issued probe, whose address is `address`. It counts as not issued until [`resume`](Self::resume),
    /// or until it is issued again after [`requeue`](Self::requeue).
    pub fn hold(&mut self, slot: Slot, address: Option<IpAddr>) {
        let Some(number) = self.epochs.number_of(slot) else {
            return;
        };
        self.held.insert(number);
        if let Some(address) = address {
            self.limits.give_back(address);
        }
        self.rate_due = self.rate_due.saturating_sub(self.rate_gap);
        // Otherwise an earlier round of the others would shorten their interval.
        if self.is_single() {
            self.due = self.due.saturating_sub(self.rate_gap);
        }
    }

    /// Ends holding a slot. False if it was not held.
    pub fn resume(&mut self, slot: Slot) -> bool {
        let number = self.epochs.number_of(slot);
        number.is_some_and(|number| self.held.remove(&number))
    }

    /// Ends holding a slot, which is issued again when the limits permit.
    pub fn requeue(&mut self, slot: Slot) {
        if let Some(number) = self.epochs.number_of(slot)
            && self.held.remove(&number)
        {
            self.requeued.push_back(number);
        }
    }

    /// Number of slots that are to be issued again.
    pub fn requeued(&self) -> usize {
        self.requeued.len()
    }

    /// As [`next_step`](Self::next_step), but issues no slot that was not issued before.
    pub fn waiting_step(&mut self, now_ns: u64, targets: &Targets) -> Step {
        let step = self.deferred_step(now_ns, targets);
        step.or_else(|| self.requeued_step(now_ns, targets))
            .unwrap_or_else(|| Step::Wait(self.waiting_ns(now_ns)))
    }

    /// Stops sending. Returns the slots that waited for a limit, or were held.
    pub fn stop(&mut self) -> Vec<Slot> {
        self.slots = self.next_slot;
        self.has_stopped = true;
        let waiting: Vec<u64> = self.deferred.slots().collect();
        self.deferred.clear();
        let held = std::mem::take(&mut self.held);
        let requeued = std::mem::take(&mut self.requeued);
        let all = waiting.into_iter().chain(held).chain(requeued);
        all.map(|slot| self.slot_at(slot)).collect()
    }

    /// Whether no probe waits for a limit.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.deferred.is_empty() && self.requeued.is_empty()
    }

    /// The number of the slot before which every probe was issued.
    #[inline]
    pub fn issued_end(&self) -> u64 {
        let held = self.held.first().copied();
        let waiting = held.into_iter().chain(self.requeued.iter().copied());
        waiting.fold(self.passed_end(), u64::min)
    }

    /// As [`issued_end`](Self::issued_end), but slots that are held or requeued count as issued.
    #[inline]
    pub fn passed_end(&self) -> u64 {
        if self.deferred.is_empty() {
            return self.next_slot;
        }
        let deferred = self.deferred.slots();
        deferred.fold(self.next_slot, u64::min)
    }

    /// Whether there is one probe to each target.
    pub fn is_single(&self) -> bool {
        self.rounds == Some(1)
    }

    pub fn is_over(&self) -> bool {
        let is_none_held = self.held.is_empty() && self.requeued.is_empty();
        self.next_slot == self.slots && self.deferred.is_empty() && is_none_held
    }

    /// The slot of an issued probe to `target`. `number` picks one, given how many were issued.
    #[inline]
    pub fn issued_slot(
        &self,
        target: u32,
        number: impl FnOnce(u32) -> Option<u32>,
    ) -> Option<IssuedSlot> {
        let position = self.position_of(target);
        let issued = self.rounds_before(self.next_slot, position);
        let round = number(issued)? - 1;
        let slot = Slot { position, round };
        Some(IssuedSlot {
            probe: Probe { target, round },
            slot,
            issued,
            // A slot that is no longer known has expired.
            slot_number: self.epochs.number_of(slot).unwrap_or(0),
        })
    }

    /// How many rounds were issued to `target`.
    pub fn rounds_issued(&self, target: u32) -> u32 {
        self.rounds_before(self.next_slot, self.position_of(target))
    }

    /// How many rounds have their slot of `position` before number `slot`.
    #[inline]
    pub fn rounds_before(&self, slot: u64, position: u32) -> u32 {
        self.epochs.rounds_before(slot, position)
    }

    /// The position of `target` in the order.
    #[inline]
    pub fn position_of(&self, target: u32) -> u32 {
        if target < self.permuted {
            self.order.position_of(target)
        } else {
            target
        }
    }

    #[inline]
    pub fn slot_at(&self, slot: u64) -> Slot {
        self.epochs.slot_at(slot)
    }

    #[inline]
    pub fn probe_in(&self, slot: Slot) -> Probe {
        let target = if slot.position < self.permuted {
            self.order.at(slot.position)
        } else {
            slot.position
        };
        Probe {
            target,
            round: slot.round,
        }
    }
}

/// Minimum time between two probes by the rate, in 2⁻³² nanoseconds; 0 without one.
fn rate_gap(rate_pps: Option<u32>) -> u128 {
    rate_pps.map_or(0, |rate| (1_000_000_000 << 32) / u128::from(rate.max(1)))
}
