//! The state machine.

use super::cookie::{COOKIE_BYTES, Cookies};
use super::expiry::Expiry;
use super::histogram::Histogram;
use super::network_error::NetworkErrors;
use super::plan::{Plan, PlanError};
use super::probe::Probe;
use super::record::Records;
use super::schedule::{Schedule, Seat, Turn};
use super::tally::{Counts, Rtt};
use super::verdict::Others;
use super::window::End;
use crate::targets::Targets;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this probe, and say what became of it: [`Prober::sent`] or [`Prober::dropped`].
    Send(Probe),
    /// Nothing before this time, unless an answer comes.
    Wait(u64),
    /// The run is over.
    Done,
}

/// Why this host did not send a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// It had no room (ENOBUFS): the next probes go more slowly for a while.
    NoRoom,
    /// It refuses, for want of a route, a permission or an interface.
    Refused,
}

/// A run of probes to many targets, without socket or clock.
///
/// Times are nanoseconds since the run began, by a clock that is never set. All memory is allocated by
/// [`Prober::new`]: for each target 64 bytes of statistics, 16 of bookkeeping, and two bits for each
/// probe in flight, 128 at least. No call allocates, and the cost of each is bounded and independent of
/// the number of targets.
///
/// ```text
/// next ─▶ Send ─▶ cookie, then on the wire ─▶ sent, or dropped
///      └▶ Wait ─▶ received for what arrives; expire when the time has come
/// ```
#[derive(Debug)]
pub struct Prober {
    pub(super) targets: Targets,
    pub(super) schedule: Schedule,
    pub(super) expiry: Expiry,
    pub(super) records: Records,
    pub(super) cookies: Cookies,
    /// What follows the cookie in each payload.
    pub(super) filler: Box<[u8]>,
    pub(super) others: Others,
    pub(super) errors: NetworkErrors,
    pub(super) timeout_ns: u64,
    gather_ns: u64,
    pub(super) identifier: u16,
    /// Probes that had their turn and of which nothing has been heard yet.
    in_hand: u64,
    /// The latest of them, whose seat need not be looked for.
    latest: (Probe, Seat),
    /// Where the walk over ended slots is.
    pub(super) walked: u64,
    /// When the next probe has its turn; `None` when that hangs on answers, or none is left.
    turn_ns: Option<u64>,
}

impl Prober {
    /// A run of `plan` over `targets`.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of its range.
    pub fn new(plan: &Plan, targets: Targets) -> Result<Self, PlanError> {
        let forecast = plan.forecast(targets.len())?;
        let cookies = Cookies::new(plan.key, plan.identifier);
        let mut filler = vec![0; plan.payload_bytes - COOKIE_BYTES].into_boxed_slice();
        cookies.fill(&mut filler);
        let schedule = Schedule::new(plan, &forecast);
        let first = schedule.seat_in(0);
        Ok(Self {
            latest: (schedule.probe_at(first), first),
            schedule,
            expiry: Expiry::new(plan.timeout_ns),
            records: Records::new(&forecast, plan.histograms),
            cookies,
            filler,
            others: Others::default(),
            errors: NetworkErrors::new(),
            timeout_ns: plan.timeout_ns,
            gather_ns: forecast.gather_ns(),
            identifier: plan.identifier,
            in_hand: 0,
            walked: 0,
            turn_ns: None,
            targets,
        })
    }

    /// What to do at `now_ns`. Call [`Prober::expire`] before: it makes room for probes.
    #[inline]
    pub fn next(&mut self, now_ns: u64) -> Step {
        // So that no probe takes the bit of one that has not ended.
        let limit = self.walked + u64::from(self.records.flight()) * u64::from(self.targets.len());
        let turn = self.schedule.turn(now_ns, limit, &self.targets);
        self.turn_ns = match turn {
            Turn::Wait(until_ns) => Some(until_ns),
            Turn::Send(..) | Turn::Full(_) | Turn::Over => None,
        };
        match turn {
            Turn::Send(probe, seat) => {
                self.in_hand += 1;
                self.latest = (probe, seat);
                Step::Send(probe)
            }
            Turn::Wait(until_ns) => {
                // Where probes gather, losses wait for the next group; and what has been settled ends
                // whenever the next wait is over.
                let is_soon = until_ns <= now_ns + self.gather_ns;
                if is_soon || self.records.total.pending() == 0 {
                    return Step::Wait(until_ns);
                }
                let expiry_ns = self.expiry.next_ns().unwrap_or(u64::MAX);
                Step::Wait(until_ns.min(expiry_ns.max(now_ns + 1)))
            }
            Turn::Over if self.records.total.pending() == 0 && self.in_hand == 0 => Step::Done,
            Turn::Full(_) | Turn::Over => {
                let turn_ns = match turn {
                    Turn::Full(until_ns) => until_ns,
                    _ => u64::MAX,
                };
                // What is in hand has to be settled first: the caller is asked again at once.
                let settled_ns = if self.in_hand > 0 { now_ns } else { turn_ns };
                Step::Wait(self.expiry.next_ns().unwrap_or(settled_ns).min(turn_ns))
            }
        }
    }

    /// When the next probe has its turn if no answer comes; `None` when it is not sent before answers or losses, or
    /// none is left. As of the latest [`Prober::next`].
    #[inline]
    pub fn turn_ns(&self) -> Option<u64> {
        self.turn_ns
    }

    /// What the payload of `probe` begins with when it is sent at `sent_ns`; [`Prober::filler`]
    /// follows.
    #[inline]
    pub fn cookie(&self, probe: Probe, sent_ns: u64) -> [u8; COOKIE_BYTES] {
        self.cookies.write(probe, sent_ns)
    }

