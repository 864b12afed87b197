//! How often each duration came, within a known error.

use super::buckets::FINE;

/// Durations by number, with a relative error of at most 1/256 of what is read out of it.
///
/// Log-linear, as HDR histograms are: every doubling from 128 ns on is cut into 128 equal parts, and
/// below each nanosecond has its own. 37 KiB, whatever is put in; recording is a shift and an addition.
#[derive(Clone, Debug)]
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
    /// Adds one duration; what is longer than 2 hours counts as that long.
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

    /// Adds what another has recorded.
    ///
    /// # Source
    /// Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
    /// Variances", 1979, formula 2.1.
    pub fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        let [own, more] = [self.total, other.total].map(|count| count as f64);
        let apart = other.mean_ns - self.mean_ns;
        self.mean_ns += apart * more / (own + more);
        self.squares += other.squares + apart * apart * own * more / (own + more);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        for (own, more) in self.counts.iter_mut().zip(&other.counts) {
            *own += more;
        }
        self.total += other.total;
        self.sum_ns += other.sum_ns;
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Their sum, exactly.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The shortest and the longest, exactly; `None` when nothing was recorded.
    pub fn range_ns(&self) -> Option<(u64, u64)> {
        (self.total > 0).then_some((self.min_ns, self.max_ns))
    }

    /// Their mean and their standard deviation, that of a whole population; `None` when nothing was
    /// recorded.
    pub fn mean_and_stddev_ns(&self) -> Option<(f64, f64)> {
        let variance = self.squares / self.total as f64;
        (self.total > 0).then(|| (self.mean_ns, variance.max(0.0).sqrt()))
    }

    /// The duration that the share `quantile` (0 to 1) of all does not exceed; `None` when nothing was
    /// recorded.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let counts = self.counts.iter().copied();
        FINE.quantile(counts, self.total, quantile)
    }

    /// How many durations were at most `bound_ns`, to the bucket: for cumulative histograms.
    pub fn at_most(&self, bound_ns: u64) -> u64 {
        self.counts[..=FINE.index(bound_ns)].iter().sum()
    }

    /// Each bucket that is not empty: its lowest and highest duration, and how many fell into it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the sorted list of what was recorded.
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
    fn merged_is_as_recorded_together() {
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
}
