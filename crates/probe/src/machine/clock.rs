//! Two clocks, and what one says in the words of the other.

/// A difference that no slewing explains: the wall clock was set.
const STEP_NS: u64 = 100_000;

/// The wall clock as seen from the monotonic one.
///
/// The kernel stamps packets by the wall clock, which may be set at any moment; the run goes by the
/// monotonic clock. Each look takes the monotonic clock before and after the wall clock, which bounds
/// the difference of the two, however long the reader was interrupted.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// The least and the greatest that the wall clock less the monotonic clock can be, after all looks since it
    /// was set: one look may have been interrupted, and says little then.
    bounds: (i64, i64),
    steps: u64,
}

/// One look at both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The monotonic clock, first.
    pub before_ns: u64,
    /// Then the wall clock.
    pub wall_ns: u64,
    /// Then the monotonic clock again.
    pub after_ns: u64,
}

impl Look {
    /// The least and the greatest offset that this look allows.
    #[inline]
    fn bounds(self) -> (i64, i64) {
        let offset = |monotonic: u64| self.wall_ns.wrapping_sub(monotonic).cast_signed();
        (offset(self.after_ns), offset(self.before_ns))
    }
}

impl WallClock {
    /// Two clocks at a first look.
    pub fn new(look: Look) -> Self {
        Self {
            bounds: look.bounds(),
            steps: 0,
        }
    }

    /// Looks again. Says by how much the wall clock was set since, in nanoseconds, if it was: time stamps
    /// taken between the two looks are then of unknown offset.
    #[inline]
    pub fn look(&mut self, look: Look) -> Option<i64> {
        let (low, high) = look.bounds();
        // Each bound as near as the look allows.
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

    /// Wall clock less monotonic clock.
    #[inline]
    fn offset_ns(&self) -> i64 {
        self.bounds.0.midpoint(self.bounds.1)
    }

    /// What the monotonic clock said when the wall clock said `wall_ns`.
    #[inline]
    pub fn monotonic_ns(&self, wall_ns: u64) -> u64 {
        wall_ns.wrapping_sub(self.offset_ns().cast_unsigned())
    }

    /// How often the wall clock was set.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_800_000_000_000_000_000;

    fn look(before_ns: u64, offset_ns: u64, length_ns: u64) -> Look {
        Look {
            before_ns,
            wall_ns: before_ns + length_ns / 2 + offset_ns,
            after_ns: before_ns + length_ns,
        }
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_and_one_that_is_slewed_is_followed() {
        let mut clock = WallClock::new(look(1000, WALL, 40));
        assert_eq!(clock.monotonic_ns(WALL + 5000), 5000);
        // 0.05 % fast, looked at once a millisecond: never a step, never far off.
        for at in 1..10_000_u64 {
            assert_eq!(clock.look(look(at * 1_000_000, WALL + at * 500, 60)), None);
        }
        assert!(clock.monotonic_ns(WALL + 9999 * 500 + 7777).abs_diff(7777) < 600);
        for step in [3_600_000_000_000_i64, -7_200_000_000_000, 200_000] {
            let wall = WALL.wrapping_add_signed(clock.offset_ns() - WALL.cast_signed() + step);
            let seen = clock
                .look(look(11_000_000_000, wall, 60))
                .expect("it was set");
            assert!((seen - step).abs() <= 60);
        }
        assert_eq!(clock.steps(), 3);
    }

    #[test]
    fn an_interrupted_look_is_no_step() {
        let mut clock = WallClock::new(look(0, WALL, 40));
        for length_ns in [1_000_000, 5_000_000_000] {
            assert_eq!(clock.look(look(1000, WALL, length_ns)), None);
            assert_eq!(clock.monotonic_ns(WALL + 77), 77);
        }
    }

    #[test]
    fn what_a_look_after_an_interrupted_one_finds_is_no_step() {
        // Interrupted before the wall clock was read, and afterwards.
        for read_ns in [20, 4_000_000] {
            let interrupted = Look {
                before_ns: 0,
                wall_ns: WALL + read_ns,
                after_ns: 4_000_020,
            };
            let next = look(5_000_000, WALL, 40);
            let before = WallClock::new(look(0, WALL - 3_600_000_000_000, 40));
            for mut clock in [WallClock::new(interrupted), before] {
                let is_set = clock.look(interrupted).is_some();
                assert_eq!(clock.look(next), None);
                assert_eq!(clock.steps(), is_set.into());
                assert!(clock.monotonic_ns(WALL + 77).abs_diff(77) <= 40);
            }
        }
    }
}
