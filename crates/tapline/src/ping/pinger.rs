//! A run over sockets.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use probe::targets::Targets;
use probe::{Look, NeighbourPace, Prober, WallClock};
use ring::PacketRing;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

use super::channel::{Channel, Dropped};
use super::departures::Departures;
use super::error::{PingError, Step, at};
use super::neighbours;
use super::opening;
use super::options::{Backend, Options};
use super::outcome::{Ended, LocalDrops, Outcome};
use super::setup::Wanted;
use super::stamping::is_stamping;
use super::unread::Unread;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The descriptor will be readable when there is.
    Running,
    /// The run is over.
    Done,
}

/// A run: probes leave, answers come in, and everything is counted.
///
/// One socket for receiving and one for sending a family, however many targets. `Send`, not `Sync`.
#[derive(Debug)]
pub struct Pinger {
    pub(super) prober: Prober,
    pub(super) channels: Vec<Channel>,
    /// Has the answers, or those that come by its interface, if there is one.
    pub(super) ring: Option<PacketRing>,
    pub(super) epoll: OwnedFd,
    pub(super) timer: OwnedFd,
    pub(super) clock: WallClock,
    /// When the run began, by the monotonic clock.
    pub(super) start_ns: u64,
    pub(super) backend: Backend,
    pub(super) local_drops: LocalDrops,
    pub(super) buffer: Box<[u8]>,
    /// Of the queue of errors, read while the other buffer holds an answer.
    pub(super) side_buffer: Box<[u8]>,
    pub(super) departures: Departures,
    pub(super) unread: Unread,
    pub(super) duration_ns: u64,
    pub(super) is_cut_short: bool,
    /// Time between groups of probes that leave together; 0 where each leaves by itself.
    pub(super) gather_ns: u64,
    /// The kernel is known to stamp answers when they come, so that they may be read later.
    pub(super) is_stamped: bool,
    /// So it is, and there is room for the answers to such a group until the next leaves.
    pub(super) may_gather_answers: bool,
    /// How often in a row there were more answers than are taken at once when losses were due.
    pub(super) looks: u32,
    /// Damaged messages of IPv6 that the ring has taken.
    pub(super) damaged_in_ring: u64,
    /// Probes sent since the run last slept.
    pub(super) sends_awake: u32,
    pub(super) tick_ns: Option<u64>,
    pub(super) next_tick_ns: u64,
}

