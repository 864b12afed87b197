//! The period in which packets are measured, the same for several readers.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use abi::process::{ThreadUsage, thread_usage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::capture::Limits;
use crate::stop::Stop;

/// Interval at which a reader checks whether the end of the window is known, nanoseconds.
const BOUNDS_NS: u64 = 10_000_000;

/// The period in which packets are measured, by their time stamps.
///
/// It starts when all readers run and have read their backlog. It ends before the first ring is closed. So all
/// readers measure the same packets, each once. Clones share one window.
#[derive(Clone, Debug)]
pub struct MeasurementWindow {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    has_started: Condvar,
    /// Stops the readers.
    readers: Stop,
    limits: Limits,
}

#[derive(Debug)]
struct State {
    /// Readers that have not read their backlog yet.
    starting: usize,
    /// Readers that have not reached the packet limit.
    unfinished: usize,
    start: Option<ClockPair>,
    /// `u64::MAX` while the end is unknown.
    end_ns: u64,
    /// Some reader was promised that the window does not end before this moment.
    promised_ns: u64,
}

/// A point in time on two clocks.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    realtime_ns: u64,
    monotonic_ns: u64,
}

/// The part of the window that a reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// The start of the window.
    from_ns: u64,
    /// From this time stamp on, the reader must check the bounds again.
    until_ns: u64,
    /// `until_ns` is the end of the window.
    is_final: bool,
}

impl Bounds {
    /// Before the window starts.
    const NOTHING: Self = Self {
        from_ns: u64::MAX,
        until_ns: 0,
        is_final: false,
    };

    #[inline]
    fn contains(&self, time_ns: u64) -> bool {
        self.from_ns <= time_ns && time_ns < self.until_ns
    }
}

