//! The loop of a run: send what is due, receive what has arrived, sleep.

use std::io;
use std::os::fd::AsFd;

use abi::clock::monotonic_ns;
use probe::{COOKIE_BYTES, NextAction, Probe, Prober, SendFailure};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;

use super::receive::MAX_RECEIVED;
use super::state::{Engine, sources};
use crate::ping::event::PingEvent;
use crate::ping::socket::Destination;
use crate::ping::summary::Ended;
use crate::stop::Stop;

/// Maximum probes per round, and how many are sent between two reads of replies.
const MAX_SENDS: u32 = 256;
const SENDS_BETWEEN_READS: u32 = 8;
/// Maximum consecutive full reads before losses are reported or the run ends: more than the largest buffers hold.
const MAX_FULL_READS: u32 = 1024;
/// Shorter waits do not sleep: waking up takes longer.
const SPIN_NS: u64 = 20_000;
/// Shorter waits use the timer descriptor. The timeout of poll(2) costs less, but may be late by the timer slack of
/// the thread, 50 µs.
const PRECISE_NS: u64 = 1_000_000;
/// Maximum descriptors to wait for: stop, requests, timer, ring, and a socket per family.
const MAX_SOURCES: usize = 6;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ping) enum EngineState {
    /// The descriptor will be readable when there is.
    Running,
    /// The run is over.
    Done,
}

/// The result of a round.
enum RoundResult {
    /// There may be more to do now.
    Busy,
    /// Nothing to do until this time, unless replies arrive.
    WaitForReplies(u64),
    /// Nothing to do until this time. Replies can wait.
    Defer(u64),
    Done,
}

/// How the thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    No,
    /// Until this time. Replies do not wake the thread: they are stamped already, and can wait.
    Timer(u64),
    /// Until this time, or a reply.
    TimerOrReply(u64),
}

