//! A run whose probes are sent and whose replies are counted by programs in the kernel.

mod sending;

use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use bpf::EchoProber;
use netlink::Netlink;
use probe::targets::Targets;
use probe::{CountedAnswers, NetworkError, NextAction, OtherCounts, Prober};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags};

use super::af_xdp::FrameSender;
use super::counters::Counters;
use super::hops::NextHops;
use super::setup::{EchoSender, EchoSetup, check, refused, room};
use crate::ping::changes::{TargetChanges, TargetControl};
use crate::ping::engine::{EngineState, probe_plan, require_memory};
use crate::ping::error::{PingError, PingOperation, XdpRefusal, during};
use crate::ping::event::{PingEvent, TargetChange};
use crate::ping::options::{Backend, PingOptions, nanoseconds};
use crate::ping::route;
use crate::ping::summary::{Ended, LocalDrops, PingSummary, TimestampCounts};
use crate::ping::timer::Timer;
use crate::send::{SendPath, is_uplink};
use crate::stop::Stop;
use crate::wait::wait;

/// Probes that are sent in one call at most.
const BATCH: usize = 4096;
/// Rate up to which an interface with a default route may be used without consent.
const MAX_UPLINK_PPS: u64 = 10_000;
/// Targets whose round trips are summed at each tick. Those of more are at the end.
const MAX_LIVE_TARGETS: u32 = 65_536;
/// Targets whose hops are written in one call after routes have changed.
const TARGETS_AT_ONCE: u32 = 4096;
/// Next hops that may be added while routes and targets change, 8 bytes each.
const SPARE_HOPS: u32 = 65_536;
/// Time between two reads of the neighbour table while some next hops are not in it.
const REFRESH_NS: u64 = 1_000_000_000;
/// Time after which the table is read for targets that were added, and minimum between two reads after changes.
const RESOLVE_NS: u64 = 50_000_000;
/// Time between two reads of the counters once all probes are sent.
const LAST_ANSWERS_NS: u64 = 5_000_000;
/// Shorter waits do not sleep: waking up takes longer.
const SPIN_NS: u64 = 50_000;

/// A run. Its statistics are those of the programs whenever they were read last.
#[derive(Debug)]
pub(in crate::ping) struct XdpEngine {
    prober: Prober,
    echo: EchoProber,
    /// Sends the requests, if programs do not.
    frames: Option<FrameSender>,
    /// Whether there are requests of each family.
    families: [bool; 2],
    hops: NextHops,
    epoll: OwnedFd,
    timer: Timer,
    changes: TargetChanges,
    /// Targets that have changed, whose addresses and hops are to be written.
    changed: Vec<u32>,
    /// The origin of all times of the run, before the programs are loaded.
    start_ns: u64,
    /// The first round, from which the duration counts.
    begun_ns: Option<u64>,
    timeout_ns: u64,
    last_sent_ns: u64,
    duration_ns: u64,
    has_stopped_sending: bool,
    /// Whether there is one probe to each target.
    is_single: bool,
    tick_ns: Option<u64>,
    next_tick_ns: u64,
    next_refresh_ns: u64,
    refreshed_ns: u64,
    pass: HopPass,
    local_drops: LocalDrops,
    /// Probes of each family that are due, as the programs take them.
    due: [Vec<(u32, u32)>; 2],
    is_over: bool,
}

/// A pass over the targets that writes their hops, after routes have changed.
#[derive(Clone, Copy, Debug)]
struct HopPass {
    /// The next target of the pass; past the last one if there is none.
    next: u32,
    /// Whether another pass is to follow.
    is_due: bool,
}

