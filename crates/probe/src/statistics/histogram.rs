//! Log-linear histograms of durations.

use std::fmt;

use super::answers::CountedAnswers;

/// A histogram of durations. Values read from it have a relative error of at most 1/256.
///
/// Log-linear, like HDR histograms: each doubling above 128 ns has 128 equal buckets, and each
/// nanosecond below has its own. Takes 37 KiB. Recording takes a shift and an addition.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u64]>,
    total: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    mean_ns: f64,
    /// Sum of the squares of the deviations from the mean (Welford).
    squares: f64,
}

/// Without the thousands of buckets.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("total", &self.total)
            .field("min_ns", &self.min_ns)
            .field("mean_ns", &self.mean_ns)
            .field("max_ns", &self.max_ns)
            .finish_non_exhaustive()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; FINE.len()].into_boxed_slice(),
            total: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            mean_ns: 0.0,
            squares: 0.0,
        }
    }
}

impl Histogram {
    /// Adds one duration. Durations above 2.4 hours fall into the last bucket.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        self.counts[FINE.index(duration_ns)] += 1;
        self.total += 1;
        self.sum_ns += u128::from(duration_ns);
        self.min_ns = self.min_ns.min(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
        let deviation = duration_ns as f64 - self.mean_ns;
        self.mean_ns += deviation / self.total as f64;
        self.squares += deviation * (duration_ns as f64 - self.mean_ns);
    }

    /// Adds the durations recorded by `other`.
    ///
    /// # Source
    /// Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
    /// Variances", 1979, formula 2.1.
    pub fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        let [own, more] = [self.total, other.total].map(|count| count as f64);
        let difference = other.mean_ns - self.mean_ns;
        self.mean_ns += difference * more / (own + more);
        self.squares += other.squares + difference * difference * own * more / (own + more);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.total += other.total;
        self.sum_ns += other.sum_ns;
    }

    /// The histogram of durations that were counted in the kernel, in buckets of the same layout, and their sum. Minimum, maximum
    /// and standard deviation are exact to the width of a bucket. Further counts are ignored, missing ones are 0.
    pub fn from_counts(counts: &[u64], sum_ns: u128) -> Self {
        let mut histogram = Self::default();
        for (own, count) in histogram.counts.iter_mut().zip(counts) {
            *own = *count;
        }
        let total = histogram.counts.iter().sum::<u64>();
        let mean_ns = sum_ns as f64 / total.max(1) as f64;
        let (mut min_ns, mut max_ns, mut squares) = (u64::MAX, 0, 0.0);
        for (low, high, count) in histogram.buckets() {
            min_ns = min_ns.min(low);
            max_ns = high;
            let deviation = low.midpoint(high) as f64 - mean_ns;
            squares += deviation * deviation * count as f64;
        }
        Self {
            total,
            sum_ns,
            min_ns,
            max_ns,
            mean_ns,
            squares,
            ..histogram
        }
    }

    /// As [`from_counts`](Self::from_counts), with the exact figures of `answers`.
    pub(crate) fn from_answers(counts: &[u64], answers: &CountedAnswers) -> Self {
        let mut histogram = Self::from_counts(counts, answers.sum_ns);
        if histogram.total > 0 {
            (histogram.min_ns, histogram.max_ns) = (answers.min_ns, answers.max_ns);
            (histogram.mean_ns, histogram.squares) = answers.mean_and_squares();
        }
        histogram
    }

    /// Number of durations recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Exact sum of the durations.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Exact minimum and maximum; `None` if nothing was recorded.
    pub fn range_ns(&self) -> Option<(u64, u64)> {
        (self.total > 0).then_some((self.min_ns, self.max_ns))
    }

    /// Mean and population standard deviation; `None` if nothing was recorded.
    pub fn mean_and_stddev_ns(&self) -> Option<(f64, f64)> {
        let variance = self.squares / self.total as f64;
        (self.total > 0).then(|| (self.mean_ns, variance.max(0.0).sqrt()))
    }

    /// The duration at `quantile` (0 to 1); `None` if nothing was recorded.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let counts = self.counts.iter().copied();
        FINE.quantile(counts, self.total, quantile)
    }

    /// Number of durations up to `bound_ns`, to the precision of a bucket. For cumulative histograms.
    pub fn at_most(&self, bound_ns: u64) -> u64 {
        self.counts[..=FINE.index(bound_ns)].iter().sum()
    }

    /// Each non-empty bucket: its lowest and highest duration, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| {
            let (low, high) = FINE.bounds(index);
            (low, high, *count)
        })
    }
}

