//! Conversion of wall-clock time stamps to the monotonic clock.

/// A change of the offset that slewing cannot explain: the wall clock was set.
const STEP_NS: u64 = 100_000;

/// The offset between the wall clock and the monotonic clock.
///
/// The kernel stamps packets with the wall clock, which may be set at any moment. The run uses the
/// monotonic clock. Each reading takes the monotonic clock before and after the wall clock. This
/// bounds the offset even if the thread is interrupted in between.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// Lower and upper bound of wall clock minus monotonic clock, from all readings since the clock was
    /// set. A single reading may have been interrupted, and bounds little.
    bounds: (i64, i64),
    steps: u64,
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The monotonic clock, read first.
    pub before_ns: u64,
    /// The wall clock, read second.
    pub wall_ns: u64,
    /// The monotonic clock, read third.
    pub after_ns: u64,
}

impl ClockReading {
    /// The lower and upper bound of the offset by this reading.
    #[inline]
    fn bounds(self) -> (i64, i64) {
        let offset = |monotonic: u64| self.wall_ns.wrapping_sub(monotonic).cast_signed();
        (offset(self.after_ns), offset(self.before_ns))
    }
}

impl WallClock {
    /// Starts with a first reading.
    pub fn new(reading: ClockReading) -> Self {
        Self {
            bounds: reading.bounds(),
            steps: 0,
        }
    }

    /// Takes a further reading. If the wall clock was set since the last one, returns by how many
    /// nanoseconds. The offset of time stamps between the two readings is then unknown.
    #[inline]
    pub fn update(&mut self, reading: ClockReading) -> Option<i64> {
        let (low, high) = reading.bounds();
        // Each bound moves no further than this reading requires.
        let (least, greatest) = self.bounds;
        let nearest = (least.clamp(low, high), greatest.clamp(low, high));
        let moved = if greatest < low {
            low.wrapping_sub(greatest)
        } else {
            high.wrapping_sub(least).min(0)
        };
        if moved.unsigned_abs() < STEP_NS {
            self.bounds = nearest;
            return None;
        }
        let old = self.offset_ns();
        self.bounds = (low, high);
        self.steps += 1;
        Some(self.offset_ns().wrapping_sub(old))
    }

    /// Wall clock minus monotonic clock.
    #[inline]
    fn offset_ns(&self) -> i64 {
        self.bounds.0.midpoint(self.bounds.1)
    }

    /// The monotonic time at which the wall clock read `wall_ns`.
    #[inline]
    pub fn monotonic_ns(&self, wall_ns: u64) -> u64 {
        wall_ns.wrapping_sub(self.offset_ns().cast_unsigned())
    }

    /// Number of times the wall clock was set.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_800_000_000_000_000_000;

    fn reading(before_ns: u64, offset_ns: u64, length_ns: u64) -> ClockReading {
        ClockReading {
            before_ns,
            wall_ns: before_ns + length_ns / 2 + offset_ns,
            after_ns: before_ns + length_ns,
        }
    }

    #[test]
    fn a_step_is_detected_and_slewing_is_followed() {
        let mut clock = WallClock::new(reading(1000, WALL, 40));
        assert_eq!(clock.monotonic_ns(WALL + 5000), 5000);
        // 0.05 % fast, read once per millisecond: never a step, never far off.
        for at in 1..10_000_u64 {
            assert_eq!(
                clock.update(reading(at * 1_000_000, WALL + at * 500, 60)),
                None
            );
        }
        assert!(clock.monotonic_ns(WALL + 9999 * 500 + 7777).abs_diff(7777) < 600);
        for step in [3_600_000_000_000_i64, -7_200_000_000_000, 200_000] {
            let wall = WALL.wrapping_add_signed(clock.offset_ns() - WALL.cast_signed() + step);
            let seen = clock
                .update(reading(11_000_000_000, wall, 60))
                .expect("it was set");
            assert!((seen - step).abs() <= 60);
        }
        assert_eq!(clock.steps(), 3);
    }

    #[test]
    fn an_interrupted_reading_is_no_step() {
        let mut clock = WallClock::new(reading(0, WALL, 40));
        for length_ns in [1_000_000, 5_000_000_000] {
            assert_eq!(clock.update(reading(1000, WALL, length_ns)), None);
            assert_eq!(clock.monotonic_ns(WALL + 77), 77);
        }
    }

    #[test]
    fn a_clock_read_after_an_interrupted_one_is_not_a_step() {
        // Interrupted before the wall clock was read, and afterwards.
        for read_ns in [20, 4_000_000] {
            let interrupted = ClockReading {
                before_ns: 0,
                wall_ns: WALL + read_ns,
                after_ns: 4_000_020,
            };
            let next = reading(5_000_000, WALL, 40);
            let before = WallClock::new(reading(0, WALL - 3_600_000_000_000, 40));
            for mut clock in [WallClock::new(interrupted), before] {
                let is_set = clock.update(interrupted).is_some();
                assert_eq!(clock.update(next), None);
                assert_eq!(clock.steps(), is_set.into());
                assert!(clock.monotonic_ns(WALL + 77).abs_diff(77) <= 40);
            }
        }
    }
}
