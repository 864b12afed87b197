//! The work of a run: send what is due, take what has come.

use std::io;
use std::os::fd::AsFd;

use probe::{Drop, Probe, Step};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

use abi::clock::monotonic_ns;

use super::answers::MAX_TAKEN;
use super::event::{Event, Observer};
use super::outcome::{Ended, Outcome};
use super::pinger::{Pinger, State, nanoseconds, sources};
use crate::stop::Stop;

/// Probes sent in a round at most, and after how many of them answers are looked for.
const MAX_SENDS: u32 = 256;
const SENDS_BETWEEN_LOOKS: u32 = 8;
/// How often in a row answers are taken, as many as are taken at once, before losses are told or the run ends: more
/// than the largest buffers hold.
const MAX_LOOKS: u32 = 1024;
/// Shorter times are not slept: waking up takes longer.
const SPIN_NS: u64 = 20_000;
/// Shorter times are slept by a timer of its own: the timeout of poll(2) may be late by the thread's timer
/// slack, 50 µs, but costs less.
const PRECISE_NS: u64 = 1_000_000;
/// What is waited for at most: the stop, the timer, a ring, and a socket of each family.
const MAX_SOURCES: usize = 5;

/// What a round found.
enum Found {
    /// There may be more to do now.
    More,
    /// Nothing to do before this time, unless answers come.
    Nothing(u64),
    /// Nothing to do before this time, whatever comes.
    Patience(u64),
    Done,
}

/// How a run sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Not,
    /// Until then; answers are stamped already, and can wait.
    Deaf(u64),
    /// Until then, or an answer.
    Light(u64),
}

impl Pinger {
    /// Does what is due, and tells `observer`. Does not block: sends 256 probes at most, and returns once 256
    /// answers were there at a time; at the end it takes all that have come.
    ///
    /// Call it when the descriptor is readable.
    ///
    /// # Errors
    /// The kernel cannot be waited for.
    pub fn on_readable(&mut self, observer: &mut impl Observer) -> io::Result<State> {
        self.sends_awake = 0;
        let wake_ns = match self.round(observer) {
            Found::Done => return Ok(State::Done),
            Found::More => 0,
            Found::Nothing(until_ns) | Found::Patience(until_ns) => until_ns,
        };
        self.arm(wake_ns)?;
        Ok(State::Running)
    }

    /// Runs until all probes are answered or lost, the duration is over or `stop` is asked for. Blocks;
    /// sleeps while nothing is due.
    pub fn run(mut self, observer: &mut impl Observer, stop: &Stop) -> Outcome {
        self.leave_epoll();
        if self.is_stamped {
            self.unread.be_patient(nanoseconds(observer.patience()));
        }
        loop {
            let sleep = match self.round(observer) {
                Found::Done => return self.finish(),
                Found::More => Sleep::Not,
                Found::Nothing(until_ns) => self.sleep_before(until_ns, false),
                Found::Patience(until_ns) => self.sleep_before(until_ns, true),
            };
            match self.rest(stop, sleep) {
                Ok(false) => {}
                Ok(true) => {
                    self.take_answers(observer);
                    return self.into_outcome(Ended::Stopped);
                }
                Err(error) => return self.into_outcome(Ended::Wait(error)),
            }
        }
    }

    /// Nobody waits for the descriptor any more; with the sources in it, the kernel would tell it of each answer.
    fn leave_epoll(&self) {
        for source in sources(self.ring.as_ref(), &self.channels) {
            // What stays in costs time and nothing else.
            let _ = epoll::delete(&self.epoll, source);
        }
    }

    /// How to sleep when nothing is due before `until_ns`; with patience answers can wait till then.
    fn sleep_before(&self, until_ns: u64, has_patience: bool) -> Sleep {
        let left_ns = until_ns.saturating_sub(self.now_ns());
        let is_before_turn = self.prober.turn_ns().is_some();
        if left_ns <= SPIN_NS {
            Sleep::Not
        } else if has_patience
            || (self.may_gather_answers && left_ns <= self.gather_ns && is_before_turn)
        {
            Sleep::Deaf(until_ns)
        } else {
            Sleep::Light(until_ns)
        }
    }

