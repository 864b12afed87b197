//! Whose turn it is, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::gate::Gates;
use super::permutation::Permutation;
use super::plan::{Forecast, Plan};
use super::probe::Probe;
use crate::targets::Targets;

/// Lateness that is made up for by sending faster; what goes beyond shifts the rest of the run.
const MAX_CATCH_UP_NS: u64 = 10_000_000;
/// Probes that wait for a limit while others overtake them.
pub(super) const MAX_DEFERRED: usize = 1024;
/// First and longest pause after a local drop: 1 ms, doubled 6 times.
const FIRST_PAUSE_NS: u64 = 1_000_000;
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// Probes sent in a row that shorten the next pause by half.
const CALM: u32 = 64;
/// Of the time without pauses, one part in so many may be spent on pauses later.
const CALM_PARTS: u64 = 16;

/// The order and the times of a run.
///
/// Time is cut into rounds, each round into a slot for each target: slot `round · targets + place`
/// goes to the target at that place of one permuted order. It is the same in every round, so that
/// the time between two probes to a target is always the interval. Within a round the slots may be
/// gathered into groups, which are due with their first.
#[derive(Debug)]
pub(crate) struct Schedule {
    order: Permutation,
    targets: u64,
    /// Slots in all.
    slots: u64,
    /// First slot that has not been looked at.
    next_slot: u64,
    /// When it is due, in 2⁻³² nanoseconds.
    due: u128,
    gap: u128,
    /// Slots of a round that go together.
    group: u64,
    /// Slots that wait for a limit, by the time they may go.
    deferred: BinaryHeap<Reverse<(u64, u64)>>,
    gates: Gates,
    backoff: Backoff,
}

/// Slower for a while after local drops.
#[derive(Debug)]
struct Backoff {
    doublings: u32,
    calm: u32,
    until_ns: u64,
    /// Time for pauses that is left, and at most.
    left_ns: u64,
    most_ns: u64,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Send(Probe, Seat),
    /// Nobody's before this time.
    Wait(u64),
    /// Nobody's before more of the probes in flight have ended, or this time.
    Full(u64),
    Over,
}

/// A slot: a place in the order, in one of the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    pub place: u32,
    pub round: u32,
}

/// The turn that a probe has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    pub probe: Probe,
    pub seat: Seat,
    /// How many probes to its target have had theirs.
    pub issued: u32,
    pub slot: u64,
}

impl Schedule {
    pub fn new(plan: &Plan, forecast: &Forecast) -> Self {
        let targets = u64::from(forecast.targets);
        Self {
            order: Permutation::new(
                forecast.targets,
                plan.key.0[0] ^ plan.key.0[1].rotate_left(32),
            ),
            targets,
            slots: targets * u64::from(plan.rounds.unwrap_or(u32::MAX - 1)),
            next_slot: 0,
            due: 0,
            gap: forecast.gap(),
            group: forecast.group.into(),
            deferred: BinaryHeap::with_capacity(MAX_DEFERRED),
            gates: Gates::new(plan),
            backoff: Backoff {
                doublings: 0,
                calm: 0,
                until_ns: 0,
                left_ns: plan.backoff_ns,
                most_ns: plan.backoff_ns,
            },
        }
    }

    pub fn gates(&mut self) -> &mut Gates {
        &mut self.gates
    }

    /// Whose turn it is at `now_ns`; slots from `limit` on have to wait.
    #[inline]
    pub fn turn(&mut self, now_ns: u64, limit: u64, targets: &Targets) -> Turn {
        if let Some((probe, seat)) = self.deferred_turn(now_ns, targets) {
            return Turn::Send(probe, seat);
        }
        // Each time round either ends the loop or defers a slot, of which there are so many at most.
        loop {
            if self.next_slot == self.slots {
                return if self.deferred.is_empty() {
                    Turn::Over
                } else {
                    Turn::Wait(self.deferred_ns(now_ns))
                };
            }
            if self.next_slot >= limit {
                return Turn::Full(self.deferred_ns(now_ns));
            }
            let lead = self.lead();
            let due_ns = (self.due.saturating_sub(lead) >> 32) as u64;
            if due_ns > now_ns {
                return Turn::Wait(due_ns.min(self.deferred_ns(now_ns)));
            }
            if now_ns - due_ns > MAX_CATCH_UP_NS {
                self.due = (u128::from(now_ns - MAX_CATCH_UP_NS) << 32) + lead;
            }
            let seat = self.seat_in(self.next_slot);
            let probe = self.probe_at(seat);
            if self.gates.is_open() {
                self.step();
                return Turn::Send(probe, seat);
            }
            let address = targets.address(probe.target);
            let ready_ns = self.gates.ready(probe.target, address);
            if ready_ns <= now_ns {
                self.gates.pass(probe.target, address, now_ns);
                self.step();
                return Turn::Send(probe, seat);
            }
            if self.deferred.len() == MAX_DEFERRED {
                return Turn::Wait(ready_ns.min(self.deferred_ns(now_ns)));
            }
            self.deferred.push(Reverse((ready_ns, self.next_slot)));
            self.step();
        }
    }

