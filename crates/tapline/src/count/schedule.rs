//! When intervals and the count end, and the descriptor that wakes at these times.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// When intervals and the count end, nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "units come last")]
pub(super) struct Schedule {
    pub start_ns: u64,
    interval_ns: u64,
    pub next_ns: u64,
    pub end_ns: u64,
}

impl Schedule {
    pub fn new(start_ns: u64, interval: Duration, duration: Option<Duration>) -> Self {
        let interval_ns = nanoseconds(interval).max(1);
        let duration_ns = duration.map_or(u64::MAX, nanoseconds);
        Self {
            start_ns,
            interval_ns,
            next_ns: start_ns.saturating_add(interval_ns),
            end_ns: start_ns.saturating_add(duration_ns),
        }
    }

    /// Moves the end of the interval to the next multiple of the interval after `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.start_ns) / self.interval_ns;
        let next = self.interval_ns.saturating_mul(passed.saturating_add(1));
        self.next_ns = self.start_ns.saturating_add(next);
    }

    /// The earlier of the two ends.
    pub fn due_ns(&self) -> u64 {
        self.next_ns.min(self.end_ns)
    }
}

/// An epoll descriptor that is readable when a timer has expired or one of `sources` is readable.
#[derive(Debug)]
pub(super) struct WakeUp {
    epoll: OwnedFd,
    timer: OwnedFd,
}

impl WakeUp {
    pub fn new(sources: &[BorrowedFd<'_>]) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        for source in sources.iter().copied().chain([timer.as_fd()]) {
            epoll::add(&epoll, source, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(Self { epoll, timer })
    }

    /// Arms the timer for a time of `CLOCK_MONOTONIC`.
    pub fn arm(&self, due_ns: u64) -> io::Result<()> {
        let timer = Itimerspec {
            it_interval: timespec(0),
            // 0 would disarm it.
            it_value: timespec(due_ns.max(1)),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)?;
        Ok(())
    }

    /// Sleeps until the descriptor is readable or the timeout is over.
    pub fn wait(&self, timeout_ns: Option<u64>) -> io::Result<()> {
        let timeout = timeout_ns.map(timespec);
        match poll(
            &mut [PollFd::new(&self.epoll, PollFlags::IN)],
            timeout.as_ref(),
        ) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for WakeUp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Whether `source` is readable now.
pub(super) fn is_readable(source: &impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(source, PollFlags::IN)];
    match poll(&mut fds, Some(&timespec(0))) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
