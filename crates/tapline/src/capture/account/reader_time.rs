//! How long the reader thread ran, and how long it waited for a CPU.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

/// Scheduler statistics of the calling thread.
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";
/// Three numbers of 64 bits, each with a blank or the line's end.
const MAX_BYTES: usize = 3 * 21;

/// How long the reader thread ran, and how long it waited for a CPU.
///
/// A reader that waited for long lost packets because other processes used the CPUs: a ring only holds the packets of some
/// milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderTime {
    /// Time on a CPU.
    pub ran: Duration,
    /// Time in a run queue: it had work, and other threads had the CPUs.
    pub waited: Duration,
}

impl ReaderTime {
    /// The times of the calling thread since it started; `None` if the kernel does not report them.
    ///
    /// # Source
    /// `proc_pid_schedstat`, fs/proc/base.c; Documentation/scheduler/sched-stats.rst.
    pub(crate) fn now() -> Option<Self> {
        // On the stack, so that the number of allocations does not depend on the figures.
        let mut figures = [0; MAX_BYTES];
        let bytes = File::open(SCHEDSTAT).ok()?.read(&mut figures).ok()?;
        Self::parse(std::str::from_utf8(&figures[..bytes]).ok()?)
    }

    fn parse(figures: &str) -> Option<Self> {
        let mut numbers = figures.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        let (ran, waited) = (next()?, next()?);
        Some(Self { ran, waited })
    }

    /// The times since `earlier`; `None` if the kernel does not report them, i.e. reports zeros.
    pub(crate) fn since(self, earlier: Self) -> Option<Self> {
        (!self.ran.is_zero()).then(|| Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        })
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn figures_are_nanoseconds_and_zeros_are_unknown() {
        let time = |figures| ReaderTime::parse(figures).unwrap();
        let since = time("1500 20000 3\n").since(time("500 10000 1\n")).unwrap();
        assert_eq!(since.ran, Duration::from_micros(1));
        assert_eq!(since.waited, Duration::from_micros(10));
        assert_eq!(time("0 0 0\n").since(time("0 0 0\n")), None);
        for unknown in ["", "1500", "x 1 2", "-1 1 2"] {
            assert_eq!(ReaderTime::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn run_time_agrees_with_the_cpu_clock_of_the_thread() {
        let clock = || Duration::from_nanos(abi::clock::thread_cpu_ns());
        let (at_start, mut ran) = (ReaderTime::now().unwrap(), Duration::ZERO);
        // The scheduler updates the figures at its ticks.
        while ran < Duration::from_millis(5) {
            let now = ReaderTime::now().unwrap();
            ran = now.since(at_start).map_or(Duration::ZERO, |time| time.ran);
            assert!(now.ran <= clock());
        }
    }
}
