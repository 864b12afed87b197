//! For how long the reader had a processor, and for how long it would have liked to.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

/// What the scheduler tells of a thread.
const FIGURES: &str = "/proc/thread-self/schedstat";
/// Three numbers of 64 bits, the blanks between and the line's end.
const MOST_BYTES: usize = 3 * 21;

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
    pub(crate) fn now() -> Option<Self> {
        // A capture allocates as much whatever the figures are: they are read into a place of their own.
        let mut figures = [0; MOST_BYTES];
        let bytes = File::open(FIGURES).ok()?.read(&mut figures).ok()?;
        Self::parse(std::str::from_utf8(&figures[..bytes]).ok()?)
    }

    fn parse(figures: &str) -> Option<Self> {
        let mut numbers = figures.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        let (ran, waited) = (next()?, next()?);
        Some(Self { ran, waited })
    }

    /// What has come since `earlier`; `None` where the kernel does not tell, which it does by zeros.
    pub(crate) fn since(self, earlier: Self) -> Option<Self> {
        (!self.ran.is_zero()).then(|| Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        })
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

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

    /// As clock_gettime(2) has it.
    #[test]
    fn a_thread_runs_as_long_as_its_clock_says() {
        let clock = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            Duration::try_from(time).unwrap()
        };
        let (at_start, mut ran) = (ReaderTime::now().unwrap(), Duration::ZERO);
        // The scheduler adds up when it looks.
        while ran < Duration::from_millis(5) {
            let now = ReaderTime::now().unwrap();
            ran = now.since(at_start).map_or(Duration::ZERO, |time| time.ran);
            assert!(now.ran <= clock());
        }
    }
}
