//! The state machine of a run.

use std::collections::VecDeque;

use crate::accounts::AddressAccounts;
use crate::classification::OtherCounts;
use crate::cookie::{COOKIE_BYTES, CookieCodec, MAX_SHORT_TARGETS, MIN_PAYLOAD_BYTES};
use crate::host_change::{RemovedHosts, WaitingChange};
use crate::path::{BALANCE_BYTES, ChecksumBalance, MAX_PATHS};
use crate::plan::{MAX_PAYLOAD_BYTES, PlanError, ProbePlan};
use crate::probe::{Probe, Slot};
use crate::schedule::{Expiry, Schedule, Step};
use crate::statistics::{KernelCountedTargets, NetworkErrors, ProbeEnd, RunStatistics};
use crate::target_plans::TargetPlans;
use crate::targets::Targets;

/// Maximum slots of targets that are not probed that one call skips, and how long the schedule rests if it skipped that many.
const MAX_SKIPS: usize = 4096;
const SKIP_REST_NS: u64 = 1_000_000;

/// What the caller has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Send this probe, then call [`Prober::sent`] or [`Prober::not_sent`].
    Send(Probe),
    /// Wait for answers until this time.
    Wait(u64),
    /// The run is over.
    Done,
}

/// Why this host could not send a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFailure {
    /// A queue or buffer was full (ENOBUFS). The next probes are sent more slowly for a while.
    QueueFull,
    /// No route, permission or interface.
    Refused,
}

/// A run of probes to many targets: schedule, matching and statistics, without socket or clock.
///
/// Times are nanoseconds since the start of the run, by a monotonic clock. [`Prober::new`] allocates all
/// memory. Each target takes 64 bytes of statistics, 16 bytes of state, and two bits per probe in
/// flight, at least 128. No other call allocates, except those that change the targets. The cost of each call is
/// bounded and independent of the number of targets, except that of sums over targets whose answers are counted in the kernel.
///
/// ```text
/// next ─▶ Send ─▶ cookie, then send ─▶ sent, or not_sent
///      └▶ Wait ─▶ received for each message; expire at the deadline
/// ```
#[derive(Debug)]
pub struct Prober {
    pub(crate) targets: Targets,
    pub(crate) schedule: Schedule,
    pub(crate) expiry: Expiry,
    pub(crate) statistics: RunStatistics,
    /// The targets, if their answers are counted in the kernel; `statistics` has none of them then.
    pub(crate) kernel_counted: Option<KernelCountedTargets>,
    pub(crate) cookies: CookieCodec,
    /// Targets that are probed differently.
    pub(crate) own: TargetPlans,
    /// Targets whose own number of probes has ended.
    pub(crate) ended: VecDeque<u32>,
    /// The payload after the cookie.
    pub(crate) filler: Box<[u8]>,
    pub(crate) other_counts: OtherCounts,
    pub(crate) errors: NetworkErrors,
    pub(crate) timeout_ns: u64,
    gather_ns: u64,
    pub(crate) identifier: u16,
    /// Probes issued by `next` for which the caller has not reported a result.
    pub(crate) unreported: u64,
    /// The latest issued probe, and its slot.
    latest: (Probe, Slot),
    /// Number of slots whose timeout was processed.
    pub(crate) expired_slots: u64,
    /// All slots before this one were sent; those that were withdrawn come later.
    pub(crate) sent_end: u64,
    /// When the next probe is due; `None` if that depends on answers, or none is left.
    next_due_ns: Option<u64>,
    /// Whether the next probe waits until some in flight end.
    has_full_flight: bool,
    /// Present if probes are assigned to paths.
    pub(crate) balance: Option<ChecksumBalance>,
    pub(crate) accounts: AddressAccounts,
    /// Changes that wait for probes in flight, in the order of their requests.
    pub(crate) pending_changes: VecDeque<WaitingChange>,
    /// The latest time that was passed in.
    pub(crate) now_ns: u64,
    pub(crate) removed: RemovedHosts,
}

impl Prober {
    /// Starts a run of `plan` over `targets`.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of its range.
    pub fn new(plan: &ProbePlan, targets: Targets) -> Result<Self, PlanError> {
        Self::with_statistics(plan, targets, None)
    }

