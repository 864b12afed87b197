//! Sleeping until there is work.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::lane::Lane;
use super::wish::Wish;
use crate::stop::Stop;

/// Marks the stop among the events, which otherwise name a lane.
const STOP: u64 = u64::MAX;

/// Marks a wish among them, which ends a sleep and is taken elsewhere.
const WISH: u64 = u64::MAX - 1;

/// Events fetched at once.
const EVENTS: usize = 16;

/// Time between two looks at how full the rings are while packets gather in them.
pub(super) const GATHER_NS: u64 = 1_000_000;

/// Time between two looks at whether they are broken meanwhile.
const BROKEN_NS: u64 = 100_000_000;

/// What a sleep ended with, beside packets and time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Woken {
    /// The stop was asked for.
    Stopped,
    /// The ring of the lane at this place is broken: its interface went down or away.
    Broken(usize),
}

/// Waits for the rings of a capture and for its stop.
pub(super) struct Waiter {
    epoll: OwnedFd,
}

impl Waiter {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    /// Waits for the ring of the lane at place `number`, too.
    pub fn add(&self, number: usize, lane: &Lane) -> io::Result<()> {
        let data = EventData::new_u64(number as u64);
        let source = lane.source.as_fd();
        Ok(epoll::add(&self.epoll, source, data, EventFlags::IN)?)
    }

    /// Waits for that ring no longer. Its descriptor may have others beside it, so that closing it would not
    /// do.
    pub fn remove(&self, lane: &Lane) {
        // It is there since it was added.
        let _ = epoll::delete(&self.epoll, lane.source.as_fd());
    }

    /// Ends a sleep for `wish`, too.
    pub fn add_wish(&self, wish: &Wish) -> io::Result<()> {
        let data = EventData::new_u64(WISH);
        Ok(epoll::add(&self.epoll, wish, data, EventFlags::IN)?)
    }

    /// Waits for `stop`, too.
    pub fn add_stop(&self, stop: &Stop) -> io::Result<()> {
        let data = EventData::new_u64(STOP);
        Ok(epoll::add(&self.epoll, stop, data, EventFlags::IN)?)
    }

    /// Waits for `stop` no longer: once asked for it would end every wait at once.
    pub fn remove_stop(&self, stop: &Stop) {
        // It has not been added if adding it failed.
        let _ = epoll::delete(&self.epoll, stop);
    }

    /// Sleeps until a ring has work, but `timeout_ns` at most.
    pub fn wait(&self, timeout_ns: u64, lanes: &[Lane]) -> io::Result<Option<Woken>> {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        let timeout = timespec(timeout_ns);
        let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((ready, _)) => ready,
            // A signal that somebody else handles is no reason to end.
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for event in ready {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == STOP {
                return Ok(Some(Woken::Stopped));
            }
            let Some(lane) = lanes.get(data as usize) else {
                continue;
            };
            if flags.intersects(EventFlags::ERR | EventFlags::HUP)
                && lane.source.take_error().is_err()
            {
                return Ok(Some(Woken::Broken(data as usize)));
            }
        }
        Ok(None)
    }
}

/// Lets packets gather until `until_ns` on the monotonic clock, until those of a ring take `bytes` of it,
/// or until a ring fills. Ends early for a `wish`, and for `stop` or a ring that is broken, of which it says so.
///
/// Between two looks at the rings lies `look_ns`. The end is a moment, not a time, so that a sleep that ends
/// late makes no other late. poll(2) takes a time all the same: the kernel adds it to its clock some hundred
/// nanoseconds after this one was read, while a timer that is set to a moment (timerfd_settime(2)) would cost
/// one more system call for each sleep.
pub(super) fn gather(
    lanes: &[Lane],
    stop: &Stop,
    wish: &Wish,
    until_ns: u64,
    bytes: usize,
    look_ns: u64,
) -> io::Result<Option<Woken>> {
    let is_enough = |lane: &Lane| lane.source.holds(bytes) || lane.source.is_filling();
    let mut looked_ns = monotonic_ns();
    while !lanes.iter().any(is_enough) && !wish.is_there() {
        let now_ns = monotonic_ns();
        if now_ns - looked_ns > BROKEN_NS {
            looked_ns = now_ns;
            let broken = |lane: &Lane| lane.source.take_error().is_err();
            if let Some(number) = lanes.iter().position(broken) {
                return Ok(Some(Woken::Broken(number)));
            }
        }
        let left_ns = until_ns.saturating_sub(now_ns);
        let timeout = timespec(left_ns.min(look_ns));
        match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&timeout)) {
            Ok(0) if left_ns > look_ns => {}
            Ok(0) | Err(Errno::INTR) => break,
            Ok(_) => return Ok(Some(Woken::Stopped)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Looks at the rings over and over, until one has a packet or `until_ns` on the monotonic clock; runs the
/// drivers meanwhile, where that is the reader's task.
pub(super) fn spin(lanes: &[Lane], until_ns: u64) {
    let has_packet = |lane: &Lane| {
        lane.source.drive();
        lane.source.holds(1)
    };
    while !lanes.iter().any(has_packet) && monotonic_ns() < until_ns {
        std::hint::spin_loop();
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}