/// A layout of buckets. Below `1 << floor` nanoseconds each bucket is `1 << (floor - parts)` wide;
/// above, each doubling has `1 << parts` buckets, up to `1 << top`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketLayout {
    parts: u32,
    floor: u32,
    top: u32,
}

/// 128 buckets per doubling, from one nanosecond to 2.4 hours: 4736 buckets.
pub(crate) const FINE: BucketLayout = BucketLayout {
    parts: 7,
    floor: 7,
    top: 43,
};

/// 8 buckets per doubling, from 128 ns to 69 seconds: 216 buckets.
pub(crate) const COARSE: BucketLayout = BucketLayout {
    parts: 3,
    floor: 10,
    top: 36,
};

impl BucketLayout {
    pub const fn len(self) -> usize {
        ((self.top - self.floor + 1) as usize) << self.parts
    }

    /// The bucket of `duration`. Durations above the top fall into the last.
    #[inline]
    pub fn index(self, duration: u64) -> usize {
        let duration = duration.min((1 << self.top) - 1);
        let width = self.floor - self.parts;
        // Doublings above the floor; 0 below it.
        let doubling = 64 - (duration >> self.floor).leading_zeros();
        let shift = width + doubling.saturating_sub(1);
        let part = (duration >> shift) as usize;
        match doubling {
            0 => part,
            // The highest bit of `part` is set, so `part` counts from the middle of its row.
            _ => part + ((doubling as usize - 1) << self.parts),
        }
    }

    /// The lowest and highest duration of bucket `index`.
    pub fn bounds(self, index: usize) -> (u64, u64) {
        let width = self.floor - self.parts;
        let row = index >> self.parts;
        let part = (index & ((1 << self.parts) - 1)) as u64;
        let (shift, part) = match row {
            0 => (width, part),
            _ => (width + row as u32 - 1, part + (1 << self.parts)),
        };
        (part << shift, ((part + 1) << shift) - 1)
    }