    pub(crate) fn with_statistics(
        plan: &ProbePlan,
        targets: Targets,
        kernel_counted: Option<KernelCountedTargets>,
    ) -> Result<Self, PlanError> {
        let forecast = plan.forecast(targets.len())?;
        let has_paths = check_paths(plan, &targets)?;
        let least_payload = match kernel_counted {
            Some(_) => plan.payload_bytes,
            None if has_paths => COOKIE_BYTES + BALANCE_BYTES,
            None => MIN_PAYLOAD_BYTES,
        };
        let cookies = CookieCodec::new(plan.key, plan.identifier);
        let mut filler = vec![0; plan.payload_bytes.saturating_sub(COOKIE_BYTES)];
        cookies.fill(&mut filler);
        if has_paths {
            filler[..BALANCE_BYTES].fill(0);
        }
        let balance = has_paths.then(|| ChecksumBalance::new(plan.identifier, &filler));
        let schedule = Schedule::new(plan, &forecast);
        let first = schedule.slot_at(0);
        let rows = if kernel_counted.is_some() {
            0
        } else {
            forecast.targets
        };
        if kernel_counted.is_none() {
            // So that no answer waits for it.
            targets.prepare_find();
        }
        // A single answer that is counted in the kernel is final when it cannot be late any more.
        let statistics = RunStatistics::new(rows, forecast.flight(), plan.histograms);
        let (round_ns, rounds) = (forecast.round_ns, statistics.rounds());
        let own = TargetPlans::new(plan, round_ns, rounds, least_payload, &targets)?;
        let expiry_ns = match kernel_counted {
            Some(_) if schedule.is_single() => plan.timeout_ns.saturating_mul(2),
            _ => plan.timeout_ns,
        };
        Ok(Self {
            latest: (schedule.probe_in(first), first),
            schedule,
            expiry: Expiry::new(expiry_ns),
            statistics,
            kernel_counted,
            own,
            ended: VecDeque::new(),
            cookies,
            filler: filler.into_boxed_slice(),
            other_counts: OtherCounts::default(),
            errors: NetworkErrors::new(),
            timeout_ns: plan.timeout_ns,
            gather_ns: forecast.gather_ns(),
            identifier: plan.identifier,
            unreported: 0,
            expired_slots: plan.first_probe,
            sent_end: u64::MAX,
            next_due_ns: None,
            has_full_flight: false,
            balance,
            accounts: AddressAccounts::default(),
            pending_changes: VecDeque::new(),
            now_ns: 0,
            removed: RemovedHosts::default(),
            targets,
        })
    }

    /// What to do at `now_ns`. Call [`Prober::expire`] first: it frees room for probes.
    #[inline]
    pub fn next(&mut self, now_ns: u64) -> NextAction {
        self.now_ns = now_ns;
        // So that no probe reuses the bits of one that has not ended.
        let flight = self.statistics.flight();
        let limit = self.schedule.limit(self.expired_slots, flight);
        self.next_of(now_ns, |prober| {
            let (targets, own) = (&prober.targets, &prober.own);
            prober.schedule.next_step(now_ns, limit, targets, own)
        })
    }

    #[inline]
    pub(crate) fn next_of(
        &mut self,
        now_ns: u64,
        next_step: impl Fn(&mut Self) -> Step,
    ) -> NextAction {
        let mut step = Step::Wait(now_ns + SKIP_REST_NS);
        for _ in 0..MAX_SKIPS {
            match next_step(self) {
                Step::Skip(slot) => self.skip(slot, now_ns),
                // It waited for a limit while its target changed.
                Step::Send(probe, slot) if self.accounts.is_closed(probe.target, probe.round) => {
                    self.skip(slot, now_ns);
                }
                other => {
                    step = other;
                    break;
                }
            }
        }
        self.next_due_ns = match step {
            Step::Wait(until_ns) => Some(until_ns),
            _ => None,
        };
        self.has_full_flight = matches!(step, Step::Full(_));
        match step {
            Step::Send(probe, slot) => {
                self.unreported += 1;
                self.latest = (probe, slot);
                NextAction::Send(probe)
            }
            Step::Wait(until_ns) => {
                // With groups, losses wait for the next group. Without probes in flight, expiry can wait for
                // the next probe.
                let is_soon = until_ns <= now_ns + self.gather_ns;
                if is_soon || self.statistics.total.pending() == 0 {
                    return NextAction::Wait(until_ns);
                }
                let expiry_ns = self.expiry.next_ns().unwrap_or(u64::MAX);
                NextAction::Wait(until_ns.min(expiry_ns.max(now_ns + 1)))
            }
            Step::Done if self.is_done() => NextAction::Done,
            Step::Full(_) | Step::Done | Step::Skip(_) => {
                let step_ns = match step {
                    Step::Full(until_ns) => until_ns,
                    _ => u64::MAX,
                };
                // The caller first has to report the issued probes.
                let settled_ns = if self.unreported > 0 { now_ns } else { step_ns };
                NextAction::Wait(self.expiry.next_ns().unwrap_or(settled_ns).min(step_ns))
            }
        }
    }

    /// Ends the probe of `slot`, which is not sent.
    pub(crate) fn skip(&mut self, slot: Slot, now_ns: u64) {
        self.withdraw(slot);
        self.note_issued(now_ns);
    }

