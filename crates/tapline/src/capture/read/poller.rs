//! Sleeping until there is work: epoll over the rings, the stop, the time limit and pending changes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::queue::RxQueue;
use crate::stop::Stop;
use crate::timer::Timer;

/// Identifies the stop among the events. Other events carry the number of a queue.
const STOP: u64 = u64::MAX;

/// Identifies a descriptor that only ends a sleep.
const WAKE: u64 = u64::MAX - 1;

/// Events fetched at once.
const EVENTS: usize = 16;

/// Interval at which the fill level of the rings is checked while packets gather.
pub const GATHER_NS: u64 = 1_000_000;

/// Interval at which the sockets' errors are checked meanwhile.
const ERRORS_NS: u64 = 100_000_000;

/// Why a sleep ended, other than packets or time.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup {
    /// The stop was requested.
    Stopped,
    /// The ring of this queue has an error: its interface went down or away.
    Broken(usize),
}

/// Waits for the rings of a capture and for its stop.
pub struct Poller {
    epoll: OwnedFd,
    /// Expires at the time limit, for those who wait for the descriptor.
    limit: Option<Timer>,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, limit: None })
    }

    /// Adds the ring of queue `number`.
    pub fn add(&self, number: usize, queue: &RxQueue) -> io::Result<()> {
        let data = EventData::new_u64(number as u64);
        let ring = queue.ring().as_fd();
        Ok(epoll::add(&self.epoll, ring, data, EventFlags::IN)?)
    }

    /// Removes the ring of `queue`. Closing its descriptor would not do that where duplicates exist.
    pub fn remove(&self, queue: &RxQueue) {
        // It has been added.
        let _ = epoll::delete(&self.epoll, queue.ring().as_fd());
    }

    /// Adds a descriptor that ends a sleep.
    pub fn add_wake(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let data = EventData::new_u64(WAKE);
        Ok(epoll::add(&self.epoll, descriptor, data, EventFlags::IN)?)
    }

    /// Adds `stop`.
    pub fn add_stop(&self, stop: &Stop) -> io::Result<()> {
        let data = EventData::new_u64(STOP);
        Ok(epoll::add(&self.epoll, stop, data, EventFlags::IN)?)
    }

    /// Makes the descriptor readable from `at_ns` (`CLOCK_MONOTONIC`) on. The timer wakes nobody before.
    pub fn add_limit(&mut self, at_ns: u64) -> io::Result<()> {
        let timer = Timer::new()?;
        timer.set(at_ns)?;
        self.add_wake(timer.as_fd())?;
        self.limit = Some(timer);
        Ok(())
    }

    /// Removes the time limit, which would end every sleep at once after it.
    pub fn remove_limit(&mut self) {
        if let Some(timer) = self.limit.take() {
            // It has been added.
            let _ = epoll::delete(&self.epoll, &timer);
        }
    }

    /// Makes the descriptor readable for good.
    pub fn end(&self, stop: &Stop) {
        let data = EventData::new_u64(WAKE);
        // The end of a pipe that nobody fills can always be written to. It has been added if this fails.
        let _ = epoll::add(&self.epoll, stop.stopper(), data, EventFlags::OUT);
    }

    /// Removes `stop`, which would end every sleep at once after its request.
    pub fn remove_stop(&self, stop: &Stop) {
        // It is absent if adding it failed.
        let _ = epoll::delete(&self.epoll, stop);
    }

    /// Sleeps until a ring has work, but at most `timeout_ns`.
    pub fn wait(&self, timeout_ns: u64, queues: &[RxQueue]) -> io::Result<Option<Wakeup>> {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        let timeout = timespec(timeout_ns);
        let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((ready, _)) => ready,
            // A signal that the process handles is no reason to end.
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for event in ready {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == STOP {
                return Ok(Some(Wakeup::Stopped));
            }
            let Some(queue) = queues.get(data as usize) else {
                continue;
            };
            if flags.intersects(EventFlags::ERR | EventFlags::HUP)
                && queue.ring().take_error().is_err()
            {
                return Ok(Some(Wakeup::Broken(data as usize)));
            }
        }
        Ok(None)
    }
}

/// The epoll descriptor: readable when there is work.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// What ends a sleep early.
pub struct Interrupts<'s, F> {
    pub stop: &'s Stop,
    /// Whether a configuration change is pending.
    pub is_pending: F,
    /// Readable while one is.
    pub pending: BorrowedFd<'s>,
}

/// Lets packets gather until `until_ns` (`CLOCK_MONOTONIC`), until those of a ring take `bytes` of it, or
/// until a ring fills. Ends early for `interrupts` and for a ring with an error.
///
/// The rings are checked after the time that `check_ns` returns for the present one. The end is a time of the clock, so that a sleep that ends late
/// delays no other. poll(2) takes a duration all the same: the kernel adds it to its clock some hundred
/// nanoseconds after this one was read, while an absolute timer (timerfd_settime(2)) would cost another
/// system call per sleep.
pub fn gather(
    queues: &[RxQueue],
    interrupts: &Interrupts<'_, impl Fn() -> bool>,
    until_ns: u64,
    bytes: usize,
    mut check_ns: impl FnMut(u64) -> u64,
) -> io::Result<Option<Wakeup>> {
    let is_enough = |queue: &RxQueue| queue.ring().holds(bytes) || queue.ring().is_filling();
    let mut checked_ns = monotonic_ns();
    while !queues.iter().any(is_enough) && !(interrupts.is_pending)() {
        let now_ns = monotonic_ns();
        if now_ns - checked_ns > ERRORS_NS {
            checked_ns = now_ns;
            let has_error = |queue: &RxQueue| queue.ring().take_error().is_err();
            if let Some(number) = queues.iter().position(has_error) {
                return Ok(Some(Wakeup::Broken(number)));
            }
        }
        let left_ns = until_ns.saturating_sub(now_ns);
        let check_ns = check_ns(now_ns);
        let timeout = timespec(left_ns.min(check_ns));
        let mut polled = [
            PollFd::new(interrupts.stop, PollFlags::IN),
            PollFd::from_borrowed_fd(interrupts.pending, PollFlags::IN),
        ];
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) if left_ns > check_ns => {}
            Ok(0) | Err(Errno::INTR) => break,
            Ok(_) if polled[0].revents().is_empty() => {}
            Ok(_) => return Ok(Some(Wakeup::Stopped)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Looks at the rings until one has a packet or until `until_ns` (`CLOCK_MONOTONIC`). Runs the drivers
/// meanwhile, where the rings busy-poll.
pub fn spin(queues: &[RxQueue], until_ns: u64) {
    let has_packet = |queue: &RxQueue| {
        let ring = queue.ring();
        ring.drive();
        ring.holds(1)
    };
    while !queues.iter().any(has_packet) && monotonic_ns() < until_ns {
        std::hint::spin_loop();
    }
}

pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}
