//! A hotplug capture: reads its members in turn, and closes them when their interfaces go.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use filter::FilterWarning;
use rustix::event::{PollFd, PollFlags};
use store::model::{Interface as Description, Statistics};
use store::write::StatisticsSource;

use super::super::account::counters::LiveCounters;
use super::super::account::loss_account::Account;
use super::super::account::reader_time::ReaderTime;
use super::super::account::summary::{CaptureSummary, Ended, InterfaceAccount, OpenInterface};
use super::super::control::handle::{Control, MemberChanges};
use super::super::control::messages::{MessageSender, Wake};
use super::super::control::pending::PendingChanges;
use super::super::engine::changes::LEAVE_NS;
use super::super::error::{CaptureError, run_result};
use super::super::plan::options::{CaptureOptions, Limits};
use super::super::read::consumer::{Closure, Consumer, ConsumerError};
use super::discovery::Namespaces;
use super::follower::{Follower, Requests};
use super::member::Members;
use super::opener::{EndedMembers, Event, Joined, Opener};
use crate::packet::Packet;
use crate::stop::{Stop, Stopper};
use crate::wait::wait;
use ring::DeliveryMode;

/// After so many packets in one round, the reader pauses before the next one.
const BUSY_PACKETS: u64 = 16;

/// A capture from interfaces that come and go: those of a network namespace, or of several.
///
/// Each interface that comes up is captured from then on; packets that passed earlier are not. When it goes down or
/// its namespace is deleted, its packets are delivered and its account is closed. Outside the current namespace
/// interfaces are named `NAMESPACE/INTERFACE`, also in capture files.
///
/// A thread of its own opens the interfaces that come up ([`follow`](Self::follow)). The thread that reads needs no privileges.
///
/// ```no_run
/// # // Not run: it would capture in every namespace of the host.
/// use tapline::capture::{HotplugCapture, CaptureOptions, Namespaces};
///
/// let options = CaptureOptions::default().filter("tcp port 443")?.packets(100);
/// let capture = HotplugCapture::open(options, Namespaces::All)?;
/// println!("{}", capture.run(|packet| Ok(println!("{} {}", packet.time(), packet.len())))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "packets gather until the capture is run"]
pub struct HotplugCapture {
    delivery: DeliveryMode,
    tick: Duration,
    limits: Limits,
    /// Follows the interfaces. Moves to the follower's thread when that starts.
    opener: Option<(Opener, Requests)>,
    follower: Option<Follower>,
    messages: MessageSender,
    /// Changes of the reader itself. Those of its members are in `member_changes`.
    pending: Arc<PendingChanges>,
    member_changes: MemberChanges,
    ended: EndedMembers,
    members: Members,
    descriptions: Vec<Description>,
    warnings: Vec<FilterWarning>,
    live: LiveCounters,
    /// By interface; `None` while it is captured.
    closed: Vec<Option<(InterfaceAccount, Vec<Statistics>)>>,
    stop: Stop,
    start_ns: u64,
}

/// What woke the reader.
struct Wakeup {
    is_stopped: bool,
    has_changes: bool,
    /// Members with packets, or whose captures have ended.
    ready: Vec<u32>,
}

impl HotplugCapture {
    /// Opens a capture on every interface of `namespaces` that is up. [`CaptureOptions::links`] selects
    /// interfaces by name; if it is empty, all are captured. [`CaptureOptions::namespace`] is not used.
    ///
    /// # Errors
    /// As [`Capture::open`](super::super::Capture::open), of the first interface; [`CaptureError::NoSuchInterface`] if one that was named is not
    /// in a namespace of [`Namespaces::Named`].
    /// # Privileges
    /// As [`Capture::open`](super::super::Capture::open), and `CAP_SYS_ADMIN` to enter other namespaces: also for
    /// [`follow`](Self::follow).
    pub fn open(mut options: CaptureOptions, namespaces: Namespaces) -> Result<Self, CaptureError> {
        let names = std::mem::take(&mut options.links);
        let limits = std::mem::take(&mut options.limits);
        let wait = |source| CaptureError::Wait { source };
        let (delivery, tick) = (options.delivery, options.tick);
        let pending = Arc::new(PendingChanges::new().map_err(wait)?);
        let member_changes = MemberChanges::default();
        let followed = (pending.clone(), member_changes.clone());
        let wake = Wake::new().map_err(wait)?;
        let ended = EndedMembers::new(wake.clone());
        let mut opener = Opener::new(options, names, namespaces, followed, ended.clone())?;
        let (messages, received) = MessageSender::waking(wake.clone());
        let mut capture = Self {
            delivery,
            tick,
            limits,
            ended,
            opener: None,
            follower: None,
            messages,
            pending,
            member_changes,
            members: Members::default(),
            descriptions: Vec::new(),
            warnings: Vec::new(),
            live: LiveCounters::default(),
            closed: Vec::new(),
            stop: Stop::new().map_err(wait)?,
            start_ns: monotonic_ns(),
        };
        opener.events(|event| match event {
            Event::Joined(joined) => {
                capture.insert(*joined);
                Ok(())
            }
            Event::Refused(_, error) => Err(error),
            // The member of an interface that has gone again ends by itself.
            _ => Ok(()),
        })?;
        opener.check_named(&capture.descriptions)?;
        let requests = Requests {
            messages: received,
            wake,
        };
        capture.opener = Some((opener, requests));
        Ok(capture)
    }

