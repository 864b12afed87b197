//! Clocks, in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds since 1970-01-01 00:00 UTC: the clock of packet time stamps (`CLOCK_REALTIME`).
pub fn realtime_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// Nanoseconds since some fixed point, never set back: the clock of durations (`CLOCK_MONOTONIC`).
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
