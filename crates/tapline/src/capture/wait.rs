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
use crate::stop::Stop;

/// Marks the stop among the events, which otherwise name a lane.
const STOP: u64 = u64::MAX;

/// Events fetched at once.
const EVENTS: usize = 16;

/// Time between two looks at how full the rings are while packets gather in them.
const GATHER_NS: u64 = 1_000_000;

/// What a sleep ended with, beside packets and time.
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

/// Lets packets gather where the rings themselves do not, until `until_ns` on the monotonic clock or
/// until a ring fills. Ends early for `stop`.
pub(super) fn gather(lanes: &[Lane], stop: &Stop, until_ns: u64) -> io::Result<()> {
    let is_filling = |lane: &Lane| lane.source.wakes_early() && lane.source.is_filling();
    if !lanes.iter().any(|lane| lane.source.wakes_early()) {
        return Ok(());
    }
    while !lanes.iter().any(is_filling) {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        let timeout = timespec(left_ns.min(GATHER_NS));
        match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&timeout)) {
            Ok(0) if left_ns > GATHER_NS => {}
            Ok(_) | Err(Errno::INTR) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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