impl Engine {
    /// Does what is due, and reports it. Does not block: sends at most 256 probes, and returns once 256 replies were
    /// available at a time. At the end it receives all that have arrived.
    pub fn on_readable(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> io::Result<EngineState> {
        self.sends_since_sleep = 0;
        let wake_ns = match self.round(observe) {
            RoundResult::Done => {
                // The descriptor stays readable: an event loop learns of the end after the last events.
                self.set_timer(0)?;
                return Ok(EngineState::Done);
            }
            RoundResult::Busy => 0,
            RoundResult::WaitForReplies(until_ns) | RoundResult::Defer(until_ns) => until_ns,
        };
        self.set_timer(wake_ns)?;
        Ok(EngineState::Running)
    }

    /// Runs until all probes are answered or lost, the duration is over, or `stop` is requested. Replies may be reported
    /// up to `max_wait_ns` after their probe was sent. Blocks; sleeps while nothing is due.
    pub fn run(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
        stop: &Stop,
        max_wait_ns: u64,
    ) -> io::Result<Ended> {
        self.leave_epoll();
        if self.stamps_on_arrival {
            self.batcher.set_max_wait(max_wait_ns);
        }
        loop {
            let sleep = match self.round(observe) {
                RoundResult::Done => return Ok(self.ended()),
                RoundResult::Busy => Sleep::No,
                RoundResult::WaitForReplies(until_ns) => self.sleep_until(until_ns, false),
                RoundResult::Defer(until_ns) => self.sleep_until(until_ns, true),
            };
            if self.wait(stop, sleep)? {
                self.receive(observe);
                return Ok(Ended::Stopped);
            }
        }
    }

    /// Removes the sockets from the epoll instance, which nobody waits for. Otherwise the kernel would notify it of
    /// each reply.
    fn leave_epoll(&self) {
        for source in sources(self.ring.as_ref(), &self.sockets) {
            // A socket that stays costs time, and nothing else.
            let _ = epoll::delete(&self.epoll, source);
        }
    }

    /// How to sleep if nothing is due before `until_ns`. `can_defer` means that replies can wait until then.
    fn sleep_until(&self, until_ns: u64, can_defer: bool) -> Sleep {
        let left_ns = until_ns.saturating_sub(self.now_ns());
        let is_before_probe = self.prober.next_due_ns().is_some();
        if left_ns <= SPIN_NS {
            Sleep::No
        } else if can_defer
            || (self.can_defer_group && left_ns <= self.gather_ns && is_before_probe)
        {
            Sleep::Timer(until_ns)
        } else {
            Sleep::TimerOrReply(until_ns)
        }
    }

    /// Sleeps. Returns whether `stop` was requested.
    fn wait(&mut self, stop: &Stop, sleep: Sleep) -> io::Result<bool> {
        self.sends_since_sleep = 0;
        let (left_ns, is_timer_only) = match sleep {
            Sleep::No => (0, false),
            Sleep::Timer(until_ns) | Sleep::TimerOrReply(until_ns) => (
                until_ns.saturating_sub(self.now_ns()),
                matches!(sleep, Sleep::Timer(_)),
            ),
        };
        let is_short = (1..PRECISE_NS).contains(&left_ns);
        if is_short {
            self.set_timer(self.now_ns() + left_ns)?;
        }
        let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
        let mut descriptors: [PollFd<'_>; MAX_SOURCES] =
            std::array::from_fn(|_| readable(stop.as_fd()));
        descriptors[1] = readable(self.changes.as_fd());
        let mut count = 2;
        let timer = is_short.then(|| self.timer.as_fd());
        let sources = sources(self.ring.as_ref(), &self.sockets);
        for source in timer.into_iter().chain(sources.filter(|_| !is_timer_only)) {
            descriptors[count] = readable(source);
            count += 1;
        }
        let timeout = Timespec {
            tv_sec: (left_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (left_ns % 1_000_000_000).cast_signed(),
        };
        let timeout = (!is_short).then_some(&timeout);
        match poll(&mut descriptors[..count], timeout) {
            // A signal that is handled elsewhere does not end the run.
            Ok(_) | Err(Errno::INTR) => Ok(!descriptors[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    fn round(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) -> RoundResult {
        let mut has_received = false;
        let mut now_ns = self.now_ns();
        self.changes.apply(&mut self.prober, observe);
        for sent in 1..=MAX_SENDS {
            let mut is_full = self.expire(now_ns, observe);
            while let Some(target) = self.prober.next_ended() {
                observe(PingEvent::Ended { target }, &self.prober);
            }
            match self.prober.next(now_ns) {
                NextAction::Send(probe) => {
                    now_ns = self.send(probe, observe);
                    has_received = false;
                }
                NextAction::Wait(until_ns)
                    if let Some(due_ns) = self.prober.next_due_ns()
                        && self.batcher.can_wait_until(due_ns) =>
                {
                    let pending = self.prober.total().pending();
                    let is_all = self.batcher.holds_all(pending, now_ns);
                    let until_ns = if is_all { due_ns } else { until_ns };
                    return RoundResult::Defer(self.next_deadline(until_ns));
                }
                NextAction::Wait(until_ns) if has_received => {
                    return RoundResult::WaitForReplies(self.next_deadline(until_ns));
                }
                NextAction::Wait(_) => {
                    has_received = self.receive(observe) < MAX_RECEIVED;
                    is_full |= !has_received;
                    now_ns = self.now_ns();
                }
                NextAction::Done => {
                    // Further replies that have arrived are counted too.
                    for _ in 0..MAX_FULL_READS {
                        if self.receive(observe) < MAX_RECEIVED {
                            break;
                        }
                    }
                    return RoundResult::Done;
                }
            }
            if sent % SENDS_BETWEEN_READS == 0 {
                is_full |= self.receive(observe) >= MAX_RECEIVED;
            }
            if is_full {
                return RoundResult::Busy;
            }
        }
        RoundResult::Busy
    }

    /// `until_ns`, or the next tick or the end of sending if that is earlier.
    fn next_deadline(&self, until_ns: u64) -> u64 {
        let end_ns = if self.has_stopped_sending {
            u64::MAX
        } else {
            self.duration_ns
        };
        until_ns.min(self.next_tick_ns).min(end_ns)
    }

    /// Ends probes that timed out, and the sending when the duration is over. Returns whether more replies are unread.
    fn expire(&mut self, now_ns: u64, observe: &mut impl FnMut(PingEvent, &Prober)) -> bool {
        if now_ns >= self.duration_ns && !self.has_stopped_sending {
            self.has_stopped_sending = true;
            self.prober.stop(now_ns);
        }
        let is_all = self
            .batcher
            .holds_all(self.prober.total().pending(), now_ns);
        // A reply that arrived in time and is unread is not lost.
        let has_more =
            !is_all && self.prober.is_expiry_due(now_ns) && self.receive(observe) >= MAX_RECEIVED;
        self.full_reads = if has_more { self.full_reads + 1 } else { 0 };
        if self.full_reads.is_multiple_of(MAX_FULL_READS) {
            self.prober.expire_with(now_ns, |probe, prober| {
                observe(PingEvent::Lost { probe }, prober);
            });
        }
        if now_ns >= self.next_tick_ns {
            self.receive(observe);
            let (overruns, _) = self.dropped();
            observe(PingEvent::Tick { overruns }, &self.prober);
            let tick_ns = self.tick_ns.unwrap_or(u64::MAX).max(1);
            self.next_tick_ns = now_ns.saturating_add(tick_ns);
        }
        has_more
    }

    /// Sends a probe. Returns the time of sending.
    fn send(&mut self, probe: Probe, observe: &mut impl FnMut(PingEvent, &Prober)) -> u64 {
        let Some(address) = self.prober.targets().address(probe.target) else {
            unreachable!("a target without address is not probed");
        };
        let path = self.prober.targets().path(probe.target);
        let destination = Destination {
            address,
            zone: self.prober.targets().zone(probe.target).unwrap_or(0),
            flow_label: path.map_or(0, |path| path.flow_label),
        };
        let sequence = probe.sequence();
        let payload_bytes = self.prober.payload_bytes(probe.target);
        // The stamp is found by the cookie at the end of the packet.
        let has_cookie = payload_bytes == COOKIE_BYTES + self.prober.filler().len();
        let wants_stamp = has_cookie && self.tx_timestamps.is_requested(self.sends_since_sleep);
        self.sends_since_sleep = self.sends_since_sleep.saturating_add(1);
        let has_stamp = match self.socket(address) {
            Some(socket) => socket.request_tx_timestamps(wants_stamp),
            None => false,
        };
        // Last before the probe is sent, so that the round trip starts here.
        let now_ns = monotonic_ns().saturating_sub(self.start_ns);
        let cookie = self.prober.cookie(probe, now_ns);
        let balance = self.prober.balance(probe, &cookie);
        let sent = match self.socket(address) {
            Some(socket) => socket.send(&destination, sequence, &cookie, balance, payload_bytes),
            None => Err(Errno::AFNOSUPPORT.into()),
        };
        let Err(error) = sent else {
            if has_stamp {
                self.tx_timestamps.expect(probe);
            }
            self.prober.sent(probe, now_ns);
            self.batcher.sent(now_ns);
            observe(PingEvent::Sent { probe }, &self.prober);
            return now_ns;
        };
        let why = match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::ENOMEM) => SendFailure::QueueFull,
            _ => SendFailure::Refused,
        };
        self.prober.not_sent(probe, why, now_ns);
        self.local_drops.count(&error);
        observe(PingEvent::NotSent { probe, error }, &self.prober);
        now_ns
    }
}
