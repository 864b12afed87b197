//! The state of a run over sockets.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use probe::targets::Targets;
use probe::{ClockReading, NeighbourPace, Prober, WallClock};
use ring::PacketRing;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::open::{self, probe_plan, require_memory};
use super::reply_batcher::ReplyBatcher;
use super::tx_timestamps::TxTimestamps;
use crate::ping::changes::{TargetChanges, TargetControl};
use crate::ping::error::{PingError, PingOperation, during};
use crate::ping::options::{Backend, PingOptions, nanoseconds};
use crate::ping::route;
use crate::ping::socket::{Dropped, FamilySocket, SocketSetup, stamps_on_arrival};
use crate::ping::summary::{Ended, LocalDrops, PingSummary, TimestampCounts};
use crate::stop::Stop;
use crate::timer::Timer;

/// A run: sockets, clocks, and the state machine.
///
/// One receiving and one sending socket per address family, whatever the number of targets.
#[derive(Debug)]
pub(in crate::ping) struct Engine {
    pub(super) prober: Prober,
    pub(super) sockets: Vec<FamilySocket>,
    /// Receives the replies that arrive on its interface.
    pub(super) ring: Option<PacketRing>,
    pub(super) epoll: OwnedFd,
    pub(super) timer: Timer,
    pub(super) clock: WallClock,
    /// Start of the run on the monotonic clock.
    pub(super) start_ns: u64,
    backend: Backend,
    pub(super) local_drops: LocalDrops,
    pub(super) buffer: Box<[u8]>,
    /// For the error queue, which is read while `buffer` holds a reply.
    pub(super) error_buffer: Box<[u8]>,
    pub(super) tx_timestamps: TxTimestamps,
    /// Timed replies, by the clock that stamped their probe and their arrival.
    pub(super) tx_counts: TimestampCounts,
    pub(super) rx_counts: TimestampCounts,
    pub(super) batcher: ReplyBatcher,
    pub(super) duration_ns: u64,
    pub(super) has_stopped_sending: bool,
    /// Time between groups of probes that are sent together; 0 without groups.
    pub(super) gather_ns: u64,
    /// The kernel is known to stamp packets on arrival, so they may be read later.
    pub(super) stamps_on_arrival: bool,
    /// In addition, the buffers have room for the replies to a group until the next group is sent.
    pub(super) can_defer_group: bool,
    /// Consecutive reads at an expiry that left more replies unread.
    pub(super) full_reads: u32,
    /// Damaged IPv6 messages that the ring received.
    pub(super) damaged_in_ring: u64,
    /// Probes sent since the thread last slept.
    pub(super) sends_since_sleep: u32,
    pub(super) tick_ns: Option<u64>,
    pub(super) next_tick_ns: u64,
    pub(super) changes: TargetChanges,
}

impl Engine {
    /// Opens the sockets for a run over `targets`.
    pub fn open(targets: Targets, options: &PingOptions) -> Result<Self, PingError> {
        let mut targets = targets;
        if let Some(paths) = options.paths {
            targets = targets.with_paths(paths);
        }
        let (mut plan, slow_pps) = probe_plan(options, targets.len())?;
        require_memory(plan.forecast(targets.len())?.memory_bytes)?;
        let is_slow = slow_pps.is_some();
        let ring = open::open_ring(&targets, options, is_slow, plan.identifier)?;
        let interface = match &options.interface {
            Some(name) => Some(open::interface_index(name)?),
            None => None,
        };
        let mut setup = SocketSetup {
            is_ipv6: false,
            backend: Backend::Raw,
            identifier: plan.identifier,
            interface,
            ring: ring.as_ref().map(|(_, scope)| *scope),
            tx_timestamps: is_slow && ring.is_none(),
            options,
        };
        let opened = open::open_sockets(&targets, ring.is_some(), &mut setup)?;
        let SocketSetup {
            backend,
            tx_timestamps,
            ..
        } = setup;
        let ring = ring.filter(|_| backend == Backend::Ring);
        let ring = ring.map(|(ring, _)| ring);
        plan.identifier = setup.identifier;
        let forecast = plan.forecast(targets.len())?;
        let (gather_ns, group) = (forecast.gather_ns(), forecast.group);
        let tx_timestamps =
            TxTimestamps::new(slow_pps.filter(|_| tx_timestamps), targets.len(), group);
        let mut prober = Prober::new(&plan, targets)?;
        let NeighbourPace { most, .. } = options.neighbours;
        route::mark_on_link(&mut prober, most)?;
        let with_message = |(mut socket, mut setup): (FamilySocket, SocketSetup<'_>)| {
            setup.identifier = plan.identifier;
            socket.message = setup.message(prober.filler());
            socket
        };
        let sockets: Vec<FamilySocket> = opened.into_iter().map(with_message).collect();

        let receiving = sockets.iter().filter(|socket| socket.receives);
        let room = receiving.map(FamilySocket::room).min();
        let room = room.unwrap_or(options.buffer_bytes);
        // A ring stamps all packets itself.
        let stamps_on_arrival =
            !sockets.iter().any(|socket| socket.receives) || stamps_on_arrival();

        let wait = PingOperation::Wait;
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(during(wait))?;
        let timer = Timer::new().map_err(during(wait))?;
        let changes = TargetChanges::new(options.resolve_every, most).map_err(during(wait))?;
        changes.share_names(prober.targets());
        let others = [timer.as_fd(), changes.as_fd()];
        for source in sources(ring.as_ref(), &sockets).chain(others) {
            add(&epoll, source).map_err(during(wait))?;
        }
        let tick_ns = options.tick.map(nanoseconds);
        let mut engine = Self {
            prober,
            sockets,
            ring,
            epoll,
            timer,
            clock: WallClock::new(read_clocks()),
            start_ns: monotonic_ns(),
            backend,
            local_drops: LocalDrops::default(),
            // An IPv6 header, an ICMP header and a quoted probe, all of maximum length.
            buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            error_buffer: vec![0; options.payload_bytes + 256].into_boxed_slice(),
            tx_timestamps,
            tx_counts: TimestampCounts::default(),
            rx_counts: TimestampCounts::default(),
            batcher: ReplyBatcher::new(plan.timeout_ns, options.payload_bytes, room),
            duration_ns: options.duration.map_or(u64::MAX, nanoseconds),
            has_stopped_sending: false,
            gather_ns,
            stamps_on_arrival,
            can_defer_group: stamps_on_arrival
                && ReplyBatcher::has_room_for(group, options.payload_bytes, room),
            full_reads: 0,
            damaged_in_ring: 0,
            sends_since_sleep: 0,
            tick_ns,
            next_tick_ns: tick_ns.unwrap_or(u64::MAX),
            changes,
        };
        engine.set_timer(0).map_err(during(wait))?;
        Ok(engine)
    }