    /// What follows the cookie in every payload: bytes that belong to this run.
    #[inline]
    pub fn filler(&self) -> &[u8] {
        &self.filler
    }

    /// Notes that `probe` was handed over to the kernel.
    #[inline]
    pub fn sent(&mut self, probe: Probe, now_ns: u64) {
        self.records.sent(self.seat(probe));
        self.schedule.sent();
        self.out_of_hand(now_ns);
    }

    /// Notes that this host did not send `probe`.
    pub fn dropped(&mut self, probe: Probe, why: Drop, now_ns: u64) {
        self.records.dropped(self.seat(probe));
        if why == Drop::NoRoom {
            self.schedule.congested(now_ns);
        }
        self.out_of_hand(now_ns);
    }

    #[inline]
    fn seat(&self, probe: Probe) -> Seat {
        let (latest, seat) = self.latest;
        if latest == probe {
            return seat;
        }
        Seat {
            place: self.schedule.place_of(probe.target),
            round: probe.round,
        }
    }

    #[inline]
    fn out_of_hand(&mut self, now_ns: u64) {
        self.in_hand = self.in_hand.saturating_sub(1);
        // Where some wait for a limit, what has gone takes a search: not for every probe.
        let is_cheap = self.schedule.is_in_order();
        if self.in_hand == 0 && (is_cheap || self.expiry.is_due(now_ns)) {
            self.expiry.note(self.schedule.gone(), now_ns);
        }
    }

    /// Whether [`Prober::expire`] may find a loss at `now_ns`: who takes answers before tells none lost
    /// that has only not been read.
    #[inline]
    pub fn is_expiry_due(&self, now_ns: u64) -> bool {
        let is_due = self.expiry.next_ns().is_some_and(|at_ns| at_ns <= now_ns);
        is_due && self.records.total.pending() > 0
    }

    /// Counts the probes lost whose time is over at `now_ns`, and tells each.
    pub fn expire(&mut self, now_ns: u64, mut lost: impl FnMut(Probe)) {
        self.expire_with(now_ns, |probe, _| lost(probe));
    }

    /// As [`Prober::expire`], and shows what is known at each.
    #[inline]
    pub fn expire_with(&mut self, now_ns: u64, mut lost: impl FnMut(Probe, &Self)) {
        while let Some(end) = self.expiry.take(now_ns) {
            while self.walked < end {
                let seat = self.schedule.seat_in(self.walked);
                self.walked += 1;
                match self.records.end(seat) {
                    End::Settled => {}
                    End::Doubtful => self.others.unproven += 1,
                    End::Lost => lost(self.schedule.probe_at(seat), self),
                }
            }
        }
    }

    /// Ends the sending; the probes in flight are still waited for.
    pub fn stop(&mut self, now_ns: u64) {
        for seat in self.schedule.stop() {
            self.records.take_back_unsent(seat);
            self.others.unsent += 1;
        }
        if self.in_hand == 0 {
            self.expiry.note(self.schedule.gone(), now_ns);
        }
    }

    /// Marks a target as a host on the link, whose hardware address the kernel has to ask for. Until
    /// it answers it is probed at the plan's pace for neighbours.
    pub fn mark_on_link(&mut self, target: u32) {
        let targets = self.targets.len();
        self.schedule.gates().mark_on_link(target, targets);
    }
}

/// What is known so far.
impl Prober {
    /// The targets.
    #[inline]
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// What became of the probes to `target`.
    pub fn counts(&self, target: u32) -> Counts {
        self.records.counts(self.schedule.place_of(target))
    }

    /// Round-trip times of `target`; `None` without an answer in time.
    pub fn rtt(&self, target: u32) -> Option<Rtt> {
        self.records.rtt(self.schedule.place_of(target))
    }

    /// Round-trip time of `target` that the share `quantile` of its answers does not exceed, to 1/16 of
    /// itself; `None` without answers or without histograms in the plan.
    pub fn quantile(&self, target: u32, quantile: f64) -> Option<u64> {
        let place = self.schedule.place_of(target);
        self.records.quantile(place, quantile)
    }

    /// Round-trip times of `target` in buckets, an eighth of a doubling each: lowest and highest, in nanoseconds, and
    /// how many fell into it, of those that are not empty. None without histograms in the plan.
    pub fn buckets(&self, target: u32) -> impl Iterator<Item = (u64, u64, u64)> {
        self.records.buckets(self.schedule.place_of(target))
    }

    /// Most probes to `target` in a row that were not answered in time: lost, late, answered by an error, or
    /// not sent by this host.
    pub fn longest_outage(&self, target: u32) -> u32 {
        let place = self.schedule.place_of(target);
        let [ended, gone] =
            [self.walked, self.schedule.gone()].map(|slot| self.schedule.rounds_at(slot, place));
        self.records.longest_outage(place, ended..gone)
    }

    /// What became of all probes.
    #[inline]
    pub fn total(&self) -> Counts {
        self.records.total
    }

    /// Round-trip times of all targets.
    #[inline]
    pub fn histogram(&self) -> &Histogram {
        &self.records.histogram
    }

    /// Messages that belong to no target.
    pub fn others(&self) -> Others {
        self.others
    }

    /// ICMP errors by router, type and code.
    pub fn errors(&self) -> &NetworkErrors {
        &self.errors
    }

    /// Whether every probe has been sent, lost or taken back and none is waited for.
    pub fn is_done(&self) -> bool {
        self.schedule.is_over() && self.in_hand == 0 && self.records.total.pending() == 0
    }
}
