//! Waits for planned times: sleeps until shortly before, then watches the clock.

use std::io;
use std::time::Duration;

use abi::clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags};

use crate::stop::Stop;
use crate::wait::wait;

/// Bounds of the time between the end of a sleep and the planned time.
const MIN_MARGIN_NS: u64 = 2_000;
const MAX_MARGIN_NS: u64 = 50_000;

/// Shorter sleeps are not worth a system call.
const MIN_SLEEP_NS: u64 = 10_000;

/// Before any sleep was measured.
const FIRST_MARGIN_NS: u64 = 30_000;

/// The margin grows by this part of itself after a sleep that ends behind the planned time.
const GROWTH: u64 = 64;

/// It shrinks by so much less after the others: about one sleep of twenty ends behind the planned time, mostly by little. To
/// wait for the latest ones would cost more CPU time than the sleeps themselves.
const IN_TIME: u64 = 19;

/// The longest sleep of one system call.
const MAX_SLEEP_NS: u64 = 3_600_000_000_000;

/// Waits for planned times. It learns how late sleeps end on this host, and watches the clock for as long before.
#[derive(Debug)]
pub struct Pacer {
    margin_ns: u64,
}

impl Pacer {
    pub fn new() -> Self {
        Self {
            margin_ns: FIRST_MARGIN_NS,
        }
    }

    /// Waits until `until_ns` (`CLOCK_MONOTONIC`). Returns the time, or `None` if `stop` was requested before.
    pub fn wait_until(&mut self, until_ns: u64, stop: &Stop) -> io::Result<Option<u64>> {
        let mut has_slept = false;
        loop {
            let now_ns = monotonic_ns();
            let left_ns = until_ns.saturating_sub(now_ns);
            if left_ns == 0 {
                return Ok(Some(now_ns));
            }
            if left_ns < self.margin_ns + MIN_SLEEP_NS {
                if !has_slept {
                    // Without a sleep nothing is learned, so that a margin that is too large must shrink by itself.
                    self.learn(0);
                    has_slept = true;
                }
                std::hint::spin_loop();
                continue;
            }
            has_slept = true;
            let sleep_ns = (left_ns - self.margin_ns).min(MAX_SLEEP_NS);
            if is_stopped(stop, sleep_ns)? {
                return Ok(None);
            }
            self.learn(monotonic_ns().saturating_sub(now_ns + sleep_ns));
        }
    }

    /// Takes a sleep into account that ended `late_ns` late. The margin becomes the lateness that a twentieth of the
    /// sleeps exceeds. Single late ones, while another thread has the CPU, change it little.
    fn learn(&mut self, late_ns: u64) {
        let step_ns = self.margin_ns / GROWTH;
        let margin_ns = if late_ns > self.margin_ns {
            self.margin_ns + step_ns
        } else {
            self.margin_ns - step_ns / IN_TIME
        };
        self.margin_ns = margin_ns.clamp(MIN_MARGIN_NS, MAX_MARGIN_NS);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The margin after sleeps that end late by turns.
    fn margin(late_ns: &[u64]) -> u64 {
        let mut pacer = Pacer::new();
        for late_ns in late_ns.iter().cycle().take(20_000) {
            pacer.learn(*late_ns);
        }
        pacer.margin_ns
    }

    #[test]
    fn the_margin_is_a_lateness_that_a_twentieth_of_the_sleeps_exceeds() {
        let few_exceed = |late_ns: &[u64], bounds: std::ops::Range<u64>| {
            let margin_ns = margin(late_ns);
            assert!(bounds.contains(&margin_ns), "{margin_ns} for {late_ns:?}");
        };
        few_exceed(&[5_000], 4_900..5_500);
        // A third is later than the others, then a thirtieth.
        few_exceed(&[5_000, 5_000, 15_000], 14_000..16_000);
        let mut thirtieth = vec![5_000; 29];
        thirtieth.push(15_000);
        few_exceed(&thirtieth, 4_900..6_000);
        // One in 500.
        let mut rare = vec![5_000; 499];
        rare.push(4_000_000);
        few_exceed(&rare, 4_900..5_500);
        few_exceed(&[0], MIN_MARGIN_NS..MIN_MARGIN_NS + 1);
        few_exceed(&[u64::MAX], MAX_MARGIN_NS..MAX_MARGIN_NS + 1);
    }
}
