//! Waits for planned times: sleeps until shortly before, then watches the clock.

use std::io;
use std::time::Duration;

use abi::clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags};

use crate::stop::Stop;
use crate::wait::wait;

/// A sleep ends so long before the planned time: longer than most wake-ups take.
const SPIN_NS: u64 = 30_000;

/// Shorter waits are not worth a sleep.
const MIN_SLEEP_NS: u64 = 20_000;

/// The longest sleep of one system call.
const MAX_SLEEP_NS: u64 = 3_600_000_000_000;

/// Waits until `until_ns` (`CLOCK_MONOTONIC`). Returns the time, or `None` if `stop` was requested before.
pub fn wait_until(until_ns: u64, stop: &Stop) -> io::Result<Option<u64>> {
    loop {
        let now_ns = monotonic_ns();
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns == 0 {
            return Ok(Some(now_ns));
        }
        if left_ns < SPIN_NS + MIN_SLEEP_NS {
            std::hint::spin_loop();
            continue;
        }
        if is_stopped(stop, (left_ns - SPIN_NS).min(MAX_SLEEP_NS))? {
            return Ok(None);
        }
    }
}

/// Whether `stop` is requested within `wait_ns`.
pub fn is_stopped(stop: &Stop, wait_ns: u64) -> io::Result<bool> {
    wait(
        &mut [PollFd::new(stop, PollFlags::IN)],
        Duration::from_nanos(wait_ns),
    )
}

/// Waits for `time`, or until a signal.
pub fn pause(time: Duration) -> io::Result<()> {
    wait(&mut [], time).map(drop)
}
