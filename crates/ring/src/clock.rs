//! Converts `CLOCK_MONOTONIC`, the clock of eBPF programs, to the time of day.

use abi::clock::{monotonic_ns, realtime_ns};

/// Readings from which the first offset takes the most precise one.
const FIRST_TRIES: usize = 16;

/// Time after which the clocks are read again.
const RECENT_NS: u64 = 1_000_000;

/// Difference between `CLOCK_REALTIME` and `CLOCK_MONOTONIC`.
///
/// It changes only when the time of day is set: both clocks run at the same speed, also while NTP slews them
/// (Documentation/core-api/timekeeping.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    /// Nanoseconds, modulo 2⁶⁴.
    ahead_ns: u64,
    /// `CLOCK_MONOTONIC` when the clocks were last read.
    looked_ns: u64,
}

/// Three consecutive readings, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    before: u64,
    real: u64,
    after: u64,
}

impl Bracket {
    fn take() -> Self {
        let before = monotonic_ns();
        let real = realtime_ns();
        let after = monotonic_ns();
        Self {
            before,
            real,
            after,
        }
    }

    fn width(&self) -> u64 {
        self.after.wrapping_sub(self.before)
    }

    /// The smallest offset consistent with these readings; the largest is `width` more.
    fn least(&self) -> u64 {
        self.real.wrapping_sub(self.after)
    }
}

impl Offset {
    pub fn measure() -> Self {
        let mut narrowest = Bracket::take();
        for _ in 1..FIRST_TRIES {
            let bracket = Bracket::take();
            if bracket.width() < narrowest.width() {
                narrowest = bracket;
            }
        }
        Self {
            ahead_ns: narrowest.least().wrapping_add(narrowest.width() / 2),
            looked_ns: narrowest.after,
        }
    }

    /// Reads the clocks and updates the offset if the time of day was set.
    pub fn follow(&mut self) {
        self.keep_within(&Bracket::take());
    }

    /// Keeps the offset while the readings are consistent with it, so that it does not jitter.
    fn keep_within(&mut self, bracket: &Bracket) {
        self.looked_ns = bracket.after;
        let least = bracket.least();
        if self.ahead_ns.wrapping_sub(least) > bracket.width() {
            self.ahead_ns = least.wrapping_add(bracket.width() / 2);
        }
    }

    /// Whether the clocks were read within [`RECENT_NS`] before `monotonic_ns`, or after it.
    #[inline]
    pub fn is_recent(&self, monotonic_ns: u64) -> bool {
        monotonic_ns.saturating_sub(self.looked_ns) < RECENT_NS
    }

    /// The time of day at `monotonic_ns`.
    #[inline]
    pub fn realtime_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.wrapping_add(self.ahead_ns)
    }

    /// The time of day when the clocks were last read.
    #[inline]
    pub fn looked_at_ns(&self) -> u64 {
        self.realtime_ns(self.looked_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(ahead_ns: u64) -> Offset {
        let looked_ns = 0;
        Offset {
            ahead_ns,
            looked_ns,
        }
    }

    fn bracket(before: u64, real: u64, after: u64) -> Bracket {
        Bracket {
            before,
            real,
            after,
        }
    }

    #[test]
    fn an_offset_that_the_readings_allow_stays() {
        let mut offset = offset(1_000_000);
        offset.keep_within(&bracket(100, 1_000_110, 120));
        assert_eq!(offset.realtime_ns(7), 1_000_007);
        // A reader that was held up between its readings learns nothing new.
        offset.keep_within(&bracket(500, 1_009_500, 99_500));
        assert_eq!(offset.realtime_ns(7), 1_000_007);
        assert_eq!(offset.looked_at_ns(), 1_099_500);
    }

    #[test]
    fn a_clock_that_is_set_is_followed() {
        let mut offset = offset(1_000_000);
        offset.keep_within(&bracket(500, 5_000_505, 510));
        assert_eq!(offset.realtime_ns(0), 5_000_000);
        // To a time before the machine was started.
        offset.keep_within(&bracket(500, 205, 510));
        assert_eq!(offset.realtime_ns(500), 200);
    }

    #[test]
    fn the_clocks_are_read_once_a_millisecond() {
        let mut offset = offset(0);
        offset.keep_within(&bracket(9_999_990, 1, 10_000_000));
        for (monotonic_ns, is_recent) in [
            (9_000_000, true),
            (10_000_000, true),
            (10_999_999, true),
            (11_000_000, false),
        ] {
            assert_eq!(offset.is_recent(monotonic_ns), is_recent);
        }
    }

    #[test]
    fn the_measured_offset_lies_between_two_readings_of_the_kernel() {
        let offset = Offset::measure();
        let (before, now, after) = (realtime_ns(), monotonic_ns(), realtime_ns());
        // What one bracket leaves open, and the reading in the middle.
        let slack = 1_000_000;
        assert!((before - slack..=after + slack).contains(&offset.realtime_ns(now)));
    }
}
