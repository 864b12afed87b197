//! Conversion of time stamps to nanoseconds.

const NANOSECONDS: u64 = 1_000_000_000;

/// The time stamp unit and offset of an interface.
///
/// A tick is `numerator / denominator` nanoseconds, exactly; every resolution that pcapng can
/// express is such a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// Nanoseconds of a tick. 0 if that is no whole number, or with an offset.
    whole_ns: u64,
    numerator: u64,
    denominator: u128,
    offset_s: i64,
}

impl Clock {
    /// The clock of an `if_tsresol` octet: a negative power of 10, or of 2 if its top bit is set.
    pub(super) fn from_resolution(octet: u8) -> Self {
        let exponent = u32::from(octet & 0x7f);
        let (numerator, denominator) = match (octet & 0x80 != 0, exponent) {
            (true, _) => (NANOSECONDS, 1 << exponent),
            (false, 0..=9) => (10u64.pow(9 - exponent), 1),
            // Ticks are below 2^64: divided by more than 2^127 they are 0 whatever the divisor.
            (false, _) => (1, 10u128.checked_pow(exponent - 9).unwrap_or(u128::MAX)),
        };
        let clock = Self {
            whole_ns: 0,
            numerator,
            denominator,
            offset_s: 0,
        };
        clock.with_offset(0)
    }

    pub(super) fn with_offset(self, offset_s: i64) -> Self {
        let is_whole = self.denominator == 1 && offset_s == 0;
        Self {
            whole_ns: if is_whole { self.numerator } else { 0 },
            offset_s,
            ..self
        }
    }

    /// Ticks per second, saturated.
    pub(super) fn ticks_per_second(self) -> u64 {
        let ticks =
            self.denominator.saturating_mul(NANOSECONDS.into()) / u128::from(self.numerator);
        // `2^e` times a thousand million can exceed 128 bits while the quotient is `2^e` again.
        let ticks = if self.numerator == NANOSECONDS {
            self.denominator
        } else {
            ticks
        };
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Converts a time stamp to nanoseconds since 1970. `None` before 1970 and after the year 2554.
    #[inline]
    pub(super) fn nanoseconds(&self, high: u32, low: u32) -> Option<u64> {
        self.nanoseconds_of(u64::from(high) << 32 | u64::from(low))
    }

    #[inline]
    fn nanoseconds_of(&self, ticks: u64) -> Option<u64> {
        if self.whole_ns != 0 {
            return ticks.checked_mul(self.whole_ns);
        }
        self.fraction(ticks)
    }

    /// Of a unit that is no whole number of nanoseconds, or with an offset. Apart, since the others are to be inlined.
    #[inline(never)]
    fn fraction(&self, ticks: u64) -> Option<u64> {
        // Below 2^94: no overflow; the offset adds less than 2^94 more.
        let since = u128::from(ticks) * u128::from(self.numerator) / self.denominator;
        let offset = i128::from(self.offset_s) * i128::from(NANOSECONDS);
        u64::try_from(i128::try_from(since).ok()? + offset).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values are from tshark 4.0. Resolutions beyond its 64 bits (10^-19 and 2^-63) are
    // computed by hand.
    #[test]
    fn every_resolution_is_exact() {
        let ticks = 1_700_000_000_123_456_789;
        for (octet, expected) in [
            (9, Some(1_700_000_000_123_456_789)),
            (12, Some(1_700_000_000_123_456)),
            (19, Some(170_000_000)),
            (20, Some(17_000_000)),
            (0x7f, Some(0)),
            (0x80 + 30, Some(1_583_248_376_961_291_571)),
            (0x80 + 63, Some(184_314_369)),
            (0x80 + 64, Some(92_157_184)),
            (0xff, Some(0)),
            (6, None),
            (0, None),
            (0x80, None),
        ] {
            assert_eq!(
                Clock::from_resolution(octet).nanoseconds_of(ticks),
                expected,
                "{octet:#x}"
            );
        }
    }

    #[test]
    fn offsets_move_and_may_leave_the_range() {
        let clock = Clock::from_resolution(6);
        assert_eq!(
            clock.with_offset(10).nanoseconds_of(1_000_000),
            Some(11_000_000_000)
        );
        assert_eq!(clock.with_offset(-1).nanoseconds_of(1_000_000), Some(0));
        assert_eq!(clock.with_offset(-2).nanoseconds_of(1_000_000), None);
        assert_eq!(clock.with_offset(i64::MAX).nanoseconds_of(u64::MAX), None);
        assert_eq!(clock.with_offset(i64::MIN).nanoseconds_of(u64::MAX), None);
    }

    #[test]
    fn ticks_per_second_of_powers_of_ten_and_two() {
        for (octet, expected) in [
            (0, 1),
            (6, 1_000_000),
            (9, 1_000_000_000),
            (19, 10_000_000_000_000_000_000),
            (20, u64::MAX),
            (0x7f, u64::MAX),
            (0x80 + 20, 1 << 20),
            (0x80 + 63, 1 << 63),
            (0xff, u64::MAX),
        ] {
            assert_eq!(
                Clock::from_resolution(octet).ticks_per_second(),
                expected,
                "{octet:#x}"
            );
        }
    }
}
