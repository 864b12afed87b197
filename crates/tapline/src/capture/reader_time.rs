//! For how long the reader had a processor, and for how long it would have liked to.

use std::fs;
use std::time::Duration;

/// What the scheduler tells of a thread.
const FIGURES: &str = "/proc/thread-self/schedstat";

/// How the scheduler treated the thread that read the packets.
///
/// Packets that were lost in a ring although the reader ran little and waited much were lost to other
/// processes: a ring holds what comes in some milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderTime {
    /// It had a processor.
    pub ran: Duration,
    /// It had work, and others had the processors.
    pub waited: Duration,
}

impl ReaderTime {
    /// Of the calling thread since it began; `None` where the kernel does not tell.
    ///
    /// # Source
    /// `proc_pid_schedstat`, fs/proc/base.c; Documentation/scheduler/sched-stats.rst.
    pub(super) fn now() -> Option<Self> {
        let figures = fs::read_to_string(FIGURES).ok()?;
        Self::parse(&figures)
    }

    fn parse(figures: &str) -> Option<Self> {
        let mut numbers = figures.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        let (ran, waited) = (next()?, next()?);
        // A kernel without these figures shows zeros.
        (!ran.is_zero()).then_some(Self { ran, waited })
    }

    /// What has come since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_nanoseconds_and_zeros_are_none() {
        let time = ReaderTime::parse("1500 20000 3\n").unwrap();
        assert_eq!(time.ran, Duration::from_nanos(1500));
        assert_eq!(time.waited, Duration::from_micros(20));
        for unknown in ["0 0 0\n", "", "1500", "x 1 2", "-1 1 2"] {
            assert_eq!(ReaderTime::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_thread_that_works_runs() {
        let before = ReaderTime::now().unwrap();
        let mut sum = 0_u64;
        let mut ran = Duration::ZERO;
        // The scheduler may add up late.
        while ran < Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
            ran = ReaderTime::now().unwrap().since(before).ran;
        }
        assert!(sum > 0);
    }
}
