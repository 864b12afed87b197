//! From the clock of eBPF programs to that of packet time stamps.

use abi::clock::{monotonic_ns, realtime_ns};

/// Brackets that are tried for the first, narrow one.
const FIRST_TRIES: usize = 16;

/// What `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC`, nanoseconds modulo 2⁶⁴.
///
/// It changes only when the time of day is set: both clocks run at the same speed, also while NTP
/// slews them (Documentation/core-api/timekeeping.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset(u64);

/// Three readings, one after another.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    before_ns: u64,
    real_ns: u64,
    after_ns: u64,
}

impl Bracket {
    fn take() -> Self {
        let before_ns = monotonic_ns();
        let real_ns = realtime_ns();
        let after_ns = monotonic_ns();
        Self {
            before_ns,
            real_ns,
            after_ns,
        }
    }

    fn width_ns(&self) -> u64 {
        self.after_ns.wrapping_sub(self.before_ns)
    }

    /// The least offset that these readings allow; the greatest is `width_ns` more.
    fn least(&self) -> u64 {
        self.real_ns.wrapping_sub(self.after_ns)
    }
}

impl Offset {
    pub fn measure() -> Self {
        let mut narrowest = Bracket::take();
        for _ in 1..FIRST_TRIES {
            let bracket = Bracket::take();
            if bracket.width_ns() < narrowest.width_ns() {
                narrowest = bracket;
            }
        }
        let mut offset = Self(0);
        offset.keep_within(&narrowest);
        offset
    }

    /// Follows the time of day if that was set, and returns it.
    pub fn follow(&mut self) -> u64 {
        let bracket = Bracket::take();
        self.keep_within(&bracket);
        bracket.real_ns
    }

    /// As long as the readings allow the offset it stays as it is, so that it does not jitter.
    fn keep_within(&mut self, bracket: &Bracket) {
        let least = bracket.least();
        if self.0.wrapping_sub(least) > bracket.width_ns() {
            self.0 = least.wrapping_add(bracket.width_ns() / 2);
        }
    }

    /// The time of day when `CLOCK_MONOTONIC` showed `monotonic_ns`.
    #[inline]
    pub fn realtime_ns(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.wrapping_add(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(before_ns: u64, real_ns: u64, after_ns: u64) -> Bracket {
        Bracket {
            before_ns,
            real_ns,
            after_ns,
        }
    }

    #[test]
    fn an_offset_that_the_readings_allow_stays() {
        let mut offset = Offset(0);
        offset.keep_within(&bracket(100, 1_000_110, 120));
        assert_eq!(offset, Offset(1_000_000));
        // A reader that was held up between its readings learns nothing new.
        offset.keep_within(&bracket(500, 1_009_500, 99_500));
        assert_eq!(offset, Offset(1_000_000));
        assert_eq!(offset.realtime_ns(7), 1_000_007);
    }

    #[test]
    fn a_clock_that_is_set_is_followed() {
        let mut offset = Offset(1_000_000);
        offset.keep_within(&bracket(500, 5_000_505, 510));
        assert_eq!(offset, Offset(5_000_000));
        offset.keep_within(&bracket(500, 505, 510));
        assert_eq!(offset.realtime_ns(500), 500);
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
