//! What a run has found so far.

use std::borrow::Cow;

use crate::accounts::AddressAccount;
use crate::classification::OtherCounts;
use crate::prober::Prober;
use crate::statistics::{
    Histogram, NetworkErrors, ProbeCounts, RttStatistics, target_buckets, target_quantile,
};
use crate::targets::Targets;

/// Statistics of the run so far.
impl Prober {
    /// The targets.
    #[inline]
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Probe counters of `target`.
    pub fn counts(&self, target: u32) -> ProbeCounts {
        match &self.kernel_counted {
            None => self.statistics.counts(self.schedule.position_of(target)),
            Some(_) => self.counts_with_overdue(target),
        }
    }

    /// The counters of `target` by address, the current one last. Their sum is [`Prober::counts`]. Counters of former
    /// addresses are final. Empty if the target never had an address.
    pub fn accounts(&self, target: u32) -> Vec<AddressAccount> {
        let address = self.targets.address(target);
        self.accounts.of(target, address, self.counts(target))
    }

    /// Round-trip times of `target`; `None` if no answer arrived in time.
    pub fn rtt(&self, target: u32) -> Option<RttStatistics> {
        match &self.kernel_counted {
            None => self.statistics.rtt(self.schedule.position_of(target)),
            Some(kernel_counted) => kernel_counted.rtt(target),
        }
    }

    /// Round-trip time of `target` at `quantile` (0 to 1), with a relative error of 1/16. `None` without
    /// answers or without histograms in the plan.
    pub fn quantile(&self, target: u32, quantile: f64) -> Option<u64> {
        target_quantile(&self.row(target), quantile)
    }

    /// The non-empty histogram buckets of `target`, eight per doubling: lowest and highest round-trip time
    /// in nanoseconds, and the count. Empty without histograms in the plan.
    pub fn buckets(&self, target: u32) -> impl Iterator<Item = (u64, u64, u64)> {
        let buckets: Vec<_> = target_buckets(&self.row(target)).collect();
        buckets.into_iter()
    }

    /// The histogram of `target`; empty without.
    fn row(&self, target: u32) -> Cow<'_, [u32]> {
        match &self.kernel_counted {
            None => self
                .statistics
                .row(self.schedule.position_of(target))
                .into(),
            Some(kernel_counted) => kernel_counted.histogram(target).into(),
        }
    }

    /// Maximum number of consecutive probes to `target` without an answer in time: lost, late, answered by
    /// an error, or not sent. 0 if answers are counted in the kernel.
    pub fn longest_outage(&self, target: u32) -> u32 {
        if self.kernel_counted.is_some() {
            return 0;
        }
        let position = self.schedule.position_of(target);
        let rounds_before = |slot| self.schedule.rounds_before(slot, position);
        let ended = rounds_before(self.expired_slots);
        // The end takes a search if probes are deferred.
        let has_open = self.schedule.rounds_issued(target) > ended;
        let issued = if has_open {
            rounds_before(self.schedule.issued_end())
        } else {
            ended
        };
        let open = (ended..issued).filter(|round| self.own.is_due(target, *round));
        self.statistics.longest_outage(position, open)
    }

    /// Probe counters of all targets. If answers are counted in the kernel, the first call after [`Prober::set_total`] reads those of
    /// each target, unless there are more than [`MAX_LIVE_TARGETS`](Self::MAX_LIVE_TARGETS).
    #[inline]
    pub fn total(&self) -> ProbeCounts {
        let mut total = self.statistics.total;
        if let Some(kernel_counted) = &self.kernel_counted {
            let overdue = kernel_counted.overdue(|| self.overdue_of_all());
            total.lost += overdue.min(total.pending());
        }
        total
    }

    /// Round-trip times of all targets. If answers are counted in the kernel, the first call after [`Prober::set_total`] reads those of
    /// each target; of more than [`MAX_LIVE_TARGETS`](Self::MAX_LIVE_TARGETS) only at the end.
    #[inline]
    pub fn histogram(&self) -> &Histogram {
        match &self.kernel_counted {
            None => &self.statistics.histogram,
            Some(kernel_counted) => kernel_counted.histogram_of_all(),
        }
    }

    /// Counters that belong to no target.
    pub fn other_counts(&self) -> OtherCounts {
        self.other_counts
    }

    /// ICMP errors by router, type and code.
    pub fn errors(&self) -> &NetworkErrors {
        &self.errors
    }

    /// Whether all probes were sent or withdrawn, and none is in flight.
    pub fn is_done(&self) -> bool {
        self.schedule.is_over() && self.unreported == 0 && self.statistics.total.pending() == 0
    }
}
