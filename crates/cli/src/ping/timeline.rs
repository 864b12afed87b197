//! How a run went over time, in bounded memory.

use std::time::{Duration, Instant};

use tapline::ping::Prober;

/// Steps that are kept: when there are as many, each two become one.
const STEPS_MAX: usize = 480;

/// The shortest step: longer than the time between two calls.
const STEP: Duration = Duration::from_secs(1);

/// Counters of all targets, summed up over steps of equal length.
pub struct Timeline {
    start: Instant,
    step: Duration,
    steps: Vec<Step>,
    /// The counters at the end of the last step.
    before: Step,
}

/// What happened during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    pub sent: u64,
    /// Probes that timed out; less than 0 if more of earlier ones were answered late.
    pub lost: i64,
    /// Answers with a round trip, and the sum of these in nanoseconds.
    pub timed: u64,
    pub rtt_sum_ns: f64,
}

impl Timeline {
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            step: STEP,
            steps: Vec::new(),
            before: Step::default(),
        }
    }

    /// Takes the counters if a step is over. Several steps without a call count as one long step at their end, with empty ones
    /// before it.
    pub fn tick(&mut self, statistics: &Prober) {
        self.advance(self.start.elapsed(), totals(statistics));
    }

    fn advance(&mut self, elapsed: Duration, totals: Step) {
        let mut complete = self.complete(elapsed);
        while complete >= STEPS_MAX {
            self.steps = self
                .steps
                .chunks(2)
                .map(|two| two.iter().copied().fold(Step::default(), Step::plus))
                .collect();
            self.step *= 2;
            complete = self.complete(elapsed);
        }
        if complete > self.steps.len() {
            self.steps.resize(complete - 1, Step::default());
            self.steps.push(totals.minus(self.before));
            self.before = totals;
        }
    }

    fn complete(&self, elapsed: Duration) -> usize {
        (elapsed.as_nanos() / self.step.as_nanos()) as usize
    }

    /// The length of a step, and all steps, with what came after the last one as one more.
    pub fn finish(mut self, statistics: &Prober) -> (Duration, Vec<Step>) {
        self.steps.push(totals(statistics).minus(self.before));
        (self.step, self.steps)
    }
}

impl Step {
    fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
            timed: self.timed + other.timed,
            rtt_sum_ns: self.rtt_sum_ns + other.rtt_sum_ns,
        }
    }

    /// Counters only grow, except those of the lost.
    fn minus(self, before: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(before.sent),
            lost: self.lost - before.lost,
            timed: self.timed.saturating_sub(before.timed),
            rtt_sum_ns: (self.rtt_sum_ns - before.rtt_sum_ns).max(0.0),
        }
    }
}

fn totals(statistics: &Prober) -> Step {
    let (total, histogram) = (statistics.total(), statistics.histogram());
    let mean_ns = histogram.mean_and_stddev_ns().map_or(0.0, |(mean, _)| mean);
    Step {
        sent: total.sent,
        lost: i64::try_from(total.lost).unwrap_or(i64::MAX),
        timed: histogram.count(),
        rtt_sum_ns: mean_ns * histogram.count() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_to_the_totals_however_long_a_run_is() {
        let mut timeline = Timeline::start();
        let totals = |count: u64| Step {
            sent: count,
            lost: -i64::try_from(count).expect("a small number"),
            timed: count,
            rtt_sum_ns: count as f64,
        };
        for (number, ms) in (0..100_000_u64).step_by(40).chain([5_000_000]).enumerate() {
            timeline.advance(Duration::from_millis(ms), totals(number as u64));
            assert!(timeline.steps.len() < STEPS_MAX, "{}", timeline.steps.len());
        }
        let sum = timeline
            .steps
            .iter()
            .copied()
            .fold(Step::default(), Step::plus);
        assert_eq!(sum, totals(2500));
        // 5000 s in less than 480 steps of a second, doubled.
        assert_eq!(timeline.step, Duration::from_secs(16));
        assert_eq!(timeline.steps.len(), 312);
    }
}
