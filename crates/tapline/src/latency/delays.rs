//! The delays of many packets.

use probe::Histogram;

/// The times from time stamp to delivery, of many packets.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// All delays in nanoseconds, without the packets in `ahead` and `unstamped`.
    pub histogram: Histogram,
    /// Packets with a time stamp later than their delivery: stamped by another clock, or the clock was set.
    pub ahead: u64,
    /// Packets without a time stamp.
    pub unstamped: u64,
    /// The shortest delay, exactly; `None` without packets.
    pub min_ns: Option<u64>,
    /// The longest delay, exactly; `None` without packets.
    pub max_ns: Option<u64>,
}

impl Delays {
    /// Adds a packet stamped at `stamp_ns` and delivered at `now_ns` of the same clock. Returns its delay, or
    /// `None` if the time stamp is later.
    pub fn record(&mut self, stamp_ns: u64, now_ns: u64) -> Option<u64> {
        let Some(delay_ns) = now_ns.checked_sub(stamp_ns) else {
            self.ahead += 1;
            return None;
        };
        self.histogram.record(delay_ns);
        self.min_ns = Some(self.min_ns.map_or(delay_ns, |min_ns| min_ns.min(delay_ns)));
        self.max_ns = Some(self.max_ns.map_or(delay_ns, |max_ns| max_ns.max(delay_ns)));
        Some(delay_ns)
    }

    /// The delay that the fraction `quantile` (0 to 1) of the packets does not exceed, with a relative error of at
    /// most 1/256; `None` without packets.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let delay_ns = self.histogram.quantile(quantile)?;
        // The bounds of a bucket lie outside its values.
        Some(delay_ns.clamp(self.min_ns?, self.max_ns?))
    }

    /// The mean delay; `None` without packets.
    pub fn mean_ns(&self) -> Option<u64> {
        let count = u128::from(self.histogram.count());
        let mean = self.histogram.sum_ns().checked_div(count)?;
        u64::try_from(mean).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_delays_have_known_quantiles() {
        let mut delays = Delays::default();
        assert_eq!((delays.quantile(0.5), delays.mean_ns()), (None, None));
        for delay_ns in 1..=1000 {
            let told = delays.record(5_000_000, 5_000_000 + delay_ns * 1000);
            assert_eq!(told, Some(delay_ns * 1000));
        }
        for (quantile, exact_ns) in [(0.5, 500_000), (0.99, 990_000), (0.999, 999_000)] {
            let found_ns = delays.quantile(quantile).unwrap();
            assert!(found_ns.abs_diff(exact_ns) <= exact_ns / 256, "{found_ns}");
        }
        assert_eq!(delays.quantile(1.0), Some(1_000_000));
        assert_eq!(
            (delays.min_ns, delays.max_ns),
            (Some(1000), Some(1_000_000))
        );
        assert_eq!(delays.mean_ns(), Some(500_500));
    }

    #[test]
    fn a_stamp_from_the_future_counts_as_no_delay() {
        let mut delays = Delays::default();
        assert_eq!(delays.record(10, 9), None);
        assert_eq!(delays.record(10, 10), Some(0));
        assert_eq!((delays.ahead, delays.histogram.count()), (1, 1));
    }
}
