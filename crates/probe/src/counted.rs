//! Answers that are counted elsewhere, such as by a program in the kernel.

use crate::classification::OtherCounts;
use crate::plan::{PlanError, ProbePlan, SweepPosition};
use crate::prober::Prober;
use crate::statistics::{
    AnswerCounters, CountedAnswers, Histogram, NetworkError, ProbeCounts, TargetsElsewhere,
};
use crate::targets::Targets;

/// A run whose answers are counted elsewhere. Until [`Prober::end_unanswered`], probes without an answer are in flight.
impl Prober {
    /// Memory for a target whose answers are counted elsewhere.
    pub const BYTES_ELSEWHERE: u64 = TargetsElsewhere::BYTES;

    /// As [`Prober::new`], for a run whose answers are counted elsewhere: each target takes 8 bytes here. Call
    /// [`Prober::read_from`] next.
    ///
    /// # Errors
    /// [`PlanError`] names the value that is out of its range.
    pub fn counted_elsewhere(plan: &ProbePlan, targets: Targets) -> Result<Self, PlanError> {
        let elsewhere = TargetsElsewhere::new(targets.len());
        Self::with_statistics(plan, targets, Some(elsewhere))
    }

    /// Sets who has counted the answers of each target.
    pub fn read_from(&mut self, counters: Box<dyn AnswerCounters>) {
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.read_from(counters);
        }
    }

    /// As [`Prober::expire`], for one probe to each target: calls `ended` for each target whose probe has ended, answered or
    /// not. It ends after twice the timeout; later answers are stale.
    pub fn expire_elsewhere(&mut self, now_ns: u64, mut ended: impl FnMut(u32, &Self)) {
        while let Some(end) = self.expiry.take(now_ns) {
            self.end_before(end, &mut ended);
        }
    }

    /// Ends the run, with the probes in flight lost. Calls `ended` for the targets that
    /// [`expire_elsewhere`](Self::expire_elsewhere) has not reported, if there is one probe to each.
    pub fn end_all(&mut self, mut ended: impl FnMut(u32, &Self)) {
        if let Some(elsewhere) = &mut self.elsewhere {
            elsewhere.end();
            self.statistics.total.lost += self.statistics.total.pending();
        }
        if self.schedule.is_single() {
            self.end_before(self.schedule.issued_end(), &mut ended);
        }
    }

    fn end_before(&mut self, end: u64, ended: &mut impl FnMut(u32, &Self)) {
        while self.expired_slots < end {
            let slot = self.schedule.slot_at(self.expired_slots);
            self.expired_slots += 1;
            ended(self.schedule.probe_in(slot).target, self);
        }
    }

    /// The counters of a target whose probe has ended.
    pub fn ended_counts(&self, target: u32) -> ProbeCounts {
        let counts = self.counts(target);
        ProbeCounts {
            lost: counts.lost + counts.pending(),
            ..counts
        }
    }

    /// Where a later run to the same targets continues, if there is one probe to each.
    pub fn position(&self) -> SweepPosition {
        SweepPosition {
            key: self.cookies.key(),
            ended: self.expired_slots,
        }
    }

    /// Whether all probes were sent or withdrawn.
    pub fn has_sent_all(&self) -> bool {
        self.schedule.is_over() && self.unreported == 0
    }

    /// Sets what was counted for all targets so far: the count of each bucket of [`Histogram`], and their `answers`.
    pub fn set_answers(&mut self, counts: &[u64], answers: &CountedAnswers) {
        self.statistics.set_total(answers);
        self.statistics.histogram = Histogram::from_answers(counts, answers);
    }

    /// Sets the counters that belong to no target. Those of probes that were not sent stay.
    pub fn set_other_counts(&mut self, counts: OtherCounts) {
        let unsent = self.other_counts.unsent;
        self.other_counts = OtherCounts { unsent, ..counts };
    }

    /// Counts `count` errors.
    pub fn add_error(&mut self, error: NetworkError, count: u64) {
        self.errors.add(error, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the histogram, which is updated round trip by round trip.
    #[test]
    fn sums_give_the_mean_and_the_deviation_of_the_list() {
        let times = [31_000_u64, 40_000, 52_000, 29_000, 4_000_000_000, 40_007];
        let mut answers = CountedAnswers {
            received: times.len() as u64,
            ..CountedAnswers::default()
        };
        let mut histogram = Histogram::default();
        for time in times {
            answers.sum_ns += u128::from(time);
            answers.squares += u128::from(time) * u128::from(time);
            histogram.record(time);
        }
        let (mean, squares) = answers.mean_and_squares();
        let deviation = (squares / times.len() as f64).sqrt();
        let expected = histogram.mean_and_stddev_ns().expect("not empty");
        assert!((mean / expected.0 - 1.0).abs() < 1e-9);
        assert!((deviation / expected.1 - 1.0).abs() < 1e-9);
        assert_eq!(CountedAnswers::default().mean_and_squares(), (0.0, 0.0));
    }
}
