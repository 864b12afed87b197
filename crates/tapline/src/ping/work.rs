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
use super::pinger::{Pinger, State, look};
use crate::stop::Stop;

/// Probes sent in a round at most, and after how many of them answers are looked for.
const MAX_SENDS: u32 = 256;
const SENDS_BETWEEN_LOOKS: u32 = 8;
/// Answers taken at once at most.
const MAX_ANSWERS: u32 = 256;
/// Shorter times are not slept: waking up takes longer.
const SPIN_NS: u64 = 20_000;
/// How far a time stamp may lie ahead of the look at the clock before it: what comes while answers are
/// taken. Beyond, the clock was set.
const MAX_AHEAD_NS: u64 = 1_000_000_000;

/// What a round found.
enum Found {
    /// There may be more to do now.
    More,
    /// Nothing to do before this time, unless answers come.
    Nothing(u64),
    Done,
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
                Found::More => false,
                Found::Nothing(until_ns) => {
                    let sleep = until_ns > self.now_ns() + SPIN_NS;
                    if sleep && let Err(error) = self.arm(until_ns) {
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

    /// Sleeps until there is something to do, if `sleep`; whether `stop` has been asked for.
    fn wait(&self, stop: &Stop, sleep: bool) -> io::Result<bool> {
        let mut descriptors = [
            PollFd::new(stop, PollFlags::IN),
            PollFd::new(&self.epoll, PollFlags::IN),
        ];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut descriptors, if sleep { None } else { Some(&at_once) }) {
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
        self.take_answers(observer);
        for sent in 1..=MAX_SENDS {
            let now_ns = self.now_ns();
            self.end_what_is_over(now_ns, observer);
            match self.prober.next(now_ns) {
                Step::Send(probe) => self.send(probe, observer),
                Step::Wait(until_ns) if self.take_answers(observer) == 0 => {
                    let end_ns = if self.is_cut_short {
                        u64::MAX
                    } else {
                        self.duration_ns
                    };
                    return Found::Nothing(until_ns.min(self.next_tick_ns).min(end_ns));
                }
                Step::Wait(_) => return Found::More,
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

    /// Takes answers while there are any, up to a bound for each family; how many came.
    fn take_answers(&mut self, observer: &mut impl Observer) -> u32 {
        let mut taken = 0;
        // Of stamps taken around a step of the clock nobody can say by which clock they are.
        let mut is_trusted = None;
        for channel in &self.channels {
            for _ in 0..MAX_ANSWERS {
                let Some((datagram, queue)) = channel.receive(&mut self.buffer) else {
                    break;
                };
                taken += 1;
                let now_ns = monotonic_ns().saturating_sub(self.start_ns);
                let is_trusted = *is_trusted.get_or_insert_with(|| {
                    let step = self.clock.look(look());
                    if let Some(by_ns) = step {
                        observer.event(&Event::ClockStep { by_ns }, &self.prober);
                    }
                    step.is_none()
                });
                let Some(message) = channel.read(&datagram, queue, &self.buffer[..datagram.len])
                else {
                    continue;
                };
                let stamp_ns = datagram.stamp_ns.filter(|_| is_trusted);
                let stamp_ns = stamp_ns
                    .and_then(|wall| self.clock.monotonic_ns(wall).checked_sub(self.start_ns))
                    .filter(|stamp_ns| *stamp_ns <= now_ns + MAX_AHEAD_NS);
                let verdict = self.prober.received(&message, stamp_ns, now_ns);
                let event = Event::Answer {
                    verdict,
                    message,
                    wall_ns: datagram.stamp_ns,
                };
                observer.event(&event, &self.prober);
            }
        }
        taken
    }
}
