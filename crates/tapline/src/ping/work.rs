//! The work of a run: send what is due, take what has come.

use std::io;
use std::os::fd::AsFd;

use probe::{Drop, Probe, Step};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

use abi::clock::monotonic_ns;

use super::event::{Event, Observer};
use super::outcome::{Ended, Outcome};
use super::pinger::{Pinger, State};
use crate::stop::Stop;

/// Probes sent in a round at most, and after how many of them answers are looked for.
const MAX_SENDS: u32 = 256;
const SENDS_BETWEEN_LOOKS: u32 = 8;
/// Shorter times are not slept: waking up takes longer.
const SPIN_NS: u64 = 20_000;
/// What a round found.
enum Found {
    /// There may be more to do now.
    More,
    /// Nothing to do before this time, unless answers come.
    Nothing(u64),
    Done,
}

/// What a run sleeps for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Not,
    Timer,
    TimerOrAnswer,
}

impl Pinger {
    /// Does what is due, and tells `observer`. Does not block, and does no more than 256 probes and as
    /// many answers twice over.
    ///
    /// Call it when the descriptor is readable.
    ///
    /// # Errors
    /// The kernel cannot be waited for.
    pub fn on_readable(&mut self, observer: &mut impl Observer) -> io::Result<State> {
        let wake_ns = match self.round(observer) {
            Found::Done => return Ok(State::Done),
            Found::More => 0,
            Found::Nothing(until_ns) => until_ns,
        };
        self.arm(wake_ns)?;
        Ok(State::Running)
    }

    /// Runs until all probes are answered or lost, the duration is over or `stop` is asked for. Blocks;
    /// sleeps while nothing is due.
    pub fn run(mut self, observer: &mut impl Observer, stop: &Stop) -> Outcome {
        loop {
            let sleep = match self.round(observer) {
                Found::Done => return self.finish(),
                Found::More => Sleep::Not,
                Found::Nothing(until_ns) => {
                    let left_ns = until_ns.saturating_sub(self.now_ns());
                    let gathers = left_ns < self.gather_ns;
                    let sleep = match (gathers, left_ns > SPIN_NS) {
                        (true, _) => Sleep::Timer,
                        (false, true) => Sleep::TimerOrAnswer,
                        (false, false) => Sleep::Not,
                    };
                    let wake_ns = if gathers {
                        self.now_ns() + self.gather_ns
                    } else {
                        until_ns
                    };
                    if sleep != Sleep::Not
                        && let Err(error) = self.arm(wake_ns)
                    {
                        return self.into_outcome(Ended::Wait(error));
                    }
                    sleep
                }
            };
            match self.wait(stop, sleep) {
                Ok(false) => {}
                Ok(true) => return self.into_outcome(Ended::Stopped),
                Err(error) => return self.into_outcome(Ended::Wait(error)),
            }
        }
    }

    /// Sleeps as it is said; whether `stop` has been asked for.
    fn wait(&self, stop: &Stop, sleep: Sleep) -> io::Result<bool> {
        let waker = match sleep {
            // Answers can wait: they are stamped already.
            Sleep::Timer => &self.timer,
            Sleep::TimerOrAnswer | Sleep::Not => &self.epoll,
        };
        let mut descriptors = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(waker, PollFlags::IN),
        ];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = (sleep == Sleep::Not).then_some(&at_once);
        match poll(&mut descriptors, timeout) {
            // A signal that somebody else handles is no reason to end.
            Ok(_) | Err(Errno::INTR) => Ok(!descriptors[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the timer for `at_ns` of the run.
    pub(super) fn arm(&mut self, at_ns: u64) -> io::Result<()> {
        // A time of 0 would turn it off.
        let at_ns = self.start_ns.saturating_add(at_ns).max(1);
        let value = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: (at_ns / 1_000_000_000).cast_signed(),
                tv_nsec: (at_ns % 1_000_000_000).cast_signed(),
            },
        };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::ABSTIME, &value)?;
        Ok(())
    }

    fn round(&mut self, observer: &mut impl Observer) -> Found {
        let mut has_taken = false;
        for sent in 1..=MAX_SENDS {
            let now_ns = self.now_ns();
            self.end_what_is_over(now_ns, observer);
            match self.prober.next(now_ns) {
                Step::Send(probe) => {
                    self.send(probe, observer);
                    has_taken = false;
                }
                Step::Wait(until_ns) if has_taken => {
                    let end_ns = if self.is_cut_short {
                        u64::MAX
                    } else {
                        self.duration_ns
                    };
                    return Found::Nothing(until_ns.min(self.next_tick_ns).min(end_ns));
                }
                Step::Wait(_) => {
                    self.take_answers(observer);
                    has_taken = true;
                }
                Step::Done => return Found::Done,
            }
            if sent % SENDS_BETWEEN_LOOKS == 0 {
                self.take_answers(observer);
            }
        }
        Found::More
    }

    /// Ends probes whose time is over, and the sending when its own is.
    fn end_what_is_over(&mut self, now_ns: u64, observer: &mut impl Observer) {
        if now_ns >= self.duration_ns && !self.is_cut_short {
            self.is_cut_short = true;
            self.prober.stop(now_ns);
        }
        if self.prober.is_expiry_due(now_ns) {
            // What came in time and has not been read yet is not lost.
            self.take_answers(observer);
        }
        self.prober.expire_with(now_ns, |probe, prober| {
            observer.event(&Event::Lost { probe }, prober);
        });
        if now_ns >= self.next_tick_ns {
            observer.event(&Event::Tick, &self.prober);
            let tick_ns = self.tick_ns.unwrap_or(u64::MAX).max(1);
            self.next_tick_ns = now_ns.saturating_add(tick_ns);
        }
    }

    fn send(&mut self, probe: Probe, observer: &mut impl Observer) {
        let address = self.prober.targets().address(probe.target);
        let zone = self.prober.targets().zone(probe.target).unwrap_or(0);
        let start_ns = self.start_ns;
        // The last thing before the probe leaves, so that the round trip begins there.
        let now_ns = monotonic_ns().saturating_sub(start_ns);
        let cookie = self.prober.cookie(probe, now_ns);
        let sequence = probe.sequence();
        let sent = match self.channel(address) {
            Some(channel) => channel.send(address, zone, sequence, &cookie),
            None => Err(Errno::AFNOSUPPORT.into()),
        };
        let Err(error) = sent else {
            self.prober.sent(probe, now_ns);
            observer.event(&Event::Sent { probe }, &self.prober);
            return;
        };
        let why = match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::ENOMEM) => Drop::NoRoom,
            _ => Drop::Refused,
        };
        self.prober.dropped(probe, why, now_ns);
        self.local_drops.count(&error);
        let error = &error;
        observer.event(&Event::Dropped { probe, error }, &self.prober);
    }
}