    /// Starts the thread that captures from interfaces that come up and changes those that are captured, with the privileges of the
    /// calling thread, which can then give them up. Running the capture starts it, too, if it does not run yet.
    ///
    /// # Errors
    /// As pipe2(2), eventfd(2) and pthread_create(3).
    pub fn follow(&mut self) -> io::Result<()> {
        if let Some((opener, requests)) = self.opener.take() {
            self.follower = Some(Follower::start(opener, requests)?);
        }
        Ok(())
    }

    /// Changes the capture while it runs: all interfaces, and those that come up later. Starts the thread of
    /// [`follow`](Self::follow), which makes the changes.
    ///
    /// The thread that runs the capture must not ask for changes: it would wait for itself.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub fn control(&mut self) -> io::Result<Control> {
        self.follow()?;
        let (pending, members) = (self.pending.clone(), self.member_changes.clone());
        Ok(Control::of_group(pending, members, self.messages.clone()))
    }

    /// The interfaces so far, as a capture file describes them. [`Packet::interface`] is a position in this list.
    pub fn interfaces(&self) -> &[Description] {
        &self.descriptions
    }

    /// The interfaces as they were opened, in the same order.
    pub fn links(&self) -> impl Iterator<Item = OpenInterface<'_>> {
        let members = self.members.iter();
        members.flat_map(|(_, member)| member.capture.links())
    }

    /// Warnings of the filter compiler, for any of the interfaces.
    pub fn filter_warnings(&self) -> &[FilterWarning] {
        &self.warnings
    }

    /// Stops the capture from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Counters for capture files that end while the capture continues.
    pub fn statistics_source(&self) -> StatisticsSource {
        let live = self.live.clone();
        Box::new(move || live.statistics())
    }

    /// The counters by interface, for other threads.
    pub fn live(&self) -> LiveCounters {
        self.live.clone()
    }

    /// Calls `receive` with each packet until a limit, a [`Stopper`] or an error ends the capture, or until the
    /// last namespace that was named is deleted. Then delivers the packets left in the rings and closes the account.
    ///
    /// # Errors
    /// [`CaptureError::Run`] if `receive` failed or waiting did; it holds the summary.
    pub fn run<F>(mut self, receive: F) -> Result<CaptureSummary, CaptureError>
    where
        F: FnMut(&Packet<'_>) -> Result<(), ConsumerError>,
    {
        let unused = Stop::new().map_err(|source| CaptureError::Wait { source })?;
        let stop = std::mem::replace(&mut self.stop, unused);
        self.run_consumer(&mut Closure(receive), &stop)
    }

    /// As [`run`](Self::run), with a [`Consumer`] and a stop of the caller.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_consumer<C: Consumer>(
        mut self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        let at_start = ReaderTime::now();
        let mut run = Run::begin(&self);
        let mut ended = self.follow().err().map(Ended::Wait);
        let ended = loop {
            if let Some(ended) = ended {
                break ended;
            }
            ended = (self.round(&mut run, consumer, stop))
                .unwrap_or_else(|error| Some(Ended::Wait(error)));
        };
        let duration = Duration::from_nanos(monotonic_ns().saturating_sub(self.start_ns));
        let reader_time = at_start.and_then(|start| ReaderTime::now()?.since(start));
        let ended = self.close(run, consumer, ended);
        let writer = consumer.lost() + u64::from(matches!(ended, Ended::Consumer(_)));
        let links: Vec<_> = (self.closed.into_iter().flatten())
            .map(|(account, _)| account)
            .collect();
        let mut account: Account = links.iter().map(|link| link.account).sum();
        account.delivered = account.delivered.saturating_sub(writer);
        account.lost.writer += writer;
        run_result(CaptureSummary {
            ended,
            account,
            links,
            duration,
            reader_time,
            readers: Vec::new(),
            unread_queues: Vec::new(),
            merge: None,
        })
    }
}

