//! When to check next how full the rings are, while a batch gathers that may fill a quarter of a ring. Not needed where the kernel
//! gathers the batch in a block.
//!
//! A timed sleep can cost more than hundreds of packets, so the checks are as rare as the ring allows: as late as the
//! quarter is expected to be full by the rate at which it fills, and before packets at 10 Gbit/s could fill the ring.
//!
//! The module reads no clock: its caller passes the time.

/// Parts of a quarter of a ring.
pub const QUARTER: u64 = 1 << 16;

/// The forecast for the ring that fills first.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    least_ns: u64,
    most_ns: u64,
    /// When it was checked, and the parts that waited then. `None` before the first check of a batch.
    checked: Option<(u64, u64)>,
    /// Parts that came last, and in which time.
    growth: Option<(u64, u64)>,
}

impl Forecast {
    /// Checks come at an interval of `least_ns` to `most_ns`.
    pub fn new(least_ns: u64, most_ns: u64) -> Self {
        Self {
            least_ns,
            most_ns: most_ns.max(least_ns),
            checked: None,
            growth: None,
        }
    }

    /// Another batch gathers.
    pub fn begin(&mut self) {
        self.checked = None;
    }

    /// At `now_ns` this many parts wait.
    pub fn observe(&mut self, now_ns: u64, parts: u64) {
        if let Some((then_ns, before)) = self.checked
            && now_ns > then_ns
        {
            self.growth = Some((parts.saturating_sub(before), now_ns - then_ns));
        }
        self.checked = Some((now_ns, parts));
    }

    /// As [`observe`](Self::observe). Returns after which time to check again.
    pub fn next_check_ns(&mut self, now_ns: u64, parts: u64) -> u64 {
        self.observe(now_ns, parts);
        let left = QUARTER.saturating_sub(parts);
        let expected_ns = self.growth.and_then(|(grown, time_ns)| {
            let ns = u128::from(left) * u128::from(time_ns);
            u64::try_from(ns.checked_div(grown.into())?).ok()
        });
        expected_ns
            .unwrap_or(u64::MAX)
            .clamp(self.least_ns, self.most_ns)
    }
}

/// Converts `waiting`, in the unit of the ring's `capacity`, to parts: a quarter of the ring has [`QUARTER`] of them.
pub fn parts(waiting: usize, capacity: usize) -> u64 {
    let parts = waiting as u128 * 4 * u128::from(QUARTER);
    let parts = parts.checked_div(capacity as u128).unwrap_or(0);
    u64::try_from(parts).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST_NS: u64 = 100_000;
    const MOST_NS: u64 = 10_000_000;

    /// Checks a ring that fills by `parts_per_ms` until its quarter is full. Returns the checks and the time.
    fn fill(forecast: &mut Forecast, parts_per_ms: u64) -> (u64, u64) {
        let (mut now_ns, mut checks) = (0, 0);
        forecast.begin();
        loop {
            let waiting = parts_per_ms * now_ns / 1_000_000;
            if waiting >= QUARTER {
                forecast.observe(now_ns, waiting);
                return (checks, now_ns);
            }
            now_ns += forecast.next_check_ns(now_ns, waiting);
            checks += 1;
        }
    }

    #[test]
    fn a_quarter_that_fills_in_eighty_milliseconds_takes_eight_checks() {
        let mut forecast = Forecast::new(LEAST_NS, MOST_NS);
        for _ in 0..3 {
            let (checks, end_ns) = fill(&mut forecast, QUARTER / 80);
            assert!((8..=10).contains(&checks), "{checks}");
            assert!(end_ns < 81_000_000, "{end_ns}");
        }
    }

    #[test]
    fn a_known_rate_needs_no_more_checks_than_batches() {
        let mut forecast = Forecast::new(LEAST_NS, MOST_NS);
        fill(&mut forecast, QUARTER / 4);
        for _ in 0..3 {
            // The division rounds down, so the last check may come a little early.
            let (checks, end_ns) = fill(&mut forecast, QUARTER / 4);
            assert!(checks <= 2, "{checks}");
            assert!(end_ns <= 4_000_000 + LEAST_NS, "{end_ns}");
        }
    }

    #[test]
    fn an_unknown_rate_is_checked_before_the_ring_can_be_full() {
        let mut forecast = Forecast::new(LEAST_NS, MOST_NS);
        assert_eq!(forecast.next_check_ns(0, 0), MOST_NS);
        // Nothing came.
        assert_eq!(forecast.next_check_ns(MOST_NS, 0), MOST_NS);
        // Half of the quarter came at once: the other half may come as fast.
        assert_eq!(forecast.next_check_ns(2 * MOST_NS, QUARTER / 2), MOST_NS);
        assert_eq!(
            forecast.next_check_ns(2 * MOST_NS + LEAST_NS, QUARTER * 9 / 10),
            LEAST_NS
        );
    }

    #[test]
    fn parts_count_for_a_ring_of_any_size() {
        assert_eq!(parts(16, 64), QUARTER);
        assert_eq!(parts(0, 64), 0);
        assert_eq!(parts(1, 0), 0);
        assert_eq!(parts(usize::MAX, usize::MAX), 4 * QUARTER);
    }
}
