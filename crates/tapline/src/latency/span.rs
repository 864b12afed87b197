//! The time in which packets count, the same for several readers.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::seat::Seat;
use crate::capture::Limits;
use crate::stop::Stop;

/// So long a reader counts without asking whether the end has been set.
const LEASE_NS: u64 = 10_000_000;

/// The time in which packets count, by their stamps: from a moment at which all readers run and have caught
/// up with what had gathered for them before, to one before which no ring was closed. Each reader has a
/// [`Seat`]; what was stamped outside is passed over, so that all of them count the same packets, each once.
///
/// Clones are of the same span.
#[derive(Clone, Debug)]
pub struct Span {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    has_begun: Condvar,
    /// Ends the readers.
    over: Stop,
    limits: Limits,
}

#[derive(Debug)]
struct State {
    /// Readers that do not run yet.
    awaited: usize,
    /// Readers that have not had all packets that are wanted.
    unfinished: usize,
    begin: Option<Moment>,
    /// `u64::MAX` until it is set.
    end_ns: u64,
    /// Some reader has been told that the end is not before this.
    leased_ns: u64,
}

/// The same moment by two clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    realtime_ns: u64,
    monotonic_ns: u64,
}

/// What a reader may count for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    /// From this stamp on.
    pub from_ns: u64,
    /// Up to this stamp; later ones are to be asked for.
    pub until_ns: u64,
    /// Nothing later counts, ever.
    pub is_last: bool,
}

impl Lease {
    #[inline]
    pub fn covers(&self, stamp_ns: u64) -> bool {
        self.from_ns <= stamp_ns && stamp_ns < self.until_ns
    }
}

impl Span {
    /// A span for so many `readers`. It lasts for `limits.duration`, or until each of them has counted
    /// `limits.packets`, those among them that its ring lost, or until [`end`](Self::end).
    ///
    /// # Errors
    /// What pipe2(2) says.
    pub fn new(readers: usize, limits: Limits) -> io::Result<Self> {
        let state = State {
            awaited: readers,
            unfinished: readers,
            begin: None,
            end_ns: u64::MAX,
            leased_ns: 0,
        };
        Ok(Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                has_begun: Condvar::new(),
                over: Stop::new()?,
                limits,
            }),
        })
    }

    /// The place of one reader; there are to be as many as it was made for.
    pub fn seat(&self) -> Seat {
        Seat::new(self.clone(), self.shared.limits.packets)
    }

    /// What the readers are to be ended by, and by nothing else: it comes when the span is over.
    pub fn stop(&self) -> &Stop {
        &self.shared.over
    }

    /// Waits until every reader runs or has ended: the moment from which packets count, nanoseconds of
    /// `CLOCK_REALTIME`.
    pub fn begun(&self) -> u64 {
        let mut state = self.state();
        loop {
            if let Some(begin) = state.begin {
                return begin.realtime_ns;
            }
            let waited = self.shared.has_begun.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until it is over, or `stop` ends it. Then the readers are told to end.
    ///
    /// # Errors
    /// What poll(2) says; the readers are told to end then, too.
    pub fn wait(&self, stop: &Stop) -> io::Result<()> {
        self.begun();
        let begin_ns = self.state().begin.map_or(0, |begin| begin.monotonic_ns);
        let end_ns = begin_ns.saturating_add(self.duration_ns());
        let waited = wait_until(end_ns, &[stop, self.stop()]);
        self.end();
        waited
    }

    /// Ends it now, or some milliseconds from now where readers have gone on without asking; then tells
    /// them to end. Ending it again changes nothing.
    pub fn end(&self) {
        let end_ns = {
            let mut state = self.state();
            let now_ns = realtime_ns();
            state.end_ns = state.end_ns.min(now_ns.max(state.leased_ns));
            state.end_ns
        };
        // Rings that were closed before would lack what others have.
        let left_ns = end_ns.saturating_sub(realtime_ns()).min(LEASE_NS);
        // When that fails, all of them end at once.
        let _ = wait_until(monotonic_ns().saturating_add(left_ns), &[]);
        self.stop().stopper().stop();
    }

    /// How long it was: 0 while it has not ended.
    pub fn duration(&self) -> Duration {
        let state = self.state();
        match state.begin {
            Some(begin) if state.end_ns != u64::MAX => {
                Duration::from_nanos(state.end_ns.saturating_sub(begin.realtime_ns))
            }
            _ => Duration::ZERO,
        }
    }

    /// A reader runs and has caught up. The last one is waited for, and begins the span.
    pub(super) fn arrive(&self) {
        let mut state = self.state();
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 && state.begin.is_none() {
            // Whoever asked before, about a packet that had its stamp by then, was told to pass it over;
            // whoever asks after this is told of the moment. So it divides the packets of all alike.
            let begin = Moment {
                realtime_ns: realtime_ns(),
                monotonic_ns: monotonic_ns(),
            };
            let duration_ns = self.duration_ns();
            state.begin = Some(begin);
            state.end_ns = (state.end_ns).min(begin.realtime_ns.saturating_add(duration_ns));
            self.shared.has_begun.notify_all();
        }
    }

    /// A reader has had all packets that are wanted, or has ended.
    pub(super) fn finish(&self) {
        let mut state = self.state();
        state.unfinished = state.unfinished.saturating_sub(1);
        if state.unfinished == 0 {
            self.stop().stopper().stop();
        }
    }

    /// What may be counted for now; `None` while it has not begun.
    pub(super) fn lease(&self) -> Option<Lease> {
        let mut state = self.state();
        let from_ns = state.begin?.realtime_ns;
        let until_ns = state.end_ns.min(realtime_ns().saturating_add(LEASE_NS));
        state.leased_ns = state.leased_ns.max(until_ns);
        Some(Lease {
            from_ns,
            until_ns,
            is_last: until_ns == state.end_ns,
        })
    }

    fn duration_ns(&self) -> u64 {
        let duration = self.shared.limits.duration;
        duration.map_or(u64::MAX, |time| {
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
        })
    }

    /// Nothing that panics is done with the lock held.
    fn state(&self) -> MutexGuard<'_, State> {
        let locked = self.shared.state.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until this moment of the monotonic clock, or until one of `stops` is asked for.
fn wait_until(end_ns: u64, stops: &[&Stop]) -> io::Result<()> {
    let mut descriptors: Vec<_> = (stops.iter())
        .map(|stop| PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN))
        .collect();
    loop {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        let timeout = Timespec::try_from(Duration::from_nanos(left_ns)).ok();
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(0) if left_ns > 0 => {}
            Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}
