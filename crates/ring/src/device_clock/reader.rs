//! Reads a device's clock through its character device.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use abi::clock::{
    DeviceTime, device_time, extended_device_time, monotonic_ns, precise_device_time,
};

use super::timeline::{ClockLine, ClockMeasurement, ClockTimeline};

/// Time between the first two measurements. It doubles up to [`LONGEST_INTERVAL_NS`].
const FIRST_INTERVAL_NS: u64 = 10_000_000;

/// Time between two measurements.
const LONGEST_INTERVAL_NS: u64 = 1_000_000_000;

/// Readings of which the most precise counts, where the kernel does not choose it.
const READINGS: usize = 5;

/// How a device's clock is compared with the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockReadMethod {
    /// The hardware reads both at the same moment.
    #[doc(alias = "PTP_SYS_OFFSET_PRECISE")]
    Precise,
    /// The driver reads the system's clock around the device's register.
    #[doc(alias = "PTP_SYS_OFFSET_EXTENDED")]
    Extended,
    /// System calls read one after the other.
    System,
}

impl ClockReadMethod {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Extended => "extended",
            Self::System => "system",
        }
    }

    fn read(self, clock: &File) -> io::Result<ClockMeasurement> {
        let clock = clock.as_fd();
        let time = match self {
            Self::Precise => precise_device_time(clock)?,
            Self::Extended => extended_device_time(clock)?,
            Self::System => {
                let mut best = device_time(clock)?;
                for _ in 1..READINGS {
                    let time = device_time(clock)?;
                    let width = |time: &DeviceTime| time.after_ns.saturating_sub(time.before_ns);
                    if width(&time) < width(&best) {
                        best = time;
                    }
                }
                best
            }
        };
        Ok(ClockMeasurement {
            before_ns: time.before_ns,
            device_ns: time.device_ns,
            after_ns: time.after_ns,
        })
    }
}

/// What is known of a device's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceClockState {
    /// Its number: `/dev/ptp0` is 0.
    pub index: u32,
    /// How it is read.
    pub method: ClockReadMethod,
    /// Its time minus the time of day at the last measurement, nanoseconds.
    pub offset_ns: i64,
    /// How much faster it runs, parts per billion.
    pub drift_ppb: f64,
    /// Largest error of the last measurement, nanoseconds.
    pub uncertainty_ns: u64,
    /// How often it or the system's clock was set.
    pub steps: u64,
}

/// A device's clock, measured again and again while its stamps are converted.
#[derive(Debug)]
pub struct DeviceClock {
    file: File,
    index: u32,
    method: ClockReadMethod,
    timeline: ClockTimeline,
    interval_ns: u64,
    /// `CLOCK_MONOTONIC` of the next measurement.
    next_ns: u64,
}

impl DeviceClock {
    /// Opens `/dev/ptpINDEX` and measures it once.
    ///
    /// # Errors
    /// ENOENT if there is no such file, EACCES if this user may not read it (by default only root may), EINVAL if it is
    /// no clock.
    /// # Source
    /// Documentation/driver-api/ptp.rst.
    #[doc(alias = "PHC")]
    pub fn open(index: u32) -> io::Result<Self> {
        let file = File::open(format!("/dev/ptp{index}"))?;
        let mut method = ClockReadMethod::Precise;
        let mut first = method.read(&file);
        for other in [ClockReadMethod::Extended, ClockReadMethod::System] {
            if first.is_err() {
                method = other;
                first = method.read(&file);
            }
        }
        Ok(Self {
            timeline: ClockTimeline::new(first?),
            file,
            index,
            method,
            interval_ns: FIRST_INTERVAL_NS,
            next_ns: monotonic_ns() + FIRST_INTERVAL_NS,
        })
    }

    /// Measures the clock if it is time, at most once a second. Otherwise costs one read of the monotonic clock.
    pub(crate) fn follow(&mut self) {
        let now_ns = monotonic_ns();
        if now_ns < self.next_ns {
            return;
        }
        // A clock that went away with its device is converted as before.
        if let Ok(measured) = self.method.read(&self.file) {
            self.timeline.add(measured);
        }
        self.interval_ns = (2 * self.interval_ns).min(LONGEST_INTERVAL_NS);
        self.next_ns = now_ns + self.interval_ns;
    }

    /// The conversion around now.
    pub(crate) fn line(&self) -> ClockLine {
        self.timeline.line()
    }

    /// What is known of the clock.
    pub fn state(&self) -> DeviceClockState {
        DeviceClockState {
            index: self.index,
            method: self.method,
            offset_ns: self.timeline.offset_ns(),
            drift_ppb: self.timeline.drift_ppb(),
            uncertainty_ns: self.timeline.uncertainty_ns(),
            steps: self.timeline.steps(),
        }
    }
}