impl MeasurementWindow {
    /// A window for `readers` readers. It lasts for `limits.duration`, or until each reader has measured
    /// `limits.packets`, including those its ring lost, or until [`end`](Self::end).
    ///
    /// # Errors
    /// Those of pipe2(2).
    pub fn new(readers: usize, limits: Limits) -> io::Result<Self> {
        let state = State {
            starting: readers,
            unfinished: readers,
            start: None,
            end_ns: u64::MAX,
            promised_ns: 0,
        };
        Ok(Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                has_started: Condvar::new(),
                readers: Stop::new()?,
                limits,
            }),
        })
    }

    /// Creates one of the readers announced to [`new`](Self::new).
    pub fn reader(&self) -> WindowReader {
        WindowReader {
            window: self.clone(),
            first_read_ns: None,
            has_read_backlog: false,
            left: self.shared.limits.packets.unwrap_or(u64::MAX),
            has_finished: false,
            bounds: Bounds::NOTHING,
            usage_at_start: None,
            usage_at_end: None,
        }
    }

    /// Must end the readers, and nothing else may. Readable once the window has ended.
    pub fn stop(&self) -> &Stop {
        &self.shared.readers
    }

    /// Waits for the start of the window and returns it, in nanoseconds of `CLOCK_REALTIME`.
    pub fn wait_for_start(&self) -> u64 {
        let mut state = self.state();
        loop {
            if let Some(start) = state.start {
                return start.realtime_ns;
            }
            let waited = self.shared.has_started.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the window ends or `stop` is readable. Then stops the readers.
    ///
    /// # Errors
    /// Those of poll(2); the readers are stopped then, too.
    pub fn wait_for_end(&self, stop: &Stop) -> io::Result<()> {
        self.wait_for_start();
        let start_ns = self.state().start.map_or(0, |start| start.monotonic_ns);
        let end_ns = start_ns.saturating_add(self.duration_ns());
        let waited = wait_until(end_ns, &[stop, self.stop()]);
        self.end();
        waited
    }

    /// Ends the window now, or up to 10 ms from now if readers were promised that, and stops the readers. Later
    /// calls change nothing.
    pub fn end(&self) {
        let end_ns = {
            let mut state = self.state();
            let now_ns = realtime_ns();
            state.end_ns = state.end_ns.min(now_ns.max(state.promised_ns));
            state.end_ns
        };
        // A ring that is closed earlier would lack packets that the others have.
        let left_ns = end_ns.saturating_sub(realtime_ns()).min(BOUNDS_NS);
        // If waiting fails, the readers stop at once.
        let _ = wait_until(monotonic_ns().saturating_add(left_ns), &[]);
        self.stop().stopper().stop();
    }

    /// The length of the window; 0 before it has ended.
    pub fn duration(&self) -> Duration {
        let state = self.state();
        match state.start {
            Some(start) if state.end_ns != u64::MAX => {
                Duration::from_nanos(state.end_ns.saturating_sub(start.realtime_ns))
            }
            _ => Duration::ZERO,
        }
    }

    /// A reader has read its backlog. The last one starts the window.
    fn reader_is_ready(&self) {
        let mut state = self.state();
        state.starting = state.starting.saturating_sub(1);
        if state.starting == 0 && state.start.is_none() {
            // Readers that asked earlier skipped their packet, which was stamped before this moment. Readers that
            // ask later see this moment. So it divides the packets of all readers alike.
            let start = ClockPair {
                realtime_ns: realtime_ns(),
                monotonic_ns: monotonic_ns(),
            };
            let duration_ns = self.duration_ns();
            state.start = Some(start);
            state.end_ns = (state.end_ns).min(start.realtime_ns.saturating_add(duration_ns));
            self.shared.has_started.notify_all();
        }
    }

    /// A reader has reached the packet limit, or has ended.
    fn reader_has_finished(&self) {
        let mut state = self.state();
        state.unfinished = state.unfinished.saturating_sub(1);
        if state.unfinished == 0 {
            self.stop().stopper().stop();
        }
    }

    /// The bounds as known now; `None` before the start.
    fn bounds(&self) -> Option<Bounds> {
        let mut state = self.state();
        let from_ns = state.start?.realtime_ns;
        let until_ns = state.end_ns.min(realtime_ns().saturating_add(BOUNDS_NS));
        state.promised_ns = state.promised_ns.max(until_ns);
        Some(Bounds {
            from_ns,
            until_ns,
            is_final: until_ns == state.end_ns,
        })
    }

    fn duration_ns(&self) -> u64 {
        let duration = self.shared.limits.duration;
        duration.map_or(u64::MAX, |time| {
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
        })
    }

    /// No code panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        let locked = self.shared.state.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader of a [`MeasurementWindow`]: decides which of its packets are measured. Dropping it ends the reader.
#[derive(Debug)]
pub struct WindowReader {
    window: MeasurementWindow,
    /// When it read its first packet. `None` if its ring was empty before.
    first_read_ns: Option<u64>,
    has_read_backlog: bool,
    /// Packets left to the packet limit.
    left: u64,
    has_finished: bool,
    bounds: Bounds,
    /// CPU time and sleeps of its thread.
    usage_at_start: Option<ThreadUsage>,
    usage_at_end: Option<ThreadUsage>,
}

impl WindowReader {
    /// Whether a packet with this time stamp is measured. `lost` packets were lost before it.
    #[inline]
    pub(super) fn measures(&mut self, time_ns: u64, lost: u64) -> bool {
        if self.bounds.contains(time_ns) && self.left > lost {
            self.count(lost);
            return true;
        }
        self.measures_with_new_bounds(time_ns, lost)
    }

    #[cold]
    fn measures_with_new_bounds(&mut self, time_ns: u64, lost: u64) -> bool {
        if self.has_finished {
            return false;
        }
        if !self.has_read_backlog {
            let first_read_ns = *self.first_read_ns.get_or_insert_with(realtime_ns);
            if time_ns < first_read_ns {
                return false;
            }
            self.backlog_is_read();
        }
        if time_ns >= self.bounds.until_ns && !self.bounds.is_final {
            self.update_bounds();
        }
        if !self.bounds.contains(time_ns) {
            return false;
        }
        if self.left <= lost {
            self.finish();
            return false;
        }
        self.count(lost);
        true
    }

    #[inline]
    fn count(&mut self, lost: u64) {
        self.left -= lost + 1;
        if self.left == 0 {
            self.finish();
        }
    }

    /// The ring is empty.
    #[inline]
    pub(super) fn is_idle(&mut self) {
        if !self.has_started() {
            // The window may start while this thread sleeps.
            self.usage_at_start = Some(thread_usage());
            self.backlog_is_read();
            self.update_bounds();
        }
    }

    /// Whether this reader knows that the window has started.
    pub(super) fn has_started(&self) -> bool {
        self.bounds != Bounds::NOTHING
    }

    /// Whether a packet that is not measured was stamped after the start.
    pub(super) fn is_after_start(&self, time_ns: u64) -> bool {
        self.has_started() && time_ns >= self.bounds.from_ns
    }

    /// The reader ends.
    pub(super) fn end(&mut self) {
        self.backlog_is_read();
        self.finish();
    }

    /// CPU time and number of sleeps of the thread within the window. Known once the reader has ended.
    pub(super) fn usage(&self) -> (Duration, u64) {
        let difference = |(start, end): (ThreadUsage, ThreadUsage)| {
            let waits = end.waits.saturating_sub(start.waits);
            (end.cpu.saturating_sub(start.cpu), waits)
        };
        self.usage_at_start
            .zip(self.usage_at_end)
            .map_or_else(Default::default, difference)
    }

    fn backlog_is_read(&mut self) {
        if !self.has_read_backlog {
            self.has_read_backlog = true;
            self.window.reader_is_ready();
        }
    }

    fn update_bounds(&mut self) {
        if let Some(bounds) = self.window.bounds() {
            self.usage_at_start.get_or_insert_with(thread_usage);
            self.bounds = bounds;
        }
    }

    #[cold]
    fn finish(&mut self) {
        if !self.has_finished {
            self.has_finished = true;
            self.usage_at_end = Some(thread_usage());
            self.window.reader_has_finished();
        }
    }
}

impl Drop for WindowReader {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until `end_ns` of the monotonic clock, or until one of `stops` is readable.
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
