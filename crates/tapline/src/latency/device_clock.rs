//! The offset of a device's clock from the system clock.

use abi::clock::DeviceTime;

/// The offset of a device's clock from `CLOCK_REALTIME` at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// The moment by the device's clock, nanoseconds.
    pub device_ns: u64,
    /// Device's clock minus system clock, nanoseconds.
    pub ahead_ns: i128,
    /// Maximum error of `ahead_ns`, nanoseconds.
    pub uncertainty_ns: u64,
}

impl ClockOffset {
    /// The offset by the most precise of the readings, the shortest one; `None` without readings.
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

    /// Converts the device's time `device_ns` to system time, with the offset interpolated between `self` and
    /// `later`. `None` if the result is before 1970 or overflows.
    pub fn system_ns(&self, later: &Self, device_ns: u64) -> Option<u64> {
        let [from, at, to] = [self.device_ns, device_ns, later.device_ns].map(i128::from);
        // Fails if the device's clock jumped far.
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
