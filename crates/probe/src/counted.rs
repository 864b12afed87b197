//! Answers that are counted elsewhere, such as by a program in the kernel.

use crate::classification::OtherCounts;
use crate::probe::Probe;
use crate::prober::Prober;
use crate::statistics::{CountedAnswers, Histogram, NetworkError};

/// A run whose answers are counted elsewhere. Until [`Prober::end_unanswered`], probes without an answer are in flight.
impl Prober {
    /// As [`Prober::sent`], for a probe whose answer is counted elsewhere.
    #[inline]
    pub fn sent_uncounted(&mut self, probe: Probe, now_ns: u64) {
        let slot = self.slot_of(probe);
        self.sent(probe, now_ns);
        // Its timeout ends nothing.
        self.statistics.withdraw(slot);
    }

    /// Whether all probes were sent or withdrawn.
    pub fn has_sent_all(&self) -> bool {
        self.schedule.is_over() && self.unreported == 0
    }

    /// Sets what was counted for `target` so far.
    pub fn set_answers(&mut self, target: u32, answers: &CountedAnswers) {
        let position = self.schedule.position_of(target);
        self.statistics.set_answers(position, answers);
    }

    /// Sets the histogram of the round trips of all targets: the count of each bucket of [`Histogram`], and the sums of
    /// `answers`.
    pub fn set_histogram(&mut self, counts: &[u64], answers: &CountedAnswers) {
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

    /// Counts every probe in flight as lost.
    pub fn end_unanswered(&mut self) {
        for position in 0..self.targets.len() {
            self.statistics.lose_pending(position);
        }
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
