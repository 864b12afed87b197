//! Reads a device's clock through its character device.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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

/// The clocks that rings of this process use.
static CLOCKS: Mutex<Vec<Weak<SharedClock>>> = Mutex::new(Vec::new());

/// A device's clock, measured again and again while its stamps are converted.
///
/// All of one device in a process share its measurements, each from its next batch on. So the rings of its queues convert stamps
/// alike: with measurements of their own, packets of two queues that follow each other by less than the error of a measurement would
/// change places.
#[derive(Debug)]
pub struct DeviceClock {
    shared: Arc<SharedClock>,
    line: ClockLine,
    /// The number of measurements behind `line`.
    measurements: u64,
}

/// The measurements of a clock.
#[derive(Debug)]
struct SharedClock {
    file: File,
    index: u32,
    method: ClockReadMethod,
    /// Device and inode of the file, because the kernel reuses the number of a clock that is removed.
    identity: (u64, u64),
    /// `CLOCK_MONOTONIC` of the next measurement.
    next_ns: AtomicU64,
    /// How many there were.
    measurements: AtomicU64,
    measured: Mutex<Measured>,
}

#[derive(Debug)]
struct Measured {
    timeline: ClockTimeline,
    interval_ns: u64,
}

impl SharedClock {
    /// Opens the clock, or finds it if it is open.
    fn open(index: u32) -> io::Result<Arc<Self>> {
        let file = File::open(format!("/dev/ptp{index}"))?;
        let about = file.metadata()?;
        let identity = (about.dev(), about.ino());
        // No panic leaves the list half changed.
        let mut clocks = CLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.retain(|clock| clock.strong_count() > 0);
        let is_same = |clock: &Arc<Self>| (clock.index, clock.identity) == (index, identity);
        let mut open = clocks.iter().filter_map(Weak::upgrade);
        if let Some(clock) = open.find(is_same) {
            return Ok(clock);
        }
        let clock = Arc::new(Self::measure_first(file, index, identity)?);
        clocks.push(Arc::downgrade(&clock));
        Ok(clock)
    }

    fn measure_first(file: File, index: u32, identity: (u64, u64)) -> io::Result<Self> {
        let mut method = ClockReadMethod::Precise;
        let mut first = method.read(&file);
        for other in [ClockReadMethod::Extended, ClockReadMethod::System] {
            if first.is_err() {
                method = other;
                first = method.read(&file);
            }
        }
        Ok(Self {
            measured: Mutex::new(Measured {
                timeline: ClockTimeline::new(first?),
                interval_ns: FIRST_INTERVAL_NS,
            }),
            file,
            index,
            method,
            identity,
            next_ns: AtomicU64::new(monotonic_ns() + FIRST_INTERVAL_NS),
            measurements: AtomicU64::new(1),
        })
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        // A panic leaves what was measured before.
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_due(&self, now_ns: u64) -> bool {
        // What is measured is read under the lock.
        now_ns >= self.next_ns.load(Ordering::Relaxed)
    }

    /// Measures the clock, unless another thread does or has just done so.
    #[cold]
    fn measure(&self, now_ns: u64) {
        let Ok(mut measured) = self.measured.try_lock() else {
            return;
        };
        if !self.is_due(now_ns) {
            return;
        }
        // A clock that went away with its device is converted as before.
        if let Ok(measurement) = self.method.read(&self.file) {
            measured.timeline.add(measurement);
            self.measurements.fetch_add(1, Ordering::Relaxed);
        }
        measured.interval_ns = (2 * measured.interval_ns).min(LONGEST_INTERVAL_NS);
        let next_ns = now_ns + measured.interval_ns;
        self.next_ns.store(next_ns, Ordering::Relaxed);
    }
}

impl DeviceClock {
    /// Opens `/dev/ptpINDEX` and measures it, unless it is open and was measured a moment ago: within a second.
    ///
    /// # Errors
    /// ENOENT if there is no such file, EACCES if this user may not read it (by default only root may), EINVAL if it is
    /// no clock.
    /// # Source
    /// Documentation/driver-api/ptp.rst.
    #[doc(alias = "PHC")]
    pub fn open(index: u32) -> io::Result<Self> {
        let shared = SharedClock::open(index)?;
        let line = shared.measured().timeline.line();
        let mut clock = Self {
            shared,
            line,
            measurements: 0,
        };
        // The last measurement of a clock that is open already may be old.
        clock.follow();
        Ok(clock)
    }

    /// Measures the clock if it is time, at most once a second for all that share it. Otherwise costs one read of the monotonic
    /// clock.
    pub(crate) fn follow(&mut self) {
        let now_ns = monotonic_ns();
        if self.shared.is_due(now_ns) {
            self.shared.measure(now_ns);
        }
        if self.shared.measurements.load(Ordering::Relaxed) != self.measurements {
            let measured = self.shared.measured();
            self.line = measured.timeline.line();
            // It changes under the lock only.
            self.measurements = self.shared.measurements.load(Ordering::Relaxed);
        }
    }

    /// The conversion around now.
    pub(crate) fn line(&self) -> ClockLine {
        self.line
    }

    /// What is known of the clock.
    pub fn state(&self) -> DeviceClockState {
        let measured = self.shared.measured();
        let timeline = &measured.timeline;
        DeviceClockState {
            index: self.shared.index,
            method: self.shared.method,
            offset_ns: timeline.offset_ns(),
            drift_ppb: timeline.drift_ppb(),
            uncertainty_ns: timeline.uncertainty_ns(),
            steps: timeline.steps(),
        }
    }
}
