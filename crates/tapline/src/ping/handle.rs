//! The handle of an open run.

use std::collections::VecDeque;
use std::collections::vec_deque::Drain;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use probe::Prober;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::backends::AnyEngine;
use super::changes::TargetControl;
use super::engine::EngineState;
use super::error::{PingError, PingOperation, during};
use super::event::PingEvent;
use super::options::{Backend, nanoseconds};
use super::summary::{Ended, PingSummary};
use crate::send::SendPath;
use crate::stop::{Stop, Stopper};

/// An open run: sends probes, receives replies, and counts everything.
///
/// Use one of three interfaces: [`Ping::next`], [`Ping::run`], or in an event loop [`Ping::next_batch`] with a timeout
/// of zero whenever the descriptor is readable. `Send`, not `Sync`.
#[derive(Debug)]
pub struct Ping {
    engine: AnyEngine,
    stop: Stop,
    max_wait: Duration,
    /// Events that were not returned yet: those of one call of the engine.
    events: VecDeque<PingEvent>,
    ended: Option<Ended>,
}

impl Ping {
    pub(super) fn new(
        engine: AnyEngine,
        stop: Stop,
        max_wait: Duration,
    ) -> Result<Self, PingError> {
        engine.wake_on(&stop).map_err(during(PingOperation::Wait))?;
        Ok(Self {
            engine,
            stop,
            max_wait,
            events: VecDeque::new(),
            ended: None,
        })
    }

    /// Returns the next event, or `None` when the run is over. Blocks until there is one.
    ///
    /// # Errors
    /// [`PingError::Kernel`] if waiting fails; [`PingError::Removed`]; [`PingError::LinkDown`].
    #[expect(clippy::should_implement_trait, reason = "it returns errors")]
    pub fn next(&mut self) -> Result<Option<PingEvent>, PingError> {
        while self.events.is_empty() && self.ended.is_none() {
            self.advance(None)?;
        }
        Ok(self.events.pop_front())
    }

    /// Returns all events up to now, or waits up to `timeout` for some. Without events in that time the batch is empty.
    /// Returns `None` when the run is over.
    ///
    /// # Errors
    /// [`PingError::Kernel`] if waiting fails; [`PingError::Removed`]; [`PingError::LinkDown`].
    pub fn next_batch(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<Drain<'_, PingEvent>>, PingError> {
        let start = Instant::now();
        loop {
            if self.ended.is_none() {
                self.advance(Some(timeout.saturating_sub(start.elapsed())))?;
            }
            if self.events.is_empty() && self.ended.is_some() {
                return Ok(None);
            }
            if !self.events.is_empty() || start.elapsed() >= timeout {
                return Ok(Some(self.events.drain(..)));
            }
        }
    }

    /// Runs to the end, and passes each event to `observe` with the statistics so far. Blocks; sleeps while nothing is
    /// due.
    ///
    /// # Errors
    /// [`PingError::Kernel`] if waiting fails; [`PingError::Removed`]; [`PingError::LinkDown`].
    pub fn run(&mut self, mut observe: impl FnMut(&PingEvent, &Prober)) -> Result<(), PingError> {
        for event in self.events.drain(..) {
            observe(&event, self.engine.prober());
        }
        if self.ended.is_some() {
            return Ok(());
        }
        self.start_name_watch()?;
        let max_wait_ns = nanoseconds(self.max_wait);
        let mut by_value = |event: PingEvent, prober: &Prober| observe(&event, prober);
        let ended = self.engine.run(&mut by_value, &self.stop, max_wait_ns);
        self.ended = Some(*ended.as_ref().unwrap_or(&Ended::Failed));
        ended.map_err(failure)?;
        Ok(())
    }

    /// Counters and round-trip times so far, of each target and of all.
    pub fn statistics(&self) -> &Prober {
        self.engine.prober()
    }

    /// The back end in use.
    pub fn backend(&self) -> Backend {
        self.engine.backend()
    }

    /// How requests leave; only of [`Backend::Xdp`].
    pub fn send_path(&self) -> Option<SendPath> {
        self.engine.send_path()
    }

    /// A handle that adds and removes targets of this run, from any thread.
    pub fn control(&self) -> TargetControl {
        self.engine.control()
    }

    /// A handle that stops this run from any thread or signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Stops sending, as [`PingOptions::duration`](super::PingOptions::duration) does. The run is over when all probes in
    /// flight are answered or lost. Probes that wait for a limit are not sent.
    ///
    /// # Errors
    /// [`PingError::Kernel`] if the timer cannot be set.
    pub fn end_sending(&mut self) -> Result<(), PingError> {
        let ended = self.engine.end_sending();
        ended.map_err(during(PingOperation::Wait))
    }

    /// Closes the sockets and returns the account of the run. Without a previous end this stops the run.
    ///
    /// # Errors
    /// None at present: errors of waiting are returned by [`Ping::next`] and [`Ping::run`].
    pub fn finish(self) -> Result<PingSummary, PingError> {
        let ended = self.ended.unwrap_or_else(|| self.engine.ended());
        Ok(self.engine.into_summary(ended))
    }

    /// Waits until something is due, up to `timeout`, and does it.
    fn advance(&mut self, timeout: Option<Duration>) -> Result<(), PingError> {
        self.start_name_watch()?;
        let result = self.wait(timeout).and_then(|is_stopped| {
            let events = &mut self.events;
            let mut observe = |event, _: &Prober| events.push_back(event);
            if is_stopped {
                self.engine.receive(&mut observe);
                return Ok(Some(Ended::Stopped));
            }
            Ok(match self.engine.on_readable(&mut observe)? {
                EngineState::Running => None,
                EngineState::Done => Some(self.engine.ended()),
            })
        });
        match result {
            Ok(ended) => self.ended = ended,
            Err(_) => self.ended = Some(Ended::Failed),
        }
        result.map(|_| ()).map_err(failure)
    }

    /// Not when the run is opened: until then the caller may give up privileges, and the thread has those of the caller.
    fn start_name_watch(&mut self) -> Result<(), PingError> {
        let started = self.engine.start_name_watch();
        started.map_err(during(PingOperation::StartNameWatch))
    }

    /// Waits until the engine has work. Returns whether the run was stopped.
    fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut descriptors = [readable(self.stop.as_fd()), readable(self.engine.as_fd())];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(!descriptors[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why a run cannot go on. Only the XDP back end notices that its interface is gone or down.
fn failure(error: io::Error) -> PingError {
    match error.raw_os_error() {
        Some(errno) if errno == Errno::NODEV.raw_os_error() => PingError::Removed,
        Some(errno) if errno == Errno::NETDOWN.raw_os_error() => PingError::LinkDown,
        _ => during(PingOperation::Wait)(error),
    }
}

/// Readable when there is something to do: call [`Ping::next_batch`].
impl AsFd for Ping {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.engine.as_fd()
    }
}