impl Pinger {
    /// Opens the sockets for a run over `targets`; the first probe is due at once.
    ///
    /// # Errors
    /// [`PingError`] says which option or which step; [`PingError::NotPermitted`] when no back end is.
    /// # Privileges
    /// `CAP_NET_RAW`, or a group within `net.ipv4.ping_group_range` for ping sockets.
    /// # Kernel
    /// Linux 5.0 for `Options::link` (`SO_BINDTOIFINDEX`).
    pub fn open(targets: Targets, options: &Options) -> Result<Self, PingError> {
        let (mut plan, slow_pps) = opening::plan(options, targets.len())?;
        let is_slow = slow_pps.is_some();
        let ring = opening::open_ring(&targets, options, is_slow, plan.identifier)?;
        let link = match &options.link {
            Some(name) => Some(opening::index_of(name)?),
            None => None,
        };
        let mut wanted = Wanted {
            is_ipv6: false,
            backend: Backend::Raw,
            identifier: plan.identifier,
            link,
            ring: ring.as_ref().map(|(_, of)| *of),
            stamps: is_slow && ring.is_none(),
            options,
        };
        let opened = opening::open_channels(&targets, ring.is_some(), &mut wanted)?;
        let Wanted {
            backend, stamps, ..
        } = wanted;
        let ring = ring.filter(|_| backend == Backend::Ring);
        let ring = ring.map(|(ring, _)| ring);
        plan.identifier = wanted.identifier;
        let forecast = plan.forecast(targets.len())?;
        let (gather_ns, group) = (forecast.gather_ns(), forecast.group);
        let departures = Departures::new(slow_pps.filter(|_| stamps), targets.len(), group);
        let mut prober = Prober::new(&plan, targets)?;
        let NeighbourPace { most, .. } = options.neighbours;
        neighbours::mark(&mut prober, most)?;
        let with_message = |(mut channel, mut wanted): (Channel, Wanted<'_>)| {
            wanted.identifier = plan.identifier;
            channel.message = wanted.message(prober.filler());
            channel
        };
        let channels: Vec<Channel> = opened.into_iter().map(with_message).collect();

        let hearing = channels.iter().filter(|channel| channel.hears);
        let room = hearing.map(Channel::room).min();
        let room = room.unwrap_or(options.buffer_bytes);
        // A ring stamps by itself.
        let is_stamped = !channels.iter().any(|channel| channel.hears) || is_stamping();

        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(at(Step::Wait))?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(at(Step::Wait))?;
        let add = |descriptor: BorrowedFd<'_>| {
            let added = epoll::add(&epoll, descriptor, EventData::new_u64(0), EventFlags::IN);
            added.map_err(at(Step::Wait))
        };
        for source in sources(ring.as_ref(), &channels) {
            add(source)?;
        }
        add(timer.as_fd())?;
        let tick_ns = options.tick.map(nanoseconds);
        let mut pinger = Self {
            prober,
            channels,
            ring,
            epoll,
            timer,
            clock: WallClock::new(look()),
            start_ns: monotonic_ns(),
            backend,
            local_drops: LocalDrops::default(),
            // An IPv6 header, an ICMP header, and a probe quoted behind them, all as long as they can be.
            buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            side_buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            departures,
            unread: Unread::new(plan.timeout_ns, options.payload_bytes, room),
            duration_ns: options.duration.map_or(u64::MAX, nanoseconds),
            is_cut_short: false,
            gather_ns,
            is_stamped,
            may_gather_answers: is_stamped
                && Unread::has_room_for(group, options.payload_bytes, room),
            looks: 0,
            damaged_in_ring: 0,
            sends_awake: 0,
            tick_ns,
            next_tick_ns: tick_ns.unwrap_or(u64::MAX),
        };
        pinger.arm(0).map_err(at(Step::Wait))?;
        Ok(pinger)
    }

    /// What is known of targets and answers up to now.
    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// How probes leave.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Ends the sending, as [`Options::duration`] does: when the probes in flight are answered or lost,
    /// [`on_readable`](Self::on_readable) says that the run is over. Probes that wait for a limit are not sent.
    ///
    /// # Errors
    /// The descriptor cannot be made readable.
    pub fn end_sending(&mut self) -> io::Result<()> {
        if self.is_cut_short || self.prober.is_done() {
            return Ok(());
        }
        self.duration_ns = self.duration_ns.min(self.now_ns());
        self.arm(0)
    }

    /// Ends the run as it is, with everything that is known of it.
    pub fn finish(self) -> Outcome {
        let ended = match (self.prober.is_done(), self.is_cut_short) {
            (false, _) => Ended::Stopped,
            (true, true) => Ended::Duration,
            (true, false) => Ended::Count,
        };
        self.into_outcome(ended)
    }

    /// Answers that the kernel dropped because they were not read in time, and those of all sockets; `None` when it
    /// does not say.
    pub(super) fn dropped(&mut self) -> (Option<u64>, Option<Dropped>) {
        let of_ring = match &mut self.ring {
            Some(ring) => ring.refresh().ok().map(|()| ring.account().dropped),
            None => Some(0),
        };
        let mut hearing = self.channels.iter().filter(|channel| channel.hears);
        let add = |sum: Dropped, channel: &Channel| {
            let dropped = channel.dropped()?;
            Some(Dropped {
                overruns: sum.overruns + dropped.overruns,
                damaged: sum.damaged + dropped.damaged,
            })
        };
        let of_channels = hearing.try_fold(Dropped::default(), add);
        let overruns = of_ring.and_then(|dropped| Some(dropped + of_channels?.overruns));
        (overruns, of_channels)
    }

    pub(super) fn into_outcome(mut self, ended: Ended) -> Outcome {
        let (overruns, of_channels) = self.dropped();
        // The ring has them too, and has counted them as what they are.
        let checksum_drops =
            of_channels.map(|dropped| dropped.damaged.saturating_sub(self.damaged_in_ring));
        Outcome {
            ended,
            duration: Duration::from_nanos(self.now_ns()),
            backend: self.backend,
            local_drops: self.local_drops,
            overruns,
            checksum_drops,
            clock_steps: self.clock.steps(),
            timestamp_source: "kernel",
            departures_by_kernel: self.departures.by_kernel,
            departures_by_program: self.departures.by_program,
            prober: self.prober,
        }
    }

    /// Nanoseconds since the run began.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// The sockets for `address`.
    #[inline]
    pub(super) fn channel(&mut self, address: IpAddr) -> Option<&mut Channel> {
        self.channels
            .iter_mut()
            .find(|channel| channel.is_for(address))
    }
}

/// Where answers come from.
#[inline]
pub(super) fn sources<'a>(
    ring: Option<&'a PacketRing>,
    channels: &'a [Channel],
) -> impl Iterator<Item = BorrowedFd<'a>> {
    let hearing = channels.iter().filter(|channel| channel.hears);
    let receivers = hearing.map(|channel| channel.receiver.as_fd());
    ring.map(AsFd::as_fd).into_iter().chain(receivers)
}

/// Readable when there is something to do: [`Pinger::on_readable`].
impl AsFd for Pinger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Looks at both clocks.
#[inline]
pub(super) fn look() -> Look {
    Look {
        before_ns: monotonic_ns(),
        wall_ns: realtime_ns(),
        after_ns: monotonic_ns(),
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
