//! How often a job is to look at its counters.

use std::time::Duration;

/// Longest time between two looks at counters that others can ask for.
const FRESH: Duration = Duration::from_secs(1);

/// The time between two looks, and how many of them make the `interval` that is told; with metrics
/// there is one each second at least.
pub fn ticks(interval: Duration, with_metrics: bool) -> (Duration, u32) {
    let count = if with_metrics {
        interval.as_nanos().div_ceil(FRESH.as_nanos())
    } else {
        1
    };
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    (interval / count, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_interval_is_cut() {
        let ms = Duration::from_millis;
        for (interval, with_metrics, expected) in [
            (ms(10_000), false, (ms(10_000), 1)),
            (ms(10_000), true, (ms(1000), 10)),
            (ms(2500), true, (Duration::from_nanos(833_333_333), 3)),
            (ms(1000), true, (ms(1000), 1)),
            (ms(5), true, (ms(5), 1)),
        ] {
            assert_eq!(ticks(interval, with_metrics), expected);
        }
    }
}
