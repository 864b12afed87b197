//! Polls for conditions that have no event: kernel counters, the state of another process.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};

/// Maximum wait before the test fails.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// Maximum pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not hold within [`DEADLINE`]. The message says that `what` is not true.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_ok(|| condition().then_some(()).ok_or(what));
}

/// Returns the first success of `attempt`. Yields the CPU between attempts.
///
/// # Panics
/// With the last error, if no attempt succeeds within [`DEADLINE`].
#[track_caller]
pub fn until_ok<T, E: Debug>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        let error = match attempt() {
            Ok(value) => return value,
            Err(error) => error,
        };
        assert!(start.elapsed() < DEADLINE, "after {DEADLINE:?}: {error:?}");
        let timeout = Timespec::try_from(pause).expect("a short time");
        poll(&mut [], Some(&timeout)).expect("a pause");
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
