//! The time that counts.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds that this thread has had a processor: what others do meanwhile is not in them.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
