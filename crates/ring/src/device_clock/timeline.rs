//! Converts the time of a device's clock to the time of day, by arithmetic alone.
//!
//! The device's clock runs freely, or on TAI, or on UTC: only its measured offset and drift count. A measurement is
//! the device's time between two readings of `CLOCK_REALTIME`, so leap seconds and the distance of TAI are in it.
//!
//! ```text
//! time of day minus device's time
//!        │        ·  ·╱
//!        │     · ╱ ·         · measurements, each as exact as its two readings are close
//!        │  ╱·  ·            ╱ the line through the newest ones: packets are converted along it
//!        └──────────────▶ device's time
//! ```

use std::collections::VecDeque;

/// Measurements that the line goes through.
const KEPT: usize = 32;

/// Fastest drift that is not a step: what NTP slews clocks by, in parts of one.
const DRIFT_MAX: f64 = 5e-4;

/// Drift to be expected of a clock of which nothing is known: two quartz oscillators, in parts of one.
const DRIFT_EXPECTED: f64 = 2e-5;

/// A jump by less than this is not a step, nanoseconds.
const STEP_NS: f64 = 1000.0;

/// Error of a reading without width, nanoseconds.
const READING_ERROR_NS: f64 = 1.0;

/// The device's clock, read between two readings of `CLOCK_REALTIME`. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockMeasurement {
    /// The time of day before.
    pub before_ns: u64,
    /// The device's time.
    pub device_ns: u64,
    /// The time of day afterwards.
    pub after_ns: u64,
}

impl ClockMeasurement {
    fn width_ns(&self) -> u64 {
        self.after_ns.saturating_sub(self.before_ns)
    }

    /// The time of day minus the device's time, by the middle of the readings. Modulo 2⁶⁴.
    fn ahead_ns(&self) -> u64 {
        let middle = self.before_ns.wrapping_add(self.width_ns() / 2);
        middle.wrapping_sub(self.device_ns)
    }
}

/// The conversion that holds around one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockLine {
    /// The moment by the device's clock, nanoseconds.
    device_ns: u64,
    /// The time of day minus the device's time then, modulo 2⁶⁴.
    ahead_ns: u64,
    /// How much faster the time of day runs, in parts of one.
    drift: f64,
}

impl ClockLine {
    /// Converts nothing: the device's time is the time of day.
    pub(crate) const IDENTITY: Self = Self {
        device_ns: 0,
        ahead_ns: 0,
        drift: 0.0,
    };

    /// The time of day at `device_ns`, nanoseconds since 1970.
    #[inline]
    pub fn realtime_ns(&self, device_ns: u64) -> u64 {
        let since = device_ns.wrapping_sub(self.device_ns).cast_signed();
        // Exact below 2⁵³ ns, which are 104 days, and the product is far smaller.
        let drifted = (since as f64 * self.drift).round() as i64;
        (device_ns.wrapping_add(self.ahead_ns)).wrapping_add_signed(drifted)
    }
}

/// The measurements of a device's clock, and the line through them.
#[derive(Clone, Debug)]
pub struct ClockTimeline {
    measurements: VecDeque<ClockMeasurement>,
    line: ClockLine,
    steps: u64,
}

impl ClockTimeline {
    /// Begins with the first measurement. The drift is taken to be zero until the second.
    pub fn new(first: ClockMeasurement) -> Self {
        let mut timeline = Self {
            measurements: VecDeque::with_capacity(KEPT),
            line: ClockLine {
                device_ns: first.device_ns,
                ahead_ns: first.ahead_ns(),
                drift: 0.0,
            },
            steps: 0,
        };
        timeline.measurements.push_back(first);
        timeline
    }

    /// Adds a measurement, the newest one.
    pub fn add(&mut self, measured: ClockMeasurement) {
        let Some(last) = self.measurements.back() else {
            return;
        };
        let since = measured.device_ns.wrapping_sub(last.device_ns);
        let since = since.cast_signed() as f64;
        let predicted = self.line.realtime_ns(measured.device_ns);
        let middle = measured.device_ns.wrapping_add(measured.ahead_ns());
        let off = middle.wrapping_sub(predicted).cast_signed() as f64;
        let width = (measured.width_ns() + last.width_ns()) as f64;
        if since < 0.0 || off.abs() > width + STEP_NS + since * DRIFT_MAX {
            // One of the clocks was set. Its speed is the same.
            self.steps += 1;
            self.measurements.clear();
            self.measurements.push_back(measured);
            self.line.device_ns = measured.device_ns;
            self.line.ahead_ns = measured.ahead_ns();
            return;
        }
        if off.abs() > width / 2.0 + STEP_NS {
            // One of the clocks runs at another speed: the older measurements tell nothing about it.
            let older = self.measurements.len() - 1;
            self.measurements.drain(..older);
        }
        if self.measurements.len() == KEPT {
            self.measurements.pop_front();
        }
        self.measurements.push_back(measured);
        self.fit();
    }

    /// The conversion around the newest measurement.
    pub fn line(&self) -> ClockLine {
        self.line
    }

    /// How often one of the clocks was set.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The device's time minus the time of day at the newest measurement, nanoseconds.
    pub fn offset_ns(&self) -> i64 {
        self.line.ahead_ns.wrapping_neg().cast_signed()
    }

    /// How much faster the device's clock runs, parts per billion.
    pub fn drift_ppb(&self) -> f64 {
        -self.line.drift * 1e9
    }

    /// Largest error of the newest measurement, nanoseconds.
    pub fn uncertainty_ns(&self) -> u64 {
        let newest = self.measurements.back();
        newest.map_or(u64::MAX, |newest| newest.width_ns().div_ceil(2))
    }

    /// Least squares through the measurements. Without a wide base the noise of the readings would make a drift of
    /// any size, so the expected drift counts as one more measurement.
    fn fit(&mut self) {
        let Some(&newest) = self.measurements.back() else {
            return;
        };
        let points = || {
            self.measurements.iter().map(|one| {
                let since = one.device_ns.wrapping_sub(newest.device_ns).cast_signed();
                let ahead = one.ahead_ns().wrapping_sub(newest.ahead_ns()).cast_signed();
                let error = (one.width_ns() as f64 / 4.0).max(READING_ERROR_NS);
                (since as f64, ahead as f64, 1.0 / (error * error))
            })
        };
        let weights: f64 = points().map(|(.., weight)| weight).sum();
        let mean = |of: fn((f64, f64, f64)) -> f64| points().map(of).sum::<f64>() / weights;
        let since = mean(|(since, _, weight)| since * weight);
        let ahead = mean(|(_, ahead, weight)| ahead * weight);
        let (mut product, mut square) = (0.0, 1.0 / (DRIFT_EXPECTED * DRIFT_EXPECTED));
        for (x, y, weight) in points() {
            product += weight * (x - since) * (y - ahead);
            square += weight * (x - since) * (x - since);
        }
        let drift = product / square;
        // Where the line is at the newest measurement, but within its readings, which are certain.
        let limit = newest.width_ns() as f64 / 2.0;
        let at_newest = (ahead - drift * since).clamp(-limit, limit);
        self.line = ClockLine {
            device_ns: newest.device_ns,
            ahead_ns: (newest.ahead_ns()).wrapping_add_signed(at_newest.round() as i64),
            drift,
        };
    }
}

#[cfg(test)]
mod tests;
