//! Clocks, in nanoseconds.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// Nanoseconds since 1970-01-01 00:00 UTC: the clock of packet time stamps (`CLOCK_REALTIME`).
#[inline]
pub fn realtime_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Nanoseconds since some fixed point, never set back: the clock of durations (`CLOCK_MONOTONIC`).
#[inline]
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds of International Atomic Time, as far as the system knows its offset to UTC (`CLOCK_TAI`).
///
/// # Errors
/// EINVAL before Linux 3.10.
pub fn tai_ns() -> io::Result<u64> {
    Ok(nanoseconds(clock_gettime_dynamic(DynamicClockId::Tai)?))
}

#[inline]
fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The clock of a device, read between two readings of the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTime {
    /// `CLOCK_REALTIME` before, nanoseconds.
    pub before_ns: u64,
    /// The device's clock, nanoseconds since its own beginning.
    pub device_ns: u64,
    /// `CLOCK_REALTIME` afterwards, nanoseconds.
    pub after_ns: u64,
}

/// Reads the clock whose character device (`/dev/ptp0`) is open as `device`.
///
/// # Errors
/// EINVAL when it is no clock; EOPNOTSUPP, ENODEV.
#[doc(alias = "PHC")]
pub fn device_time(device: BorrowedFd<'_>) -> io::Result<DeviceTime> {
    let before_ns = realtime_ns();
    let device = clock_gettime_dynamic(DynamicClockId::Dynamic(device))?;
    let after_ns = realtime_ns();
    Ok(DeviceTime {
        before_ns,
        device_ns: nanoseconds(device),
        after_ns,
    })
}
