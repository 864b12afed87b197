//! Probes that were issued and wait for something outside, such as a neighbour.

use crate::probe::Probe;
use crate::prober::{NextAction, Prober};

impl Prober {
    /// As [`Prober::next`], but issues no probe besides those that were issued before and wait for a limit.
    pub fn next_waiting(&mut self, now_ns: u64) -> NextAction {
        self.now_ns = now_ns;
        self.next_of(now_ns, |prober| {
            prober.schedule.waiting_step(now_ns, &prober.targets)
        })
    }

    /// Sets `probe` aside, which [`Prober::next`] has issued and the caller cannot send yet. It counts as not issued until
    /// [`Prober::resume`], or until it is issued again after [`Prober::requeue`]. [`Prober::stop`] withdraws it. If answers are
    /// counted in the kernel, and there are several probes to each target, the timeouts of later probes do not wait for it.
    pub fn hold(&mut self, probe: Probe) {
        self.unreported = self.unreported.saturating_sub(1);
        let slot = self.slot_of(probe);
        self.schedule.hold(slot, self.targets.address(probe.target));
    }

    /// Lets [`Prober::next`] issue a probe again that was [held](Prober::hold), as soon as the rate and the other limits
    /// permit. Nothing if it was withdrawn.
    pub fn requeue(&mut self, probe: Probe) {
        let slot = self.slot_of(probe);
        self.schedule.requeue(slot);
    }

    /// Number of probes that are to be issued again.
    #[inline]
    pub fn requeued(&self) -> usize {
        self.schedule.requeued()
    }

    /// Takes back a probe that was [held](Prober::hold). If this returns true, the caller has to send it, and to report that.
    /// If not, it was withdrawn, because its target has changed or the run has stopped.
    #[must_use]
    pub fn resume(&mut self, probe: Probe, now_ns: u64) -> bool {
        let slot = self.slot_of(probe);
        if !self.schedule.resume(slot) {
            return false;
        }
        let is_closed = self.accounts.is_closed(probe.target, probe.round);
        if is_closed || self.targets.is_idle(probe.target) {
            self.skip(slot, now_ns);
            return false;
        }
        self.unreported += 1;
        true
    }
}