    /// When a deferred probe may have its turn, after `now_ns`.
    fn deferred_ns(&self, now_ns: u64) -> u64 {
        let first = self.deferred.peek();
        first.map_or(u64::MAX, |Reverse((at, _))| {
            (*at).max(self.backoff.until_ns).max(now_ns + 1)
        })
    }

    /// A deferred probe whose time has come. Several that wait for one limit come at one time: but
    /// for the first they wait on.
    #[inline]
    fn deferred_turn(&mut self, now_ns: u64, targets: &Targets) -> Option<(Probe, Seat)> {
        if now_ns < self.backoff.until_ns {
            return None;
        }
        for _ in 0..self.deferred.len() {
            let Reverse((at, slot)) = *self.deferred.peek()?;
            if at > now_ns {
                return None;
            }
            self.deferred.pop();
            let seat = self.seat_in(slot);
            let probe = self.probe_at(seat);
            let address = targets.address(probe.target);
            let ready_ns = self.gates.ready(probe.target, address);
            if ready_ns <= now_ns {
                self.gates.pass(probe.target, address, now_ns);
                return Some((probe, seat));
            }
            self.deferred.push(Reverse((ready_ns, slot)));
        }
        None
    }

    /// How long before its own time the next slot goes, because its group does; as [`Schedule::due`].
    #[inline]
    fn lead(&self) -> u128 {
        match self.group {
            1 => 0,
            group => self.gap * u128::from(self.next_slot % self.targets % group),
        }
    }

    #[inline]
    fn step(&mut self) {
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

    /// Notes that this host had no room for a probe: the next ones wait, longer each time, until the
    /// plan's limit for that is used up. A part of the time since the last pause has come back to it.
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

    /// Ends the sending; gives the probes that waited for a limit.
    pub fn stop(&mut self) -> Vec<Seat> {
        self.slots = self.next_slot;
        let waiting = std::mem::take(&mut self.deferred).into_iter();
        waiting
            .map(|Reverse((_, slot))| self.seat_in(slot))
            .collect()
    }

    /// Whether no probe waits for a limit.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.deferred.is_empty()
    }

    /// The slot before which every probe has gone.
    #[inline]
    pub fn gone(&self) -> u64 {
        let waiting = self.deferred.iter().map(|Reverse((_, slot))| *slot);
        waiting.min().unwrap_or(self.next_slot)
    }

    pub fn is_over(&self) -> bool {
        self.next_slot == self.slots && self.deferred.is_empty()
    }

    /// The turn that a probe to `target` has had: `number` says which it is of so many that have gone there.
    #[inline]
    pub fn past(&self, target: u32, number: impl FnOnce(u32) -> Option<u32>) -> Option<Past> {
        let place = self.order.place_of(target);
        let issued = self.rounds_at(self.next_slot, place);
        let round = number(issued)? - 1;
        Some(Past {
            probe: Probe { target, round },
            seat: Seat { place, round },
            issued,
            slot: u64::from(round) * self.targets + u64::from(place),
        })
    }

    /// How many slots before `slot` are those of `place`.
    #[inline]
    pub fn rounds_at(&self, slot: u64, place: u32) -> u32 {
        let (rounds, reached) = (slot / self.targets, slot % self.targets);
        rounds as u32 + u32::from(reached > u64::from(place))
    }

    /// The place of `target` in the order.
    #[inline]
    pub fn place_of(&self, target: u32) -> u32 {
        self.order.place_of(target)
    }

    #[inline]
    pub fn seat_in(&self, slot: u64) -> Seat {
        Seat {
            place: (slot % self.targets) as u32,
            round: (slot / self.targets) as u32,
        }
    }

    #[inline]
    pub fn probe_at(&self, seat: Seat) -> Probe {
        Probe {
            target: self.order.at(seat.place),
            round: seat.round,
        }
    }
}
