//! The statistics of one target.

use super::answers::CountedAnswers;

/// The stored statistics of a target: 64 bytes, one cache line.
///
/// Durations are `f32`, with a relative error of 6·10⁻⁸. Sums are `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct TargetRecord {
    pub sent: u32,
    pub received: u32,
    pub lost: u32,
    pub late: u32,
    pub duplicate: u32,
    pub corrupt: u32,
    pub errors: u32,
    pub local_drops: u32,
    min_ns: f32,
    max_ns: f32,
    jitter_ns: f32,
    /// Answers in time with a known round-trip time.
    timed: u32,
    mean_ns: f64,
    /// Sum of the squares of the deviations from the mean (Welford).
    squares: f64,
}

const _: () = assert!(size_of::<TargetRecord>() == 64);

impl TargetRecord {
    /// Adds the round-trip time of an answer in time. `last_ns` is the previous one.
    ///
    /// # Source
    /// Welford, "Note on a method for calculating corrected sums of squares and products",
    /// Technometrics 4 (1962). Jitter: RFC 3550, 6.4.1, applied to round trips instead of transit times.
    #[inline]
    pub fn time(&mut self, rtt_ns: u64, last_ns: f32) {
        let rtt = rtt_ns as f64;
        let short = rtt as f32;
        self.timed += 1;
        if self.timed == 1 {
            (self.min_ns, self.max_ns) = (short, short);
        } else {
            self.min_ns = self.min_ns.min(short);
            self.max_ns = self.max_ns.max(short);
            self.jitter_ns += ((short - last_ns).abs() - self.jitter_ns) / 16.0;
        }
        let deviation = rtt - self.mean_ns;
        self.mean_ns += deviation / f64::from(self.timed);
        self.squares += deviation * (rtt - self.mean_ns);
    }

    /// Sets what was counted in the kernel.
    pub fn set_answers(&mut self, answers: &CountedAnswers) {
        let short = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.received = short(answers.received);
        self.late = short(answers.late);
        self.duplicate = short(answers.duplicate);
        self.corrupt = short(answers.corrupt);
        self.errors = short(answers.errors);
        self.timed = self.received;
        (self.min_ns, self.max_ns) = (answers.min_ns as f32, answers.max_ns as f32);
        self.jitter_ns = answers.jitter_16 as f32 / 16.0;
        (self.mean_ns, self.squares) = answers.mean_and_squares();
    }

    #[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
    pub fn rtt(&self, last_ns: f32) -> Option<RttStatistics> {
        (self.timed > 0).then(|| RttStatistics {
            count: self.timed.into(),
            min_ns: self.min_ns as u64,
            mean_ns: self.mean_ns,
            max_ns: self.max_ns as u64,
            stddev_ns: (self.squares / f64::from(self.timed)).max(0.0).sqrt(),
            jitter_ns: self.jitter_ns.into(),
            last_ns: last_ns as u64,
        })
    }
}

/// Round-trip times of the answers of a target that arrived in time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RttStatistics {
    /// Number of timed answers.
    pub count: u64,
    /// Minimum, with a relative error of 6·10⁻⁸.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Maximum, with a relative error of 6·10⁻⁸.
    pub max_ns: u64,
    /// Population standard deviation (ping's `mdev`).
    pub stddev_ns: f64,
    /// Smoothed difference between consecutive round trips (RFC 3550, 6.4.1).
    pub jitter_ns: f64,
    /// The latest, with a relative error of 6·10⁻⁸.
    pub last_ns: u64,
}

/// Probe counters of a target, or of all targets.
///
/// `sent = received + late + errors + lost + pending`: each probe ends in exactly one of them, by its
/// first answer. `duplicate` and `corrupt` count answers; `local_drops` counts probes that were not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeCounts {
    /// Passed to the kernel.
    pub sent: u64,
    /// Answered in time.
    pub received: u64,
    /// Not answered within the timeout.
    pub lost: u64,
    /// Answered after the timeout.
    pub late: u64,
    /// Further answers to answered probes.
    pub duplicate: u64,
    /// Damaged answers. Their probes stay in flight.
    pub corrupt: u64,
    /// Answered by an ICMP error.
    pub errors: u64,
    /// Rejected by this host, so never sent.
    pub local_drops: u64,
}

impl ProbeCounts {
    pub(crate) fn of(record: &TargetRecord) -> Self {
        Self {
            sent: record.sent.into(),
            received: record.received.into(),
            lost: record.lost.into(),
            late: record.late.into(),
            duplicate: record.duplicate.into(),
            corrupt: record.corrupt.into(),
            errors: record.errors.into(),
            local_drops: record.local_drops.into(),
        }
    }

    /// What was counted since the counters were `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.zip(before, u64::saturating_sub)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    fn zip(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            sent: of(self.sent, other.sent),
            received: of(self.received, other.received),
            lost: of(self.lost, other.lost),
            late: of(self.late, other.late),
            duplicate: of(self.duplicate, other.duplicate),
            corrupt: of(self.corrupt, other.corrupt),
            errors: of(self.errors, other.errors),
            local_drops: of(self.local_drops, other.local_drops),
        }
    }

    /// Probes in flight.
    #[inline]
    pub fn pending(&self) -> u64 {
        let ended = self.received + self.late + self.errors + self.lost;
        self.sent.saturating_sub(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the definitions, evaluated over the whole list.
    #[test]
    fn statistics_match_their_definitions() {
        let times = [31_000_u64, 40_000, 52_000, 29_000, 40_000, 40_007];
        let mut record = TargetRecord::default();
        let mut last = 0.0;
        for time in times {
            record.time(time, last);
            last = time as f32;
        }
        let count = times.len() as f64;
        let mean = times.iter().sum::<u64>() as f64 / count;
        let squares: f64 = times.iter().map(|t| (*t as f64 - mean).powi(2)).sum();
        let jitter = times.windows(2).fold(0.0, |jitter: f64, pair| {
            jitter + (pair[0].abs_diff(pair[1]) as f64 - jitter) / 16.0
        });
        let rtt = record.rtt(last).expect("it was timed");
        assert_eq!(
            (rtt.min_ns, rtt.max_ns, rtt.last_ns),
            (29_000, 52_000, 40_007)
        );
        assert!((rtt.mean_ns - mean).abs() < 1e-6);
        assert!((rtt.stddev_ns - (squares / count).sqrt()).abs() < 1e-6);
        assert!((rtt.jitter_ns - jitter).abs() < 0.01);
        assert_eq!(TargetRecord::default().rtt(0.0), None);
    }

    #[test]
    fn ten_million_equal_times_have_no_deviation() {
        let mut record = TargetRecord::default();
        for _ in 0..10_000_000 {
            record.time(30_001, 30_001.0);
        }
        let rtt = record.rtt(0.0).expect("it was timed");
        assert_eq!((rtt.mean_ns, rtt.stddev_ns), (30_001.0, 0.0));
    }
}