impl XdpEngine {
    pub fn open(targets: Targets, options: &PingOptions) -> Result<Self, PingError> {
        check(&targets, options)?;
        let (plan, _) = probe_plan(options, targets.len())?;
        let interface = options.interface.clone();
        let interface = interface.or_else(|| route::egress_interface(&targets));
        let interface = interface.ok_or(PingError::NoInterface)?;
        let mut netlink = Netlink::open()?;
        let link = netlink.link_named(&interface)?;
        let forecast = plan.forecast(targets.len())?;
        let pps = u64::from(targets.len()) * 1_000_000_000;
        let pps = pps.checked_div(forecast.round_ns).unwrap_or(u64::MAX);
        let is_fast = pps > MAX_UPLINK_PPS && !options.allow_uplink;
        if is_fast && is_uplink(&mut netlink, &link)? {
            return Err(PingError::Uplink { link: interface });
        }
        if let Some(source) = options.source {
            require_own(&mut netlink, source)?;
        }
        let mut hops = NextHops::look_up(&targets, link.ifindex())?;
        require_hops(&targets, &hops, interface)?;
        hops.resolve()?;
        let is_single = plan.rounds == Some(1);
        let room = room(&forecast, options.spare_targets);
        require_memory(Prober::BYTES_ELSEWHERE * u64::from(targets.len()))?;
        let mut prober = Prober::counted_elsewhere(&plan, targets, room)?;
        let start_ns = monotonic_ns();
        let setup = EchoSetup {
            prober: &prober,
            plan: &plan,
            forecast: &forecast,
            link: &link,
            options,
            start_ns,
            hops: &hops,
            room,
            hops_room: hops.len().saturating_add(SPARE_HOPS),
        };
        let EchoSender {
            mut echo,
            frames,
            families,
        } = setup.open()?;
        let count = prober.targets().len();
        set_targets(&mut echo, &mut hops, prober.targets(), 0..count);
        prober.read_from(Box::new(Counters(echo.counters())));
        let during_wait = || during(PingOperation::Wait);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(during(PingOperation::Wait))?;
        let timer = Timer::new();
        let timer = timer.map_err(during(PingOperation::Wait))?;
        let changes = TargetChanges::new(options.resolve_every, options.neighbours.most);
        let changes = changes.map_err(during_wait())?;
        changes.share_names(prober.targets());
        if is_single {
            changes.refuse();
        }
        let tick_ns = options.tick.map(nanoseconds);
        let mut engine = Self {
            prober,
            echo,
            frames,
            families,
            hops,
            epoll,
            timer,
            changes,
            changed: Vec::new(),
            start_ns,
            begun_ns: None,
            timeout_ns: plan.timeout_ns,
            last_sent_ns: 0,
            duration_ns: options.duration.map_or(u64::MAX, nanoseconds),
            has_stopped_sending: false,
            is_single,
            tick_ns,
            next_tick_ns: tick_ns.unwrap_or(u64::MAX),
            next_refresh_ns: REFRESH_NS,
            refreshed_ns: 0,
            pass: HopPass {
                next: count,
                is_due: false,
            },
            local_drops: LocalDrops::default(),
            due: [Vec::with_capacity(BATCH), Vec::with_capacity(BATCH)],
            is_over: false,
        };
        engine.write_hops();
        engine.add(engine.timer.as_fd()).map_err(during_wait())?;
        engine.add(engine.changes.as_fd()).map_err(during_wait())?;
        for waker in engine.hops.wakers() {
            engine.add(waker).map_err(during_wait())?;
        }
        engine.set_timer(0).map_err(during_wait())?;
        Ok(engine)
    }

    pub fn wake_on(&self, stop: &Stop) -> io::Result<()> {
        self.add(stop.as_fd())
    }

    fn add(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let data = EventData::new_u64(0);
        epoll::add(&self.epoll, descriptor, data, EventFlags::IN)?;
        Ok(())
    }

    pub fn start_name_watch(&mut self) -> io::Result<()> {
        self.changes.start_name_watch()
    }

    pub fn prober(&self) -> &Prober {
        &self.prober
    }

    /// How requests leave.
    pub fn send_path(&self) -> SendPath {
        match self.frames {
            None => SendPath::LiveFrames,
            Some(_) => SendPath::Xdp,
        }
    }

    pub fn control(&self) -> TargetControl {
        self.changes.control()
    }

