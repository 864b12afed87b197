//! Where the clock of a device stands beside the system's.

use abi::clock::DeviceTime;

/// What a device's clock was ahead of `CLOCK_REALTIME` at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// By the device's clock, nanoseconds.
    pub device_ns: u64,
    /// What the device's clock was ahead by then, nanoseconds; behind if negative.
    pub ahead_ns: i128,
    /// By so much it may have been more or less, nanoseconds.
    pub uncertainty_ns: u64,
}

impl ClockOffset {
    /// The best of several readings, which is the one that took the shortest; `None` if there is none.
    pub fn of(readings: &[DeviceTime]) -> Option<Self> {
        let took_ns = |reading: &DeviceTime| reading.after_ns.saturating_sub(reading.before_ns);
        let best = readings.iter().min_by_key(|reading| took_ns(reading))?;
        let middle_ns = best.before_ns.midpoint(best.after_ns);
        Some(Self {
            device_ns: best.device_ns,
            ahead_ns: i128::from(best.device_ns) - i128::from(middle_ns),
            uncertainty_ns: took_ns(best).div_ceil(2),
        })
    }

    /// When it was `device_ns` by the device's clock, as the system's has it, if the offset went evenly
    /// from `self` to `later`. `None` for a moment before 1970, and for
    /// clocks that are out of all bounds.
    pub fn system_ns(&self, later: &Self, device_ns: u64) -> Option<u64> {
        let [from, at, to] = [self.device_ns, device_ns, later.device_ns].map(i128::from);
        // A clock that jumps that far has no moments to tell.
        let drift_ns = (later.ahead_ns - self.ahead_ns).checked_mul(at - from)?;
        let drift_ns = drift_ns.checked_div(to - from).unwrap_or(0);
        u64::try_from(at - self.ahead_ns - drift_ns).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn reading(before_ns: u64, device_ns: u64, took_ns: u64) -> DeviceTime {
        DeviceTime {
            before_ns,
            device_ns,
            after_ns: before_ns + took_ns,
        }
    }

    #[test]
    fn the_reading_that_took_the_shortest_counts() {
        let readings = [
            reading(1000, 5000, 900),
            reading(3000, 6000, 100),
            reading(9000, 1, 101),
        ];
        let offset = ClockOffset::of(&readings).unwrap();
        assert_eq!((offset.ahead_ns, offset.uncertainty_ns), (6000 - 3050, 50));
        assert_eq!(ClockOffset::of(&[]), None);
    }

    /// A clock that keeps TAI, and one that nobody has set, each a little fast or slow.
    #[test]
    fn moments_of_a_drifting_clock_become_the_systems() {
        let start_ns = 1_700_000_000 * SECOND_NS;
        for first_ns in [start_ns + 37 * SECOND_NS, 12 * SECOND_NS, start_ns] {
            for drift_ppm in [-100_i64, 0, 30] {
                let device = |system_ns: u64| {
                    let since = i128::from(system_ns - start_ns);
                    let ahead = since * i128::from(drift_ppm) / 1_000_000;
                    u64::try_from(i128::from(first_ns) + since + ahead).unwrap()
                };
                let at = |system_ns| {
                    ClockOffset::of(&[reading(system_ns - 500, device(system_ns), 1000)]).unwrap()
                };
                let (first, last) = (at(start_ns + SECOND_NS), at(start_ns + 2 * SECOND_NS));
                for part in [0, 1, 250_000_000, 999_999_999, 1_300_000_000] {
                    let system_ns = start_ns + SECOND_NS + part;
                    let told_ns = first.system_ns(&last, device(system_ns)).unwrap();
                    assert!(told_ns.abs_diff(system_ns) <= 2, "{drift_ppm} ppm, {part}");
                }
            }
        }
    }

    #[test]
    fn senseless_clocks_are_no_panic() {
        let ends = [0, 1, u64::MAX / 2, u64::MAX];
        for a in ends {
            for b in ends {
                let offset = |system_ns, device_ns| {
                    ClockOffset::of(&[reading(system_ns / 2, device_ns, 1)]).unwrap()
                };
                for at in ends {
                    let _ = offset(a, b).system_ns(&offset(b, a), at);
                }
            }
        }
    }
}