    /// Makes the descriptor readable when `stop` is requested, too.
    pub fn wake_on(&self, stop: &Stop) -> io::Result<()> {
        add(&self.epoll, stop.as_fd())
    }

    /// Starts looking up names again, if that was requested and is not done yet.
    pub fn start_name_watch(&mut self) -> io::Result<()> {
        self.changes.start_name_watch()
    }

    pub fn control(&self) -> TargetControl {
        self.changes.control()
    }

    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Ends the sending now, as the duration does.
    pub fn end_sending(&mut self) -> io::Result<()> {
        if self.has_stopped_sending || self.prober.is_done() {
            return Ok(());
        }
        self.duration_ns = self.duration_ns.min(self.now_ns());
        self.set_timer(0)
    }

    /// Why the run ended, if it ends now.
    pub fn ended(&self) -> Ended {
        match (self.prober.is_done(), self.has_stopped_sending) {
            (false, _) => Ended::Stopped,
            (true, true) => Ended::Duration,
            (true, false) => Ended::Count,
        }
    }

    /// Replies that the kernel dropped, and the drops of all sockets; `None` if unknown.
    pub(super) fn dropped(&mut self) -> (Option<u64>, Option<Dropped>) {
        let of_ring = match &mut self.ring {
            Some(ring) => ring.refresh().ok().map(|()| ring.counters().dropped),
            None => Some(0),
        };
        let mut receiving = self.sockets.iter().filter(|socket| socket.receives);
        let add = |sum: Dropped, socket: &FamilySocket| {
            let dropped = socket.dropped()?;
            Some(Dropped {
                overruns: sum.overruns + dropped.overruns,
                damaged: sum.damaged + dropped.damaged,
            })
        };
        let of_sockets = receiving.try_fold(Dropped::default(), add);
        let overruns = of_ring.and_then(|dropped| Some(dropped + of_sockets?.overruns));
        (overruns, of_sockets)
    }

    /// Closes the sockets, and sums up the run.
    pub fn into_summary(mut self, ended: Ended) -> PingSummary {
        let (overruns, of_sockets) = self.dropped();
        // The ring has received these too, and counted them for their targets.
        let checksum_drops =
            of_sockets.map(|dropped| dropped.damaged.saturating_sub(self.damaged_in_ring));
        PingSummary {
            ended,
            duration: Duration::from_nanos(self.now_ns()),
            backend: self.backend,
            send_path: None,
            local_drops: self.local_drops,
            rate: None,
            overruns,
            checksum_drops,
            clock_steps: self.clock.steps(),
            rx_timestamps: self.rx_counts,
            tx_timestamps: self.tx_counts,
            statistics: self.prober,
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// The sockets for `address`.
    #[inline]
    pub(super) fn socket(&mut self, address: IpAddr) -> Option<&mut FamilySocket> {
        self.sockets
            .iter_mut()
            .find(|socket| socket.is_for(address))
    }

    /// Sets the timer to `at_ns` of the run.
    pub(super) fn set_timer(&mut self, at_ns: u64) -> io::Result<()> {
        self.timer.set(self.start_ns.saturating_add(at_ns))
    }
}

fn add(epoll: &OwnedFd, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    epoll::add(epoll, descriptor, EventData::new_u64(0), EventFlags::IN)?;
    Ok(())
}

/// The descriptors that replies arrive on.
#[inline]
pub(super) fn sources<'a>(
    ring: Option<&'a PacketRing>,
    sockets: &'a [FamilySocket],
) -> impl Iterator<Item = BorrowedFd<'a>> {
    let receiving = sockets.iter().filter(|socket| socket.receives);
    let receivers = receiving.map(|socket| socket.receiver.as_fd());
    ring.map(AsFd::as_fd).into_iter().chain(receivers)
}

/// Readable when there is something to do.
impl AsFd for Engine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[inline]
pub(super) fn read_clocks() -> ClockReading {
    ClockReading {
        before_ns: monotonic_ns(),
        wall_ns: realtime_ns(),
        after_ns: monotonic_ns(),
    }
}