    pub fn end_sending(&mut self) -> io::Result<()> {
        let now_ns = self.now_ns();
        self.begin(now_ns);
        self.duration_ns = self.duration_ns.min(now_ns);
        self.set_timer(0)
    }

    pub fn ended(&self) -> Ended {
        match (self.is_over, self.has_stopped_sending) {
            (false, _) => Ended::Stopped,
            (true, true) => Ended::Duration,
            (true, false) => Ended::Count,
        }
    }

    pub fn into_summary(mut self, ended: Ended) -> PingSummary {
        self.read_all();
        let received = self.prober.total().received;
        let stamped = TimestampCounts {
            kernel: received,
            user: 0,
        };
        let send_path = self.send_path();
        let stamped_here = TimestampCounts {
            kernel: 0,
            user: received,
        };
        PingSummary {
            ended,
            duration: self.duration(),
            backend: Backend::Xdp,
            send_path: Some(send_path),
            local_drops: self.local_drops,
            overruns: Some(0),
            checksum_drops: Some(0),
            clock_steps: 0,
            rx_timestamps: stamped,
            tx_timestamps: match send_path {
                SendPath::LiveFrames => stamped,
                _ => stamped_here,
            },
            statistics: self.prober,
        }
    }

    /// Does what is due, and reports it. Does not sleep, except while the driver has no room.
    pub fn on_readable(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
    ) -> io::Result<EngineState> {
        let Some(until_ns) = self.round(observe) else {
            return Ok(EngineState::Done);
        };
        self.set_timer(until_ns)?;
        Ok(EngineState::Running)
    }

    /// Runs until all probes are answered or lost, the duration is over, or `stop` is requested.
    pub fn run(
        &mut self,
        observe: &mut impl FnMut(PingEvent, &Prober),
        stop: &Stop,
    ) -> io::Result<Ended> {
        while let Some(until_ns) = self.round(observe) {
            let left_ns = until_ns.saturating_sub(self.now_ns());
            let left_ns = if left_ns <= SPIN_NS { 0 } else { left_ns };
            let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
            let [routes, neighbours] = self.hops.wakers();
            let wakers = [stop.as_fd(), self.changes.as_fd(), routes, neighbours];
            let mut wakers = wakers.map(readable);
            wait(&mut wakers, Duration::from_nanos(left_ns))?;
            if !wakers[0].revents().is_empty() {
                return Ok(Ended::Stopped);
            }
        }
        Ok(self.ended())
    }

    /// Lets the duration count from now, if it does not yet.
    fn begin(&mut self, now_ns: u64) {
        if self.begun_ns.is_none() {
            self.begun_ns = Some(now_ns);
            self.duration_ns = self.duration_ns.saturating_add(now_ns);
        }
    }

    /// How long it has run.
    fn duration(&self) -> Duration {
        let ran_ns = self.begun_ns.map_or(0, |begun_ns| self.now_ns() - begun_ns);
        Duration::from_nanos(ran_ns)
    }

    /// Sends what is due. Returns when to continue; `None` at the end of the run.
    fn round(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) -> Option<u64> {
        let now_ns = self.now_ns();
        self.begin(now_ns);
        if now_ns >= self.duration_ns && !self.has_stopped_sending {
            self.has_stopped_sending = true;
            self.prober.stop(now_ns);
        }
        self.change_targets(now_ns, observe);
        if self.is_single {
            let ended = |target, prober: &Prober| observe(PingEvent::Ended { target }, prober);
            self.prober.expire_elsewhere(now_ns, ended);
        } else {
            self.prober.expire(now_ns, |_| {});
        }
        let mut until_ns = now_ns;
        for _ in 0..BATCH {
            match self.prober.next(now_ns) {
                NextAction::Send(probe) => self.take(probe, now_ns, observe),
                NextAction::Wait(at_ns) => {
                    until_ns = at_ns;
                    break;
                }
                NextAction::Done => break,
            }
        }
        for is_ipv6 in [false, true] {
            self.flush(is_ipv6, observe);
        }
        if self.prober.has_sent_all() {
            let end_ns = self.last_sent_ns.saturating_add(self.timeout_ns);
            let now_ns = self.now_ns();
            if now_ns > end_ns || self.are_all_answered() {
                self.end(observe);
                self.is_over = true;
                return None;
            }
            until_ns = (end_ns + 1).min(now_ns + LAST_ANSWERS_NS);
        }
        if self.keep_up(now_ns, observe) {
            until_ns = now_ns;
        }
        let final_ns = self.prober.next_final_ns().unwrap_or(u64::MAX);
        let end_ns = if self.has_stopped_sending {
            u64::MAX
        } else {
            self.duration_ns
        };
        let until_ns = until_ns.min(final_ns).min(end_ns);
        Some(until_ns.min(self.next_tick_ns).min(self.next_refresh_ns))
    }