    fn withdraw(&mut self, slot: Slot) {
        if self.kernel_counted.is_none() {
            self.statistics.withdraw(slot);
        }
    }

    /// When the next probe is due if no answer arrives. `None` if it has to wait for answers or losses, or
    /// if none is left. As of the latest [`Prober::next`].
    #[inline]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.next_due_ns
    }

    /// The start of the payload of `probe`, sent at `sent_ns`. [`Prober::filler`] follows, up to
    /// [`Prober::payload_bytes`] bytes in all. If these are fewer than [`COOKIE_BYTES`], the rest is not sent.
    #[inline]
    pub fn cookie(&self, probe: Probe, sent_ns: u64) -> [u8; COOKIE_BYTES] {
        if self.own.payload_bytes(probe.target) < COOKIE_BYTES {
            return self.cookies.encode_short(probe);
        }
        self.cookies.encode(probe, sent_ns)
    }

    /// Length of the payload of probes to `target`.
    #[inline]
    pub fn payload_bytes(&self, target: u32) -> usize {
        self.own.payload_bytes(target)
    }

    /// Time after which an answer of `target` is late.
    #[inline]
    pub fn timeout_ns(&self, target: u32) -> u64 {
        self.own.timeout_ns(target)
    }

    /// Bytes of the keyed tag in a probe with `payload_bytes` bytes of payload: 4 in a whole cookie. With 3 to 6 bytes of
    /// payload they are fewer, down to none: then a host on the way, or one that guesses sequence numbers, can forge answers.
    pub fn tag_bytes(payload_bytes: usize) -> usize {
        CookieCodec::tag_bytes(payload_bytes)
    }

    /// The first bytes of the payload after `cookie`, in place of those of [`Prober::filler`], if probes are assigned to
    /// paths. They make the checksum that of the path.
    #[inline]
    pub fn balance(
        &self,
        probe: Probe,
        cookie: &[u8; COOKIE_BYTES],
    ) -> Option<[u8; BALANCE_BYTES]> {
        let path = self.targets.path(probe.target)?;
        Some(self.balance?.of(path, probe.sequence(), cookie))
    }

    /// The payload after the cookie, the same in every probe of this run.
    #[inline]
    pub fn filler(&self) -> &[u8] {
        &self.filler
    }

    /// Reports that `probe` was passed to the kernel.
    #[inline]
    pub fn sent(&mut self, probe: Probe, now_ns: u64) {
        match &mut self.kernel_counted {
            None => self.statistics.sent(self.slot_of(probe)),
            Some(kernel_counted) => {
                kernel_counted.sent(probe.target);
                self.statistics.total.sent += 1;
            }
        }
        self.own.sent(probe.target, probe.round, now_ns);
        self.schedule.sent();
        self.reported(now_ns);
        self.note_last(probe.target, now_ns);
    }

    /// Reports that this host could not send `probe`.
    pub fn not_sent(&mut self, probe: Probe, why: SendFailure, now_ns: u64) {
        match &mut self.kernel_counted {
            None => self.statistics.not_sent(self.slot_of(probe)),
            Some(kernel_counted) => {
                kernel_counted.not_sent(probe.target);
                self.statistics.total.local_drops += 1;
            }
        }
        if why == SendFailure::QueueFull {
            self.schedule.congested(now_ns);
        }
        self.reported(now_ns);
        self.note_last(probe.target, now_ns);
    }

    /// Whether the next probe has to wait until some in flight end: no more can be tracked. As of the latest
    /// [`Prober::next`].
    #[inline]
    pub fn has_full_flight(&self) -> bool {
        self.has_full_flight
    }

    #[inline]
    pub(crate) fn slot_of(&self, probe: Probe) -> Slot {
        let (latest, slot) = self.latest;
        if latest == probe {
            return slot;
        }
        Slot {
            position: self.schedule.position_of(probe.target),
            round: probe.round,
        }
    }

    #[inline]
    fn reported(&mut self, now_ns: u64) {
        self.unreported = self.unreported.saturating_sub(1);
        self.note_issued(now_ns);
    }

    /// Lets the timeouts run of the probes that were issued and reported.
    #[inline]
    fn note_issued(&mut self, now_ns: u64) {
        // If probes are deferred, finding the end takes a search, so not for every probe.
        let is_cheap = self.schedule.is_in_order();
        if self.unreported == 0 && (is_cheap || self.expiry.is_due(now_ns)) {
            self.expiry.note(self.timed_end(), now_ns);
        }
    }

    /// Whether [`Prober::expire`] may find a loss at `now_ns`. Read all answers first, so that no answered
    /// probe is reported lost.
    #[inline]
    pub fn is_expiry_due(&self, now_ns: u64) -> bool {
        let is_due = self.expiry.next_ns().is_some_and(|at_ns| at_ns <= now_ns);
        is_due && self.statistics.total.pending() > 0
    }

    /// Counts the probes that timed out by `now_ns` as lost, and calls `lost` for each.
    pub fn expire(&mut self, now_ns: u64, mut lost: impl FnMut(Probe)) {
        self.expire_with(now_ns, |probe, _| lost(probe));
    }

    /// As [`Prober::expire`], and passes the current state to `lost`.
    #[inline]
    pub fn expire_with(&mut self, now_ns: u64, mut lost: impl FnMut(Probe, &Self)) {
        while let Some(end) = self.expiry.take(now_ns) {
            if self.kernel_counted.is_some() {
                // Their timeout ends nothing here.
                self.expired_slots = self.expired_slots.max(end);
            }
            while self.expired_slots < end {
                let slot = self.schedule.slot_at(self.expired_slots);
                self.expired_slots += 1;
                let is_skipped = !self.own.is_empty() && {
                    let probe = self.schedule.probe_in(slot);
                    !self.own.is_due(probe.target, probe.round)
                };
                match self.statistics.end(slot, is_skipped) {
                    ProbeEnd::Settled => {}
                    ProbeEnd::Unproven => {
                        self.other_counts.unproven += 1;
                        self.note_end(self.schedule.probe_in(slot).target);
                    }
                    ProbeEnd::Lost => {
                        let probe = self.schedule.probe_in(slot);
                        lost(probe, self);
                        self.note_end(probe.target);
                    }
                }
            }
        }
    }

    /// The next target whose own number of probes ([`TargetSettings::count`](crate::TargetSettings::count)) has ended, each
    /// answered or lost.
    #[inline]
    pub fn next_ended(&mut self) -> Option<u32> {
        self.ended.pop_front()
    }

    /// Notes that `target` has ended, if it has a number of probes of its own and all have.
    #[inline]
    pub(crate) fn note_end(&mut self, target: u32) {
        if !self.own.has_count(target) || self.counts(target).pending() > 0 {
            return;
        }
        let issued = self.schedule.rounds_issued(target);
        if self.own.end(target, issued) {
            self.ended.push_back(target);
        }
    }

    /// After a probe to `target`: it may have been the last one.
    #[inline]
    fn note_last(&mut self, target: u32, now_ns: u64) {
        if !self.own.has_count(target) {
            return;
        }
        match &mut self.kernel_counted {
            None => self.note_end(target),
            Some(kernel_counted) => {
                let issued = self.schedule.rounds_issued(target);
                if self.own.end(target, issued) {
                    let final_ns = now_ns + 2 * self.timeout_ns + 1;
                    kernel_counted.close_at(final_ns, target);
                }
            }
        }
    }

    /// Stops sending. Probes in flight still wait for their answers.
    pub fn stop(&mut self, now_ns: u64) {
        self.sent_end = self.schedule.issued_end();
        for slot in self.schedule.stop() {
            self.withdraw(slot);
            self.other_counts.unsent += 1;
        }
        if self.unreported == 0 {
            self.expiry.note(self.timed_end(), now_ns);
        }
    }

    /// Sends at most `pps` probes per second from now on, if the plan permits more. Probes that are due together stay so.
    pub fn limit_rate(&mut self, pps: u32) {
        let targets = self.targets.len();
        self.schedule.limit_rate(pps, targets);
    }

    /// Marks a target as on-link: the kernel has to resolve its link-layer address. Until it answers, it is
    /// probed at the plan's neighbour pace.
    pub fn mark_on_link(&mut self, target: u32) {
        let targets = self.targets.len();
        self.schedule.limits().mark_on_link(target, targets);
    }
}

/// Whether probes are assigned to paths.
fn check_paths(plan: &ProbePlan, targets: &Targets) -> Result<bool, PlanError> {
    let paths = targets.paths();
    if paths > MAX_PATHS {
        return Err(PlanError {
            what: "paths",
            value: paths.into(),
            low: 1,
            high: MAX_PATHS.into(),
        });
    }
    if plan.payload_bytes < COOKIE_BYTES && targets.len() > MAX_SHORT_TARGETS {
        return Err(PlanError {
            what: "targets with such a short payload",
            value: targets.len().into(),
            low: 1,
            high: MAX_SHORT_TARGETS.into(),
        });
    }
    let least = COOKIE_BYTES + BALANCE_BYTES;
    if paths > 0 && plan.payload_bytes < least {
        return Err(PlanError {
            what: "payload (bytes)",
            value: plan.payload_bytes as u64,
            low: least as u64,
            high: MAX_PAYLOAD_BYTES as u64,
        });
    }
    Ok(paths > 0)
}
