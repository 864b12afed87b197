//! Conversion of the times of simulated clocks, whose true time is known.

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const START_NS: u64 = 1_800_000_000 * SECOND_NS;

/// A clock with an offset, a drift and steps, and readings of some width.
struct Simulated {
    offset_ns: i64,
    drift_ppb: i64,
    width_ns: u64,
    /// Where within its width the device is read: changes with each reading.
    seed: u64,
}

impl Simulated {
    fn device_ns(&self, true_ns: u64) -> u64 {
        let since = i128::from(true_ns) - i128::from(START_NS);
        let drifted = since * i128::from(self.drift_ppb) / 1_000_000_000;
        let time = i128::from(true_ns) + i128::from(self.offset_ns) + drifted;
        u64::try_from(time).expect("a time")
    }

    fn measure(&mut self, true_ns: u64) -> ClockMeasurement {
        // Numerical Recipes' linear congruential generator.
        self.seed = (self.seed.wrapping_mul(1_664_525)).wrapping_add(1_013_904_223) % (1 << 32);
        let before = self.seed % (self.width_ns + 1);
        ClockMeasurement {
            before_ns: true_ns - before,
            device_ns: self.device_ns(true_ns),
            after_ns: true_ns + self.width_ns - before,
        }
    }

    /// The error of `timeline` for the stamp that the device makes at `true_ns`.
    fn error_ns(&self, timeline: &ClockTimeline, true_ns: u64) -> u64 {
        let converted = timeline.line().realtime_ns(self.device_ns(true_ns));
        converted.abs_diff(true_ns)
    }
}

/// Measures as a reader does: after 10 ms, then at twice the time up to once a second, for `seconds`. Returns the
/// largest error of the stamps in between, from the time `settled_ns` on.
fn largest_error(clock: &mut Simulated, seconds: u64, settled_ns: u64) -> u64 {
    let mut now_ns = START_NS;
    let mut timeline = ClockTimeline::new(clock.measure(now_ns));
    let (mut largest, mut interval) = (0, SECOND_NS / 100);
    while now_ns < START_NS + seconds * SECOND_NS {
        for tenth in 0..=10 {
            let at = now_ns + interval * tenth / 10;
            if at > START_NS + settled_ns {
                largest = largest.max(clock.error_ns(&timeline, at));
            }
        }
        now_ns += interval;
        interval = (2 * interval).min(SECOND_NS);
        timeline.add(clock.measure(now_ns));
    }
    assert_eq!(timeline.steps(), 0);
    largest
}

#[test]
fn an_exact_clock_is_converted_within_100_ns_between_measurements() {
    for offset_ns in [0, -400, 37_000_000_000, -1_700_000_000_000_000_000] {
        for drift_ppb in [0, 10_000, -10_000, 100_000, -3] {
            let mut clock = Simulated {
                offset_ns,
                drift_ppb,
                width_ns: 0,
                seed: 1,
            };
            // Of the first 10 ms nothing is known but the offset.
            let error = largest_error(&mut clock, 100, SECOND_NS / 100);
            assert!(error <= 100, "{offset_ns} {drift_ppb}: {error}");
        }
    }
}

#[test]
fn a_drift_of_10_ppm_for_an_hour_is_followed_within_a_microsecond() {
    // Readings that are 2 µs wide leave more open until there are enough of them.
    for (width_ns, settled_s, bound_ns) in [(0, 1, 2), (400, 1, 400), (2000, 10, 1000)] {
        for drift_ppb in [10_000, -10_000] {
            let mut clock = Simulated {
                offset_ns: 37_000_000_000,
                drift_ppb,
                width_ns,
                seed: 7,
            };
            let error = largest_error(&mut clock, 3600, settled_s * SECOND_NS);
            assert!(error <= bound_ns, "{width_ns} {drift_ppb}: {error}");
        }
    }
}

/// The interface may be silent: nobody measures then.
#[test]
fn an_hour_without_a_measurement_costs_a_microsecond_at_most() {
    let mut clock = Simulated {
        offset_ns: 37_000_000_000,
        drift_ppb: 10_000,
        width_ns: 0,
        seed: 3,
    };
    let mut timeline = ClockTimeline::new(clock.measure(START_NS));
    for second in 1..=16 {
        timeline.add(clock.measure(START_NS + second * SECOND_NS));
    }
    let error = clock.error_ns(&timeline, START_NS + 3616 * SECOND_NS);
    assert!(error <= 1000, "{error}");
}

#[test]
fn a_clock_that_is_set_is_followed_at_the_next_measurement() {
    for step_ns in [1_000_000, -1_000_000, 37_000_000_000, -37_000_000_000] {
        let mut clock = Simulated {
            offset_ns: 0,
            drift_ppb: 10_000,
            width_ns: 100,
            seed: 5,
        };
        let mut timeline = ClockTimeline::new(clock.measure(START_NS));
        for second in 1..=20 {
            timeline.add(clock.measure(START_NS + second * SECOND_NS));
        }
        clock.offset_ns += step_ns;
        for second in 21..=40 {
            timeline.add(clock.measure(START_NS + second * SECOND_NS));
            let error = clock.error_ns(&timeline, START_NS + second * SECOND_NS + SECOND_NS / 2);
            assert!(error <= 150, "{step_ns} {second}: {error}");
        }
        assert_eq!(timeline.steps(), 1);
        let now_ns = START_NS + 40 * SECOND_NS;
        let ahead_ns = clock.device_ns(now_ns).wrapping_sub(now_ns).cast_signed();
        assert!(timeline.offset_ns().abs_diff(ahead_ns) <= 100);
    }
}

/// A servo that begins to follow another clock changes the speed of its own.
#[test]
fn another_speed_is_no_step_and_is_followed() {
    let mut clock = Simulated {
        offset_ns: 0,
        drift_ppb: 0,
        width_ns: 100,
        seed: 9,
    };
    let mut timeline = ClockTimeline::new(clock.measure(START_NS));
    for second in 1..=20 {
        timeline.add(clock.measure(START_NS + second * SECOND_NS));
    }
    // The clocks agree at the moment of the change.
    clock.drift_ppb = 50_000;
    clock.offset_ns = -20 * 50_000;
    for second in 21..=40 {
        timeline.add(clock.measure(START_NS + second * SECOND_NS));
    }
    assert_eq!(timeline.steps(), 0);
    assert!((timeline.drift_ppb() - 50_000.0).abs() < 10.0);
    let error = clock.error_ns(&timeline, START_NS + 41 * SECOND_NS);
    assert!(error <= 150, "{error}");
}