    /// Makes the requested changes of the targets, and reports targets that have ended.
    fn change_targets(&mut self, now_ns: u64, observe: &mut impl FnMut(PingEvent, &Prober)) {
        self.prober.end_targets(now_ns);
        while let Some(target) = self.prober.next_ended() {
            observe(PingEvent::Ended { target }, &self.prober);
        }
        let changed = &mut self.changed;
        let mut note = |event, prober: &Prober| {
            if let PingEvent::TargetChange {
                target,
                change: TargetChange::Added | TargetChange::Address { .. },
            } = event
            {
                changed.push(target);
            }
            observe(event, prober);
        };
        self.changes.apply(&mut self.prober, &mut note);
        self.changed.extend(self.changes.resettled());
        if self.changed.is_empty() {
            return;
        }
        let targets = self.prober.targets();
        for target in self.changed.drain(..) {
            let numbers = target..target + 1;
            set_targets(&mut self.echo, &mut self.hops, targets, numbers);
        }
        // Requests the missing neighbours from the kernel.
        if self.hops.refresh().is_ok() {
            self.write_hops();
        }
        self.next_refresh_ns = self.next_refresh_ns.min(now_ns + RESOLVE_NS);
    }

    /// Whether each probe that was sent has its first answer.
    fn are_all_answered(&self) -> bool {
        let totals = self.echo.totals();
        totals.received + totals.late + totals.errors >= self.prober.total().sent
    }

    /// Ticks, and changes of routes and neighbours. Returns whether there is more to do.
    fn keep_up(&mut self, now_ns: u64, observe: &mut impl FnMut(PingEvent, &Prober)) -> bool {
        if self.hops.recheck_routes() {
            self.pass.is_due = true;
        }
        if self.hops.have_neighbours_changed() {
            let soon_ns = self.refreshed_ns.saturating_add(RESOLVE_NS);
            self.next_refresh_ns = self.next_refresh_ns.min(soon_ns);
        }
        if now_ns >= self.next_refresh_ns {
            // A later refresh reads the table again.
            let is_read = self.hops.refresh().is_ok();
            if is_read {
                self.write_hops();
            }
            self.refreshed_ns = now_ns;
            self.next_refresh_ns = if is_read && !self.hops.has_missing() {
                u64::MAX
            } else {
                now_ns + REFRESH_NS
            };
        }
        self.follow_routes();
        if now_ns >= self.next_tick_ns {
            self.read_totals(self.prober.targets().len() <= MAX_LIVE_TARGETS);
            observe(PingEvent::Tick { overruns: Some(0) }, &self.prober);
            let tick_ns = self.tick_ns.unwrap_or(u64::MAX).max(1);
            self.next_tick_ns = now_ns.saturating_add(tick_ns);
        }
        let is_passing = self.pass.is_due || self.pass.next < self.prober.targets().len();
        is_passing || self.hops.is_recheck_pending()
    }

    /// Writes the hops of some targets after routes have changed. A pass over all of them takes many calls.
    fn follow_routes(&mut self) {
        let count = self.prober.targets().len();
        if self.pass.next >= count {
            if !self.pass.is_due {
                return;
            }
            self.pass = HopPass {
                next: 0,
                is_due: false,
            };
        }
        let end = self.pass.next.saturating_add(TARGETS_AT_ONCE).min(count);
        let numbers = self.pass.next..end;
        let targets = self.prober.targets();
        set_targets(&mut self.echo, &mut self.hops, targets, numbers);
        self.pass.next = end;
    }