/// The limits and times of a running hotplug capture.
struct Run {
    remaining: u64,
    end_ns: u64,
    tick_ns: u64,
    next_tick_ns: u64,
    /// Pause after a busy round, so that packets gather.
    pause: Option<Duration>,
}

impl Run {
    fn begin(capture: &HotplugCapture) -> Self {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let tick_ns = nanoseconds(capture.tick).max(1);
        let duration_ns = capture.limits.duration.map_or(u64::MAX, nanoseconds);
        Self {
            remaining: capture.limits.packets.unwrap_or(u64::MAX),
            end_ns: capture.start_ns.saturating_add(duration_ns),
            tick_ns,
            next_tick_ns: monotonic_ns().saturating_add(tick_ns),
            pause: pause(capture.delivery),
        }
    }
}

/// The pause after a busy round.
fn pause(delivery: DeliveryMode) -> Option<Duration> {
    match delivery {
        DeliveryMode::Adaptive { target } => Some(target / 2),
        _ => None,
    }
}

impl HotplugCapture {
    /// Waits for work and does it. Returns the reason to end the capture.
    fn round<C: Consumer>(
        &mut self,
        run: &mut Run,
        consumer: &mut C,
        stop: &Stop,
    ) -> io::Result<Option<Ended>> {
        if run.remaining == 0 {
            return Ok(Some(Ended::Packets));
        }
        let mut until_ns = run.next_tick_ns.min(run.end_ns);
        let settling = self.members.settling();
        if !settling.is_empty() {
            // Nothing wakes the reader when the last packet of a ring has been read.
            until_ns = until_ns.min(monotonic_ns().saturating_add(LEAVE_NS));
        }
        let mut wakeup = self.wait(stop, until_ns)?;
        wakeup.ready.retain(|number| !settling.contains(number));
        wakeup.ready.extend(settling);
        if wakeup.is_stopped {
            return Ok(Some(Ended::Stopped));
        }
        if let Some(changes) = self.pending.take() {
            run.pause = pause(changes.delivery);
        }
        if wakeup.has_changes {
            match self.join(run, consumer) {
                Ok(None) => {}
                Ok(Some(ended)) => return Ok(Some(ended)),
                Err(error) => return Ok(Some(Ended::Consumer(error))),
            }
        }
        let now_ns = monotonic_ns();
        let is_tick = now_ns >= run.next_tick_ns;
        let ready = if is_tick {
            // Each member updates its counters.
            self.members.numbers()
        } else {
            wakeup.ready
        };
        let packets = match self.read(&ready, run, consumer) {
            Ok(packets) => packets,
            Err(error) => return Ok(Some(Ended::Consumer(error))),
        };
        let mut result = Ok(());
        if packets < BUSY_PACKETS {
            result = consumer.idle(realtime_ns());
        }
        if is_tick {
            run.next_tick_ns = now_ns.saturating_add(run.tick_ns);
            let account = self.account(consumer.lost());
            result = result.and_then(|()| consumer.tick(realtime_ns(), &account));
        }
        if let Err(error) = result {
            return Ok(Some(Ended::Consumer(error)));
        }
        if now_ns >= run.end_ns {
            return Ok(Some(Ended::Duration));
        }
        if let Some(pause) = run.pause.filter(|_| packets >= BUSY_PACKETS) {
            wait(&mut [PollFd::new(stop, PollFlags::IN)], pause)?;
        }
        Ok(None)
    }

    /// Delivers what is ready at `numbers`, and closes the members that have ended.
    fn read<C: Consumer>(
        &mut self,
        numbers: &[u32],
        run: &mut Run,
        consumer: &mut C,
    ) -> Result<u64, ConsumerError> {
        let reading = self.members.read(numbers, run.remaining, consumer);
        run.remaining -= reading.packets;
        for number in reading.ended {
            self.finish(number);
        }
        match reading.failure {
            None => Ok(reading.packets),
            Some(error) => Err(error),
        }
    }

    /// The account so far; the consumer lost `writer` packets.
    fn account(&self, writer: u64) -> Account {
        let accounts = self.live.accounts();
        let mut account: Account = accounts.into_iter().map(|live| live.account).sum();
        account.delivered = account.delivered.saturating_sub(writer);
        account.lost.writer += writer;
        account
    }

