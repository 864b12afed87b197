//! Clocks, in nanoseconds.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

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

/// CPU time of the calling thread in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`), in user space and in the kernel.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
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

/// Reads the clock at `device` and the system's at the same moment, as the hardware measures it: `before_ns` equals
/// `after_ns`.
///
/// # Errors
/// EOPNOTSUPP if the device cannot; ENOTTY when it is no clock.
/// # Kernel
/// Linux 4.6.
#[doc(alias = "PTP_SYS_OFFSET_PRECISE")]
pub fn precise_device_time(device: BorrowedFd<'_>) -> io::Result<DeviceTime> {
    const ZERO: libc::ptp_clock_time = libc::ptp_clock_time {
        sec: 0,
        nsec: 0,
        reserved: 0,
    };
    let mut offset = libc::ptp_sys_offset_precise {
        device: ZERO,
        sys_realtime: ZERO,
        sys_monoraw: ZERO,
        rsv: [0; 4],
    };
    // SAFETY: the kernel writes only to the structure, which outlives the call and has its layout.
    let result = unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            libc::PTP_SYS_OFFSET_PRECISE,
            &raw mut offset,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let system_ns = clock_time_ns(&offset.sys_realtime);
    Ok(DeviceTime {
        before_ns: system_ns,
        device_ns: clock_time_ns(&offset.device),
        after_ns: system_ns,
    })
}

/// Readings of [`extended_device_time`].
const EXTENDED_READINGS: usize = 5;

/// Reads the clock at `device` a few times, the system's each time immediately before and after the device's register
/// is read. Returns the most precise reading.
///
/// # Errors
/// EOPNOTSUPP if the driver cannot; ENOTTY when it is no clock.
/// # Kernel
/// Linux 5.0.
#[doc(alias = "PTP_SYS_OFFSET_EXTENDED")]
pub fn extended_device_time(device: BorrowedFd<'_>) -> io::Result<DeviceTime> {
    const ZERO: libc::ptp_clock_time = libc::ptp_clock_time {
        sec: 0,
        nsec: 0,
        reserved: 0,
    };
    let mut offset = libc::ptp_sys_offset_extended {
        n_samples: EXTENDED_READINGS as u32,
        clockid: libc::CLOCK_REALTIME,
        rsv: [0; 2],
        ts: [[ZERO; 3]; libc::PTP_MAX_SAMPLES as usize],
    };
    // SAFETY: the kernel writes only to the structure, which outlives the call and has its layout.
    let result = unsafe {
        libc::ioctl(
            device.as_raw_fd(),
            libc::PTP_SYS_OFFSET_EXTENDED,
            &raw mut offset,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let readings = offset.ts[..EXTENDED_READINGS].iter();
    let readings = readings.map(|[before, device, after]| DeviceTime {
        before_ns: clock_time_ns(before),
        device_ns: clock_time_ns(device),
        after_ns: clock_time_ns(after),
    });
    let best = readings.min_by_key(|reading| reading.after_ns.saturating_sub(reading.before_ns));
    best.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn clock_time_ns(time: &libc::ptp_clock_time) -> u64 {
    (time.sec.cast_unsigned().wrapping_mul(1_000_000_000)).wrapping_add(u64::from(time.nsec))
}