    /// Sleeps; whether `stop` has been asked for.
    fn rest(&mut self, stop: &Stop, sleep: Sleep) -> io::Result<bool> {
        self.sends_awake = 0;
        let (left_ns, is_deaf) = match sleep {
            Sleep::Not => (0, false),
            Sleep::Deaf(until_ns) | Sleep::Light(until_ns) => (
                until_ns.saturating_sub(self.now_ns()),
                matches!(sleep, Sleep::Deaf(_)),
            ),
        };
        let is_short = (1..PRECISE_NS).contains(&left_ns);
        if is_short {
            self.arm(self.now_ns() + left_ns)?;
        }
        let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut descriptors: [PollFd<'_>; MAX_SOURCES] =
            std::array::from_fn(|_| readable(stop.as_fd()));
        let mut count = 1;
        let timer = is_short.then(|| self.timer.as_fd());
        let sources = sources(self.ring.as_ref(), &self.channels);
        for source in timer.into_iter().chain(sources.filter(|_| !is_deaf)) {
            descriptors[count] = readable(source);
            count += 1;
        }
        let timeout = Timespec {
            tv_sec: (left_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
        };
        let timeout = (!is_short).then_some(&timeout);
        match poll(&mut descriptors[..count], timeout) {
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
        let mut now_ns = self.now_ns();
        for sent in 1..=MAX_SENDS {
            let mut is_full = self.end_what_is_over(now_ns, observer);
            match self.prober.next(now_ns) {
                Step::Send(probe) => {
                    now_ns = self.send(probe, observer);
                    has_taken = false;
                }
                Step::Wait(until_ns)
                    if let Some(turn_ns) = self.prober.turn_ns()
                        && self.unread.may_wait(turn_ns) =>
                {
                    let pending = self.prober.total().pending();
                    let is_all = self.unread.is_all(pending, now_ns);
                    let until_ns = if is_all { turn_ns } else { until_ns };
                    return Found::Patience(self.first_of(until_ns));
                }
                Step::Wait(until_ns) if has_taken => {
                    return Found::Nothing(self.first_of(until_ns));
                }
                Step::Wait(_) => {
                    has_taken = self.take_answers(observer) < MAX_TAKEN;
                    is_full |= !has_taken;
                    now_ns = self.now_ns();
                }
                Step::Done => {
                    // Further answers that are there already are counted too.
                    for _ in 0..MAX_LOOKS {
                        if self.take_answers(observer) < MAX_TAKEN {
                            break;
                        }
                    }
                    return Found::Done;
                }
            }
            if sent % SENDS_BETWEEN_LOOKS == 0 {
                is_full |= self.take_answers(observer) >= MAX_TAKEN;
            }
            if is_full {
                return Found::More;
            }
        }
        Found::More
    }

    /// `until_ns`, or when there is something else to do before.
    fn first_of(&self, until_ns: u64) -> u64 {
        let end_ns = if self.is_cut_short {
            u64::MAX
        } else {
            self.duration_ns
        };
        until_ns.min(self.next_tick_ns).min(end_ns)
    }

    /// Ends probes whose time is over, and the sending when its own is; whether there are more answers than are
    /// taken at once.
    fn end_what_is_over(&mut self, now_ns: u64, observer: &mut impl Observer) -> bool {
        if now_ns >= self.duration_ns && !self.is_cut_short {
            self.is_cut_short = true;
            self.prober.stop(now_ns);
        }
        let is_all = self.unread.is_all(self.prober.total().pending(), now_ns);
        // What came in time and has not been read yet is not lost.
        let has_more = !is_all
            && self.prober.is_expiry_due(now_ns)
            && self.take_answers(observer) >= MAX_TAKEN;
        self.looks = if has_more { self.looks + 1 } else { 0 };
        if self.looks.is_multiple_of(MAX_LOOKS) {
            self.prober.expire_with(now_ns, |probe, prober| {
                observer.event(&Event::Lost { probe }, prober);
            });
        }
        if now_ns >= self.next_tick_ns {
            self.take_answers(observer);
            let (overruns, _) = self.dropped();
            observer.event(&Event::Tick { overruns }, &self.prober);
            let tick_ns = self.tick_ns.unwrap_or(u64::MAX).max(1);
            self.next_tick_ns = now_ns.saturating_add(tick_ns);
        }
        has_more
    }

    /// Sends a probe; when that was.
    fn send(&mut self, probe: Probe, observer: &mut impl Observer) -> u64 {
        let address = self.prober.targets().address(probe.target);
        let zone = self.prober.targets().zone(probe.target).unwrap_or(0);
        let sequence = probe.sequence();
        let is_to_ask = self.departures.is_to_ask(self.sends_awake);
        self.sends_awake = self.sends_awake.saturating_add(1);
        let is_asked = match self.channel(address) {
            Some(channel) => channel.ask_for_stamps(is_to_ask),
            None => false,
        };
        // The last thing before the probe leaves, so that the round trip begins there.
        let now_ns = monotonic_ns().saturating_sub(self.start_ns);
        let cookie = self.prober.cookie(probe, now_ns);
        let sent = match self.channel(address) {
            Some(channel) => channel.send(address, zone, sequence, &cookie),
            None => Err(Errno::AFNOSUPPORT.into()),
        };
        let Err(error) = sent else {
            if is_asked {
                self.departures.ask(probe);
            }
            self.prober.sent(probe, now_ns);
            self.unread.sent(now_ns);
            observer.event(&Event::Sent { probe }, &self.prober);
            return now_ns;
        };
        let why = match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::ENOMEM) => Drop::NoRoom,
            _ => Drop::Refused,
        };
        self.prober.dropped(probe, why, now_ns);
        self.local_drops.count(&error);
        let error = &error;
        observer.event(&Event::Dropped { probe, error }, &self.prober);
        now_ns
    }
}