    /// Follows the changes of interfaces, and tells the consumer. Returns the reason to end the capture.
    fn join<C: Consumer>(
        &mut self,
        run: &mut Run,
        consumer: &mut C,
    ) -> Result<Option<Ended>, ConsumerError> {
        let events = self.follower.as_ref().map_or_else(Vec::new, Follower::take);
        let (mut leaving, mut ended) = (Vec::new(), None);
        for event in events {
            match event {
                Event::Joined(joined) => {
                    for described in &joined.described {
                        consumer.interface(described)?;
                    }
                    self.insert(*joined);
                }
                Event::Left(number) => leaving.push(number),
                Event::Refused(name, error) => consumer.refused(&name, &error),
                // Nothing follows, only that the thread has ended.
                Event::NoNamespacesLeft => ended = Some(Ended::NamespaceRemoved),
                Event::Broken(error) => ended = ended.or(Some(Ended::Wait(error))),
            }
        }
        self.drain(&leaving, run, consumer)?;
        Ok(ended)
    }

    /// Reads an interface that has been opened, as the next member.
    fn insert(&mut self, joined: Joined) {
        let Joined {
            member,
            mut described,
            warnings,
            live,
        } = joined;
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let number = self.descriptions.len() as u32;
        self.descriptions.append(&mut described);
        self.live.extend(&live);
        self.closed.push(None);
        self.members.insert(number, member);
    }

    /// Ends `numbers`: delivers what is left in their rings, and closes their accounts.
    fn drain<C: Consumer>(
        &mut self,
        numbers: &[u32],
        run: &mut Run,
        consumer: &mut C,
    ) -> Result<(), ConsumerError> {
        self.members.close(numbers);
        // Each capture ends its closing by itself, within its deadline.
        while run.remaining > 0 && numbers.iter().any(|&number| self.members.has(number)) {
            self.read(numbers, run, consumer)?;
        }
        Ok(())
    }

    /// Closes the account of a member. Packets that are still in its rings count as filtered.
    fn finish(&mut self, number: u32) {
        let Some(member) = self.members.remove(number) else {
            return;
        };
        let (summary, mut statistics) = member.capture.finish_with_statistics();
        self.ended.add(number);
        for statistics in &mut statistics {
            statistics.interface = number;
        }
        let account = summary.links.into_iter().next();
        self.closed[number as usize] = account.map(|account| (account, statistics));
    }

    /// Delivers what is left in all rings, unless the consumer failed, and closes the account. A change that is being made is complete
    /// before.
    fn close<C: Consumer>(&mut self, mut run: Run, consumer: &mut C, ended: Ended) -> Ended {
        self.follower = None;
        let numbers = self.members.numbers();
        let drained = match &ended {
            Ended::Consumer(_) => Ok(()),
            _ => self.drain(&numbers, &mut run, consumer),
        };
        for number in numbers {
            self.finish(number);
        }
        let closed = self.closed.iter().flatten();
        let statistics: Vec<_> = closed
            .flat_map(|(_, statistics)| statistics.clone())
            .collect();
        let finished = consumer.finish(&statistics);
        match drained.and(finished) {
            Err(error) if !ended.is_failure() => Ended::Consumer(error),
            _ => ended,
        }
    }

    /// Waits for packets, for changes of interfaces, for `stop`, and until `until_ns` at most.
    fn wait(&self, stop: &Stop, until_ns: u64) -> io::Result<Wakeup> {
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut descriptors = vec![readable(stop.as_fd())];
        descriptors.push(readable(self.pending.as_fd()));
        let first_change = descriptors.len();
        let follower = self.follower.iter();
        descriptors.extend(follower.map(|follower| readable(follower.as_fd())));
        let first_member = descriptors.len();
        let members: Vec<_> = self.members.iter().collect();
        descriptors.extend((members.iter()).map(|(_, member)| readable(member.capture.as_fd())));
        let timeout = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        wait(&mut descriptors, timeout)?;
        let is_ready = |polled: &PollFd<'_>| !polled.revents().is_empty();
        let ready = descriptors[first_member..].iter().zip(&members);
        Ok(Wakeup {
            is_stopped: is_ready(&descriptors[0]),
            has_changes: descriptors[first_change..first_member].iter().any(is_ready),
            ready: ready
                .filter(|(polled, _)| is_ready(polled))
                .map(|(_, &(number, _))| number)
                .collect(),
        })
    }
}