    fn write_hops(&mut self) {
        for (hop, mac) in self.hops.known() {
            self.echo.set_hop(hop, mac.0);
        }
    }

    /// Ends the run: what arrives from now on is not counted.
    fn end(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        self.read_all();
        let ended = |target, prober: &Prober| observe(PingEvent::Ended { target }, prober);
        self.prober.end_all(ended);
    }

    /// Copies the counters of the programs; with the sums of all round trips if `has_sums`.
    fn read_totals(&mut self, has_sums: bool) {
        let totals = self.echo.totals();
        let mut all = CountedAnswers {
            received: totals.received,
            late: totals.late,
            duplicate: totals.duplicate,
            corrupt: totals.corrupt,
            errors: totals.errors,
            min_ns: u64::MAX,
            ..CountedAnswers::default()
        };
        self.prober.set_total(&all);
        let mut others = OtherCounts::default();
        others.wrong_source = totals.wrong_source;
        others.forged = totals.forged;
        others.cut_short = totals.cut_short;
        others.foreign = totals.foreign;
        others.stale = totals.stale;
        others.notices = totals.notices;
        self.prober.set_other_counts(others);
        if !has_sums {
            return;
        }
        let counters = self.echo.counters();
        for target in 0..self.prober.targets().len() {
            let answers = counters.target(target);
            all.sum_ns += u128::from(answers.sum_ns);
            all.squares += answers.squares;
            all.max_ns = all.max_ns.max(answers.max_ns);
            if answers.received > 0 {
                all.min_ns = all.min_ns.min(answers.min_ns);
            }
        }
        self.prober.set_answers(&self.echo.histogram(), &all);
    }

    /// The same at the end, with the ICMP errors. The counters do not change after that.
    fn read_all(&mut self) {
        if self.is_over {
            return;
        }
        self.echo.detach();
        self.read_totals(true);
        let prober = &mut self.prober;
        // Without the table, the counters of the targets still say how many errors there were.
        let _ = self.echo.errors(|error, count| {
            let error = NetworkError {
                router: error.router,
                kind: error.kind,
                code: error.code,
            };
            prober.add_error(error, count);
        });
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.start_ns)
    }

    /// Sets the timer to `at_ns` of the run.
    fn set_timer(&mut self, at_ns: u64) -> io::Result<()> {
        self.timer.set(self.start_ns.saturating_add(at_ns))
    }
}

/// Readable when there is something to do.
impl AsFd for XdpEngine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Refuses a source that no interface has, as `bind` does.
fn require_own(netlink: &mut Netlink, source: IpAddr) -> Result<(), PingError> {
    let addresses = netlink.addresses()?.items;
    if addresses.iter().any(|own| own.local == Some(source)) {
        return Ok(());
    }
    Err(PingError::Kernel {
        operation: PingOperation::BindSource,
        source: io::Error::from_raw_os_error(libc::EADDRNOTAVAIL),
    })
}

/// The interface has to reach some target.
fn require_hops(targets: &Targets, hops: &NextHops, interface: String) -> Result<(), PingError> {
    if !hops.is_empty() {
        return Ok(());
    }
    let mut all = (0..targets.len()).filter_map(|target| targets.address(target));
    Err(refused(if all.any(|address| hops.is_local(address)) {
        XdpRefusal::OwnAddress
    } else {
        XdpRefusal::OtherInterface { link: interface }
    }))
}

/// Writes the addresses and hops of the targets in `numbers`.
fn set_targets(echo: &mut EchoProber, hops: &mut NextHops, targets: &Targets, numbers: Range<u32>) {
    hops.assign(targets, numbers, |target, hop| {
        if let Some(address) = targets.address(target) {
            echo.set_target(target, address, hop);
            let settings = targets.settings(targets.host(target));
            echo.set_timeout(target, settings.timeout_ns);
        }
    });
}
