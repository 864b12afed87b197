//! Waiting for the end of an interval, or of the count.

use std::io;
use std::time::Duration;

use abi::clock::monotonic_ns;
use netlink::{Event as LinkEvent, IfIndex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::error::CountError;
use super::interval::Interval;
use super::job::Count;
use super::links::{CountedLink, LinkState};
use super::outcome::Ended;
use crate::stop::Stop;

/// Changes of links looked at before the clock is looked at again: more than wait in a socket.
const EVENTS: usize = 1 << 16;

/// What [`Count::next`] waited for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// An interval is over.
    Interval(Interval),
    /// An interface that was up is not, or the other way round; the count goes on.
    Link(CountedLink),
    /// The count is over.
    Ended {
        /// What ended it.
        ended: Ended,
        /// What was counted since the interval before; `None` where it could not be read.
        last: Option<Interval>,
    },
}

/// When intervals and the count end, nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "units come last")]
pub(super) struct Schedule {
    pub start_ns: u64,
    interval_ns: u64,
    next_ns: u64,
    end_ns: u64,
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

    /// The next interval ends at the first moment of the grid that is still to come.
    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.start_ns) / self.interval_ns;
        let next = self.interval_ns.saturating_mul(passed.saturating_add(1));
        self.next_ns = self.start_ns.saturating_add(next);
    }

    fn left(&self, now_ns: u64) -> Timespec {
        let ns = self.next_ns.min(self.end_ns).saturating_sub(now_ns);
        Timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        }
    }
}

impl Count {
    /// Sleeps until the next interval is over, or the count, or an interface goes down or comes up; one
    /// that is not up to begin with is told first.
    ///
    /// An interval that comes late, because the caller did, is longer: none is left out and none
    /// doubled. An interface that goes down counts nothing and ends nothing.
    pub fn next(&mut self, stop: &Stop) -> Event {
        loop {
            match self.news() {
                Some(News::Removed(link)) => return self.end(Ended::LinkRemoved { link }),
                Some(News::Changed(link)) => return Event::Link(link),
                None => {}
            }
            match self.wait(stop) {
                Ok(Some(ended)) => return self.end(ended),
                Ok(None) => {}
                Err(error) => return self.end(Ended::Wait(error)),
            }
            let now_ns = monotonic_ns();
            if now_ns >= self.schedule.end_ns {
                return self.end(Ended::Duration);
            }
            if now_ns >= self.schedule.next_ns {
                self.schedule.advance(now_ns);
                return match self.interval() {
                    Ok(interval) => Event::Interval(interval),
                    Err(error) => unreadable(error),
                };
            }
        }
    }

    fn end(&mut self, ended: Ended) -> Event {
        match self.interval() {
            Ok(interval) => Event::Ended {
                ended,
                last: Some(interval),
            },
            Err(error) => unreadable(error),
        }
    }

    /// Sleeps until something is due; says so if the count is to end.
    fn wait(&mut self, stop: &Stop) -> io::Result<Option<Ended>> {
        let left = self.schedule.left(monotonic_ns());
        let mut fds = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(&self.watch, PollFlags::IN),
        ];
        match poll(&mut fds, Some(&left)) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let stopped = !fds[0].revents().is_empty();
        Ok(stopped.then_some(Ended::Stopped))
    }

    /// Whether an interface that went down did so because it is removed. The kernel tells of the one and
    /// then of the other under a lock (`rtnl_mutex`) that this question waits for: when it is answered
    /// the removal can be read.
    ///
    /// # Source
    /// `unregister_netdevice_many_notify`, net/core/dev.c; `rtnl_getlink`, net/core/rtnetlink.c.
    fn is_leaving(&mut self, index: IfIndex) -> bool {
        const ENODEV: i32 = 19;
        let answer = self.netlink.link(index);
        answer.is_err_and(|error| error.errno() == Some(ENODEV))
    }

    /// What happened to one of the interfaces.
    fn news(&mut self) -> Option<News> {
        for _ in 0..EVENTS {
            // A notification that cannot be read is passed over; if it was the one, what is known
            // of the links is brought up to date by the next one.
            let Ok(event) = self.watch.next_event() else {
                continue;
            };
            match event? {
                LinkEvent::Removed(link) => {
                    let mut places = self.places();
                    if let Some(place) = places.find(|place| place.index == link.ifindex().0) {
                        return Some(News::Removed(place.link.clone()));
                    }
                }
                LinkEvent::Added(link) | LinkEvent::Changed { after: link, .. } => {
                    let state = LinkState::of(&link);
                    let number = self.links.iter().position(|watched| watched.is_news(&link));
                    if let Some(number) = number
                        && !(state == LinkState::Down && self.is_leaving(link.ifindex()))
                    {
                        return Some(News::Changed(self.links[number].note(state)));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// What happened to an interface.
enum News {
    /// It is gone; this was its name.
    Removed(String),
    Changed(CountedLink),
}

fn unreadable(error: CountError) -> Event {
    let source = match error {
        CountError::Read { source } => source,
        other => io::Error::other(other),
    };
    Event::Ended {
        ended: Ended::Read(source),
        last: None,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
