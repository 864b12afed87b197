//! A run whose probes are sent and whose replies are counted by programs in the kernel.

mod held_probes;
mod link_events;
mod maintenance;
mod rate;
mod sending;
mod statistics;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use bpf::EchoProber;
use netlink::{Link, MacAddress, Netlink};
use probe::targets::Targets;
use probe::{Forecast, NextAction, Probe, ProbePlan, Prober};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use self::rate::{IdleReason, RateMeter};
use super::af_xdp::FrameSender;
use super::counters::Counters;
use super::link_monitor::{LinkMonitor, MAX_UPLINK_PPS};
use super::routing::{HopOptions, HopUpdate, NextHops, REFRESH_NS, is_in_vrf, is_up, set_targets};
use super::setup::{EchoSender, EchoSetup, check, refused, require_frames, require_mtu, room};
use super::waiting_probes::{RoutelessProbes, WaitingProbes};
use crate::ping::changes::{TargetChanges, TargetControl};
use crate::ping::engine::{EngineState, probe_plan, require_memory};
use crate::ping::error::{PingError, PingOperation, XdpRefusal, during};
use crate::ping::event::PingEvent;
use crate::ping::options::{Backend, PingOptions, nanoseconds};
use crate::ping::route;
use crate::ping::summary::{Ended, LocalDrops, PingSummary, TimestampCounts};
use crate::send::SendPath;
use crate::stop::Stop;
use crate::timer::Timer;
use crate::uplink::{UplinkGuard, Uplinks};
use crate::wait::wait;

/// Probes that are sent in one call at most.
const BATCH: usize = 4096;
/// Time between two reads of the counters while the run may end with the next reply.
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
    link: LinkMonitor,
    epoll: OwnedFd,
    timer: Timer,
    changes: TargetChanges,
    /// Whether notifications of routes, and of neighbours, may be unread.
    notified: [bool; 2],
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
    /// Of a sweep, the latest target that a route led to.
    latest_reached: Option<u32>,
    tick_ns: Option<u64>,
    next_tick_ns: u64,
    next_refresh_ns: u64,
    /// Probes that wait for their neighbours.
    waiting: WaitingProbes,
    /// Probes that wait for their routes, after the interface was down.
    routeless: RoutelessProbes,
    /// Neighbours that have become known of probes to targets without a hop of their own.
    resolved: HashMap<Probe, (IpAddr, MacAddress)>,
    /// What has just become known of neighbours: their address, or an error of the kernel.
    answers: Vec<(IpAddr, Result<MacAddress, i32>)>,
    pass: HopUpdate,
    local_drops: LocalDrops,
    /// Messages among which the ICMP errors were that are known.
    errors_seen: u64,
    rate: RateMeter,
    /// Replies that end the run.
    max_replies: Option<u64>,
    /// Probes of each family that are due, as the programs take them.
    due: [Vec<(u32, u32)>; 2],
    is_over: bool,
}

