//! The counters that a job publishes for the HTTP server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::family::Family;

/// The latest counters. Publisher and server lock it only to exchange a pointer.
#[derive(Debug)]
pub struct LatestMetrics(Mutex<Arc<Vec<Family>>>);

impl LatestMetrics {
    pub fn new(families: Vec<Family>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Arc::new(families))))
    }

    /// Replaces the counters.
    pub fn publish(&self, families: Vec<Family>) {
        let families = Arc::new(families);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = families;
    }

    /// The latest counters.
    pub fn read(&self) -> Arc<Vec<Family>> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now)
    }
}

/// Maximum age of served counters.
const FRESH: Duration = Duration::from_secs(1);

/// The time between two readings of the counters, and how many readings make one printed `interval`. If others want
/// them fresh (`is_prompt`), such as metrics, they are read at least once per second.
pub fn ticks(interval: Duration, is_prompt: bool) -> (Duration, u32) {
    let count = if is_prompt {
        interval.as_nanos().div_ceil(FRESH.as_nanos())
    } else {
        1
    };
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    (interval / count, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_interval_is_cut() {
        let ms = Duration::from_millis;
        for (interval, is_prompt, expected) in [
            (ms(10_000), false, (ms(10_000), 1)),
            (ms(10_000), true, (ms(1000), 10)),
            (ms(2500), true, (Duration::from_nanos(833_333_333), 3)),
            (ms(1000), true, (ms(1000), 1)),
            (ms(5), true, (ms(5), 1)),
        ] {
            assert_eq!(ticks(interval, is_prompt), expected);
        }
    }
}
