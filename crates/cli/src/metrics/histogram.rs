//! Histograms as Prometheus has them.

use std::ops::Range;

use tapline::ping::Histogram;

use super::family::Durations;

/// A histogram, with bounds at 1, 2 and 5 times the powers of ten `decades`, in nanoseconds.
pub fn durations(
    labels: Vec<(&'static str, String)>,
    histogram: &Histogram,
    decades: Range<u32>,
) -> Durations {
    Durations {
        labels,
        sum_seconds: histogram.sum_ns() as f64 / 1e9,
        count: histogram.count(),
        buckets: buckets(histogram.buckets(), decades),
    }
}

/// Sums fine buckets (lowest, highest, count) into the exported ones, by their lowest duration.
pub fn buckets(
    fine: impl Iterator<Item = (u64, u64, u64)>,
    decades: Range<u32>,
) -> Vec<(f64, u64)> {
    let bounds = decades.flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let bounds: Vec<u64> = bounds.chain([u64::MAX]).collect();
    let mut counts = vec![0; bounds.len()];
    for (low, _, count) in fine {
        counts[bounds.partition_point(|bound| *bound < low)] += count;
    }
    let seconds = |bound| match bound {
        u64::MAX => f64::INFINITY,
        bound => bound as f64 / 1e9,
    };
    bounds.into_iter().map(seconds).zip(counts).collect()
}