    /// The middle of the bucket that contains `quantile` of `total`.
    pub fn quantile(
        self,
        counts: impl Iterator<Item = u64>,
        total: u64,
        quantile: f64,
    ) -> Option<u64> {
        #[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
        let rank = (quantile.clamp(0.0, 1.0) * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in counts.enumerate() {
            seen += count;
            if seen >= rank {
                let (low, high) = self.bounds(index);
                return Some(low.midpoint(high));
            }
        }
        None
    }
}

/// The buckets of a target that are not empty: lowest and highest duration, and count.
pub(crate) fn target_buckets(row: &[u32]) -> impl Iterator<Item = (u64, u64, u64)> {
    let filled = row.iter().enumerate().filter(|(_, count)| **count > 0);
    filled.map(|(index, count)| {
        let (low, high) = COARSE.bounds(index);
        (low, high, u64::from(*count))
    })
}

/// The duration of a target at `quantile`; `None` if nothing was recorded.
pub(crate) fn target_quantile(row: &[u32], quantile: f64) -> Option<u64> {
    let counts = || row.iter().map(|count| u64::from(*count));
    COARSE.quantile(counts(), counts().sum(), quantile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with the sorted list of the recorded durations.
        #[test]
        fn quantiles_are_those_of_the_sorted_list(
            mut durations in prop::collection::vec(0_u64..1 << 41, 1..300),
            quantile in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            for duration in &durations {
                histogram.record(*duration);
            }
            durations.sort_unstable();
            #[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
            let rank = (quantile * durations.len() as f64).ceil().max(1.0) as usize;
            let exact = durations[rank - 1];
            let found = histogram.quantile(quantile).expect("not empty");
            prop_assert!(found.abs_diff(exact) <= exact / 256 + 1, "{found} for {exact}");
            prop_assert_eq!(histogram.count(), durations.len() as u64);
            prop_assert_eq!(histogram.sum_ns(), durations.iter().map(|d| u128::from(*d)).sum());
            let ends = (durations[0], durations[durations.len() - 1]);
            prop_assert_eq!(histogram.range_ns(), Some(ends));
            let count = durations.len() as f64;
            let mean = durations.iter().map(|d| *d as f64).sum::<f64>() / count;
            let squares: f64 = durations.iter().map(|d| (*d as f64 - mean).powi(2)).sum();
            let (found, deviation) = histogram.mean_and_stddev_ns().expect("not empty");
            prop_assert!((found - mean).abs() <= mean * 1e-9);
            prop_assert!((deviation - (squares / count).sqrt()).abs() <= mean * 1e-6 + 1e-6);
        }
    }

    #[test]
    fn merging_equals_recording_together() {
        let [mut one, mut other, mut both] = [(); 3].map(|()| Histogram::default());
        for duration in [0, 1, 127, 128, 129, 1_000_000, u64::MAX] {
            one.record(duration);
            both.record(duration);
            other.record(duration / 2);
            both.record(duration / 2);
        }
        one.merge(&other);
        assert_eq!(one.counts, both.counts);
        assert_eq!(
            (one.sum_ns(), one.range_ns()),
            (both.sum_ns(), both.range_ns())
        );
        let [merged, together] = [&one, &both].map(|h| h.mean_and_stddev_ns().expect("not empty"));
        assert!((merged.0 / together.0 - 1.0).abs() < 1e-9);
        assert!((merged.1 / together.1 - 1.0).abs() < 1e-9);
        one.merge(&Histogram::default());
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(one.at_most(u64::MAX), 14);
        assert_eq!(one.buckets().map(|(.., count)| count).sum::<u64>(), 14);
    }

    #[test]
    fn counts_of_the_kernel_make_the_same_histogram() {
        let mut recorded = Histogram::default();
        for duration in [0, 100, 127, 5_000, 1_000_000] {
            recorded.record(duration);
        }
        let made = Histogram::from_counts(&recorded.counts, recorded.sum_ns());
        assert_eq!(made.counts, recorded.counts);
        assert_eq!((made.count(), made.sum_ns()), (5, recorded.sum_ns()));
        let [made_mean, mean] =
            [&made, &recorded].map(|h| h.mean_and_stddev_ns().expect("not empty"));
        assert!((made_mean.0 - mean.0).abs() < 1e-6);
        assert!((made_mean.1 / mean.1 - 1.0).abs() < 0.01);
        let ranges = [&made, &recorded].map(|h| h.range_ns().expect("not empty"));
        assert!(ranges[0].0 <= ranges[1].0 && ranges[1].1 <= ranges[0].1);
        assert_eq!(Histogram::from_counts(&[], 0).range_ns(), None);
    }

    #[test]
    fn buckets_are_contiguous_and_contain_their_bounds() {
        for buckets in [FINE, COARSE] {
            let mut next = 0;
            for index in 0..buckets.len() {
                let (low, high) = buckets.bounds(index);
                assert_eq!(low, next);
                assert_eq!([low, high].map(|value| buckets.index(value)), [index; 2]);
                next = high + 1;
            }
            assert_eq!(next, 1 << buckets.top);
            assert_eq!(buckets.index(u64::MAX), buckets.len() - 1);
        }
        assert_eq!((FINE.len(), COARSE.len()), (4736, 216));
    }
}