impl XdpEngine {
    pub fn open(targets: Targets, options: &PingOptions) -> Result<Self, PingError> {
        check(&targets, options)?;
        let (mut plan, _) = probe_plan(options, targets.len())?;
        let interface = interface_of(&targets, options)?;
        let mut netlink = Netlink::open()?;
        let link = netlink.link_named(&interface)?;
        require_zone(&mut netlink, &targets, &link)?;
        require_mtu(&targets, options, &link)?;
        let mac = require_frames(&link)?;
        let forecast = plan.forecast(targets.len())?;
        let is_single = plan.rounds == Some(1);
        if let Some(source) = options.source {
            require_own(&mut netlink, source)?;
        }
        let hop_options = HopOptions {
            link: link.ifindex(),
            is_in_vrf: is_in_vrf(&link),
            source: options.source,
            pace: options.neighbours,
            is_single,
        };
        // From here on, changes are noted.
        let mut hops = NextHops::look_up(&targets, hop_options)?;
        let guard = guard_uplink(&mut netlink, &link, options, &forecast, &mut plan)?;
        require_hops(&mut netlink, &link, &targets, &mut hops)?;
        let room = room(&forecast, options.spare_targets);
        let each_bytes = Prober::bytes_with_kernel_counters(is_single);
        require_memory(each_bytes * u64::from(targets.len()))?;
        let mut prober = Prober::with_kernel_counters(&plan, targets, room)?;
        let start_ns = monotonic_ns();
        let setup = EchoSetup {
            prober: &prober,
            plan: &plan,
            forecast: &forecast,
            link: &link,
            mac,
            options,
            start_ns,
            hops: &hops,
            room,
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
        let timer = Timer::new().map_err(during(PingOperation::Wait))?;
        let changes = target_changes(options, prober.targets(), is_single);
        let changes = changes.map_err(during_wait())?;
        let tick_ns = options.tick.map(nanoseconds);
        let rate = RateMeter::new(options, prober.targets(), &forecast);
        let mut engine = Self {
            prober,
            echo,
            frames,
            families,
            hops,
            link: LinkMonitor::new(netlink, &link, mac, is_single, guard),
            epoll,
            timer,
            changes,
            notified: [true; 2],
            changed: Vec::new(),
            start_ns,
            begun_ns: None,
            timeout_ns: plan.timeout_ns,
            last_sent_ns: 0,
            duration_ns: options.duration.map_or(u64::MAX, nanoseconds),
            has_stopped_sending: false,
            is_single,
            latest_reached: None,
            tick_ns,
            next_tick_ns: tick_ns.unwrap_or(u64::MAX),
            next_refresh_ns: REFRESH_NS,
            waiting: WaitingProbes::default(),
            routeless: RoutelessProbes::default(),
            resolved: HashMap::new(),
            answers: Vec::new(),
            pass: HopUpdate {
                next: count,
                is_due: false,
                not_before_ns: 0,
            },
            local_drops: LocalDrops::default(),
            errors_seen: 0,
            rate,
            max_replies: options.max_replies,
            due: [Vec::with_capacity(BATCH), Vec::with_capacity(BATCH)],
            is_over: false,
        };
        // What the kernel knows by now.
        engine.follow_neighbours(0, &mut |_, _| {});
        engine.add_own().map_err(during_wait())?;
        engine.set_timer(0).map_err(during_wait())?;
        Ok(engine)
    }

    /// Lets everything wake it that belongs to the run.
    fn add_own(&self) -> io::Result<()> {
        self.add(self.timer.as_fd())?;
        self.add(self.changes.as_fd())?;
        self.hops
            .wakers()
            .into_iter()
            .try_for_each(|waker| self.add(waker))
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
        self.clear_waiting();
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
            rate: Some(self.rate.rate()),
            overruns: None,
            checksum_drops: None,
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
        self.notified = [true; 2];
        let Some(until_ns) = self.round(observe)? else {
            // The descriptor stays readable: an event loop learns of the end after the last events.
            self.set_timer(0)?;
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
        while let Some(until_ns) = self.round(observe)? {
            let left_ns = until_ns.saturating_sub(self.now_ns());
            let left_ns = if left_ns <= SPIN_NS { 0 } else { left_ns };
            let readable = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
            let [routes, neighbours] = self.hops.wakers();
            let wakers = [stop.as_fd(), self.changes.as_fd(), routes, neighbours];
            let mut wakers = wakers.map(readable);
            wait(&mut wakers, Duration::from_nanos(left_ns))?;
            let [is_stopped, _, routes, neighbours] =
                wakers.map(|waker| !waker.revents().is_empty());
            if is_stopped {
                return Ok(Ended::Stopped);
            }
            self.notified = [routes, neighbours];
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
    ///
    /// # Errors
    /// ENODEV if the interface was removed; ENETDOWN if a sweep has waited for it, for routes, or for a gateway in vain.
    fn round(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) -> io::Result<Option<u64>> {
        let now_ns = self.now_ns();
        self.begin(now_ns);
        self.rate.enter(now_ns);
        if self.has_enough() {
            return Ok(None);
        }
        // Before anything is sent: without the interface, the kernel would refuse every probe.
        if self.notified[0] {
            self.read_notifications(now_ns);
        }
        self.follow_link(now_ns)?;
        self.follow_uplinks(now_ns, observe);
        if now_ns >= self.duration_ns && !self.has_stopped_sending {
            self.has_stopped_sending = true;
            self.prober.stop(now_ns);
            self.clear_waiting();
        }
        self.change_targets(now_ns, observe);
        if self.is_single {
            let ended = |target, prober: &Prober| observe(PingEvent::Ended { target }, prober);
            self.prober.expire_single(now_ns, ended);
        } else {
            self.prober.expire(now_ns, |_| {});
        }
        self.follow_neighbours(now_ns, observe);
        self.refuse_overdue(now_ns, observe);
        let mut until_ns = now_ns;
        for _ in 0..BATCH {
            if self.link.outage.is_held() {
                // Its route may be back later than those of others.
                self.latest_reached = None;
                until_ns = self.link.outage.end_ns();
                break;
            }
            let next = if self.has_full_queue() {
                // No other one until a neighbour is known.
                self.prober.next_waiting(now_ns)
            } else {
                self.prober.next(now_ns)
            };
            match next {
                NextAction::Send(probe) => self.take(probe, now_ns, observe),
                NextAction::Wait(at_ns) => {
                    until_ns = at_ns;
                    break;
                }
                NextAction::Done => break,
            }
        }
        self.flush_all(observe);
        if self.prober.has_sent_all() {
            let end_ns = self.last_sent_ns.saturating_add(self.timeout_ns);
            let now_ns = self.now_ns();
            if now_ns > end_ns || self.are_all_answered() {
                self.end(observe);
                self.is_over = true;
                return Ok(None);
            }
            until_ns = (end_ns + 1).min(now_ns + LAST_ANSWERS_NS);
        } else if now_ns >= self.link.outage.end_ns() {
            return Err(Errno::NETDOWN.into());
        }
        let was_held = self.link.outage.is_held();
        let upkeep_ns = self.keep_up(now_ns, observe);
        let upkeep_ns = if was_held && !self.link.outage.is_held() {
            // Probes are due.
            now_ns
        } else {
            upkeep_ns
        };
        let final_ns = self.prober.next_final_ns().unwrap_or(u64::MAX);
        let end_ns = if self.has_stopped_sending {
            u64::MAX
        } else {
            self.duration_ns
        };
        let until_ns = until_ns.min(final_ns).min(end_ns).min(upkeep_ns);
        let now_ns = self.now_ns();
        let idle = if self.link.outage.lacks_gateway() {
            IdleReason::Neighbours
        } else if self.link.outage.is_held() {
            IdleReason::Interface
        } else if self.has_full_queue() {
            IdleReason::Neighbours
        } else if self.prober.has_full_flight() {
            IdleReason::Flight
        } else {
            IdleReason::Schedule
        };
        self.rate.leave(now_ns, idle);
        Ok(Some(until_ns.min(self.next_count_ns(now_ns))))
    }

    /// Ends the run: what arrives from now on is not counted.
    fn end(&mut self, observe: &mut impl FnMut(PingEvent, &Prober)) {
        self.read_all();
        let ended = |target, prober: &Prober| observe(PingEvent::Ended { target }, prober);
        self.prober.end_all(ended);
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

/// Takes changes of the targets. A sweep refuses them.
fn target_changes(
    options: &PingOptions,
    targets: &Targets,
    is_single: bool,
) -> io::Result<TargetChanges> {
    // All neighbours have their pace here.
    let changes = TargetChanges::new(options.resolve_every, u32::MAX)?;
    changes.share_names(targets);
    if is_single {
        changes.refuse();
    }
    Ok(changes)
}

/// The interface of the options, or the one that the routes lead to.
fn interface_of(targets: &Targets, options: &PingOptions) -> Result<String, PingError> {
    let named = options.interface.clone();
    let interface = named.or_else(|| route::egress_interface(targets, options.source));
    interface.ok_or(PingError::NoInterface)
}

/// Refuses a target on another interface than `link`: its address may be that of another host here.
fn require_zone(netlink: &mut Netlink, targets: &Targets, link: &Link) -> Result<(), PingError> {
    let mut others = targets
        .zones()
        .filter(|(_, zone)| *zone != link.ifindex().0);
    let other = others.find_map(|(host, zone)| Some((targets.address(host)?, zone)));
    let Some((address, zone)) = other else {
        return Ok(());
    };
    let links = netlink.links()?.items;
    let zone_link = links.iter().find(|link| link.ifindex().0 == zone);
    Err(refused(XdpRefusal::Zone {
        address,
        zone: zone_link.map_or_else(|| zone.to_string(), |link| link.ifname().to_string()),
        link: link.ifname().to_string(),
    }))
}

/// Refuses a rate that needs consent on an uplink. Limits that of a slower run there: targets that are added later raise it, and
/// so do probes that have waited for their neighbours. Returns what is to be watched if it is no uplink yet.
fn guard_uplink(
    netlink: &mut Netlink,
    link: &Link,
    options: &PingOptions,
    forecast: &Forecast,
    plan: &mut ProbePlan,
) -> Result<Option<UplinkGuard>, PingError> {
    let pps = u64::from(forecast.targets) * 1_000_000_000;
    let pps = pps.checked_div(forecast.round_ns).unwrap_or(u64::MAX);
    let is_fast = pps > MAX_UPLINK_PPS.into();
    let is_limited = plan.rate_pps.is_some_and(|pps| pps <= MAX_UPLINK_PPS);
    if is_limited || options.allow_uplink {
        return Ok(None);
    }
    let uplinks = Uplinks::list(netlink)?;
    if !uplinks.include(netlink, link)? {
        return Ok(Some(UplinkGuard::new(uplinks)));
    }
    if is_fast {
        let link = link.ifname().to_string();
        return Err(PingError::Uplink { link });
    }
    plan.rate_pps = Some(MAX_UPLINK_PPS);
    Ok(None)
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

/// The interface has to reach some target, or a name that has no address yet.
fn require_hops(
    netlink: &mut Netlink,
    link: &Link,
    targets: &Targets,
    hops: &mut NextHops,
) -> Result<(), PingError> {
    let mut hosts = 0..targets.len();
    if !hops.is_empty() || hosts.any(|target| targets.address(target).is_none()) {
        return Ok(());
    }
    let mut all = (0..targets.len()).filter_map(|target| targets.address(target));
    if all.any(|address| hops.is_local(address)) {
        return Err(refused(XdpRefusal::OwnAddress));
    }
    let name = link.ifname().to_string();
    if !is_up(link) {
        return Err(refused(XdpRefusal::LinkDown { link: name }));
    }
    let own = netlink.addresses()?.items;
    let own: Vec<IpAddr> = own
        .iter()
        .filter(|own| own.dev == Some(link.ifindex()))
        .filter_map(|own| own.local)
        .collect();
    let mut families = [(false, "IPv4"), (true, "IPv6")]
        .into_iter()
        .filter(|(is_ipv6, _)| targets.has_family(*is_ipv6));
    let first = families.clone().next();
    let has_address = families.any(|(is_ipv6, _)| own.iter().any(|own| own.is_ipv6() == is_ipv6));
    Err(refused(match first {
        Some((_, family)) if !has_address => XdpRefusal::NoAddress { link: name, family },
        _ => XdpRefusal::OtherInterface { link: name },
    }))
}
