//! The engine of a capture, which [`run`](super::Capture::run) and [`next`](super::Capture::next) share: rings,
//! limits, sleeping, changes while running, and closing.
//!
//! ```text
//! begin ─▶ (before_round ─▶ round ─▶ after_round)* ─▶ begin_closing ─▶ (round ─▶ closing_step)* ─▶ summary
//! ```

pub mod changes;
mod closing;
mod interface_down;
mod refilter;
mod split;
mod summary;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use filter::FilterWarning;
use netlink::{IfIndex, Netlink};
use ring::DeliveryMode;
use store::model::Interface as Description;
use store::write::StatisticsSource;

use super::account::counters::LiveCounters;
use super::account::link_poller::{InterfaceState, LinkPoller};
use super::account::loss_account::Account;
use super::account::reader_time::ReaderTime;
use super::account::summary::{Ended, OpenInterface};
use super::control::controller::Controller;
use super::control::handle::Control;
use super::control::member::{Member, Slot};
use super::control::new_interface::{InterfaceOpener, WholeInterfaces};
use super::control::pending::PendingChanges;
use super::control::shared::{ControlEnd, SharedController};
use super::control::thread::ControlThread;
use super::error::CaptureError;
use super::interface::Interface;
use super::plan::description;
use super::plan::interface_plan::InterfacePlan;
use super::plan::options::{CaptureOptions, check_mode};
use super::read::consumer::Consumer;
use super::read::dispatcher::{Dispatcher, Round};
use super::read::poller::{Interrupts, Poller, nanoseconds};
use super::read::queue::RxQueue;
use super::read::wake_policy::{Next, Sleep, WakePolicy};
use crate::stop::Stop;

/// The open rings of a capture.
pub struct Engine {
    /// Started on demand. Dropped first, so that it does not hold the rings when they are closed.
    control: Option<ControlThread>,
    /// The same, if the thread of a hotplug capture changes it.
    shared_control: Option<ControlEnd>,
    /// Dropped before the queues: programs are detached before their sockets are closed.
    interfaces: Vec<Interface>,
    pub queues: Vec<RxQueue>,
    descriptions: Vec<Description>,
    netlink: Netlink,
    /// For the link poller; of the network namespace of the interfaces. `None` without a poller: the account then
    /// has no losses of interface and driver until the end.
    link_poller_netlink: Option<Netlink>,
    pub poller: Poller,
    pub options: CaptureOptions,
    warnings: Vec<FilterWarning>,
    pending: Arc<PendingChanges>,
    start_ns: u64,
    live: LiveCounters,
    /// Interfaces that get no more packets.
    leaving: Vec<Leaving>,
    /// Interfaces that went down and may come back.
    down: Vec<IfIndex>,
    /// Packets that the rings had received when the deadline of the end was over.
    accepted_late: Option<u64>,
}

/// An interface that gets no more packets.
struct Leaving {
    /// Its place.
    place: usize,
    /// When not to wait for packets on their way any more.
    deadline_ns: u64,
}

/// The state of a running capture between rounds.
pub struct Run {
    end_ns: u64,
    tick_ns: u64,
    next_tick_ns: u64,
    next_check_ns: u64,
    link_poller: Option<LinkPoller>,
    /// `None` while it is being replaced.
    policy: Option<WakePolicy>,
    at_start: Option<ReaderTime>,
    is_changed: bool,
    is_replacing: bool,
}

impl Run {
    /// Whether the rings that are read have changed in this round.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }
}

/// How long a capture ran, and what its reader used.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTime {
    duration: Duration,
    reader: Option<ReaderTime>,
}

impl Engine {
    /// Opens all interfaces, in the network namespace of the calling thread.
    pub fn open(mut options: CaptureOptions) -> Result<Self, CaptureError> {
        check(&options.links)?;
        check_mode(&options)?;
        let wait = |source| CaptureError::Wait { source };
        let mut netlink = Netlink::open()?;
        let plans: Result<Vec<_>, _> = (options.links.iter())
            .map(|link| InterfacePlan::new(link, &options, &mut netlink))
            .collect();
        let plans = plans?;
        let mut warnings: Vec<FilterWarning> = Vec::new();
        for warning in plans.iter().flat_map(InterfacePlan::warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let poller = Poller::new().map_err(wait)?;
        // The rings keep them.
        let shares = std::mem::take(&mut options.shares);
        let mut interfaces = Vec::with_capacity(options.links.len());
        let mut queues = Vec::with_capacity(options.links.len());
        let mut descriptions = Vec::with_capacity(options.links.len());
        for (number, (link, plan)) in (0..).zip(options.links.iter().zip(plans)) {
            let mut own = options.clone();
            own.gather_in_kernel = own.gather_in_kernel.filter(|_| options.links.len() == 1);
            own.shares = shares.get(number as usize).cloned().into_iter().collect();
            let interface = Interface::open(link, number, plan, &own, &mut netlink, &mut queues)?;
            let described = description::interface(
                &mut netlink,
                &interface.link,
                &options,
                &interface.stamping,
            )?;
            descriptions.push(described);
            interfaces.push(interface);
        }
        for (number, queue) in queues.iter().enumerate() {
            poller.add(number, queue).map_err(wait)?;
        }
        let pending = Arc::new(PendingChanges::new().map_err(wait)?);
        poller.add_wake(pending.as_fd()).map_err(wait)?;
        let start_ns = monotonic_ns();
        Ok(Self {
            control: None,
            shared_control: None,
            interfaces,
            queues,
            descriptions,
            netlink,
            link_poller_netlink: options.threads.then(Netlink::open).transpose()?,
            poller,
            options,
            warnings,
            pending,
            start_ns,
            live: LiveCounters::default(),
            leaving: Vec::new(),
            down: Vec::new(),
            accepted_late: None,
        }
        .with_counters())
    }

    pub fn descriptions(&self) -> &[Description] {
        &self.descriptions
    }

    /// Renames the only interface, and says in its description which one it is.
    pub fn rename(&mut self, name: &str, description: &str) {
        for interface in &mut self.interfaces {
            name.clone_into(&mut interface.link.name);
        }
        for described in &mut self.descriptions {
            described.name = Some(name.to_owned());
            let alias = described.description.take();
            described.description = Some(match alias {
                Some(alias) => format!("{description}; {alias}"),
                None => description.to_owned(),
            });
        }
        self.live = self.counters();
    }

    pub fn warnings(&self) -> &[FilterWarning] {
        &self.warnings
    }

    pub fn interfaces(&self) -> impl Iterator<Item = OpenInterface<'_>> {
        let open = self.interfaces.iter();
        let open = open.filter(|interface| !interface.is_leaving());
        open.map(|interface| interface.opened(&self.queues))
    }

    pub fn control(&mut self) -> Control {
        let messages = if let Some(control) = &self.control {
            control.messages()
        } else {
            let members = vec![self.member()];
            let opener = Box::new(WholeInterfaces);
            let control = ControlThread::begin(members, self.options.clone(), opener);
            self.control.insert(control).messages()
        };
        Control::new(vec![self.pending.clone()], messages)
    }

    /// Lets the thread of a hotplug capture change this one. Call it once, instead of [`control`](Self::control).
    pub fn share_control(&mut self, opener: Box<dyn InterfaceOpener>) -> SharedController {
        let members = vec![self.member()];
        let controller = Controller::new(members, self.options.clone(), opener);
        let (shared, end) = SharedController::new(controller);
        self.shared_control = Some(end);
        shared
    }

    pub fn pending(&self) -> Arc<PendingChanges> {
        self.pending.clone()
    }

    /// What a control thread changes. Call it once.
    pub fn member(&mut self) -> Member {
        let (mode, queues) = (self.options.mode, &self.queues);
        let slots = self.interfaces.iter_mut().map(|interface| Slot {
            link: interface.link.clone(),
            number: interface.number,
            mode,
            hand_over: Some(interface.take_hand_over(queues)),
            filter: interface.filter(),
        });
        Member {
            interfaces: slots.collect(),
            pending: self.pending.clone(),
        }
    }

    pub fn statistics_source(&self) -> StatisticsSource {
        let counters = self.live.clone();
        Box::new(move || counters.statistics())
    }

    pub fn live(&mut self) -> LiveCounters {
        let states = self.query();
        self.measure(&states, 0);
        self.live.clone()
    }

    /// Packets delivered so far.
    pub fn delivered(&self) -> u64 {
        let interfaces = self.interfaces.iter();
        interfaces
            .map(|interface| interface.counters.account().delivered)
            .sum()
    }

    /// Longest time for which packets gather before they are read.
    pub fn batch_ns(&self) -> u64 {
        block_ns(self.options.delivery)
    }

    fn with_counters(mut self) -> Self {
        self.live = self.counters();
        self
    }

    /// Counters of the interfaces as they were opened.
    fn counters(&self) -> LiveCounters {
        let counters = |interface: &Interface| {
            let name = interface.link.name.clone();
            (name, interface.counters.clone())
        };
        LiveCounters::new(self.interfaces.iter().map(counters).collect())
    }

    /// When the time limit ends the capture, `CLOCK_MONOTONIC`.
    fn end_ns(&self) -> Option<u64> {
        let duration = self.options.limits.duration?;
        Some(self.start_ns.saturating_add(nanoseconds(duration)))
    }

    /// Makes the descriptor of the poller readable at the time limit.
    pub fn add_limit(&mut self) -> io::Result<()> {
        self.end_ns()
            .map_or(Ok(()), |at_ns| self.poller.add_limit(at_ns))
    }

    /// Starts the link poller and the limits. Must be called by the thread that reads.
    pub fn begin(&mut self) -> Run {
        let at_start = ReaderTime::now();
        let tick_ns = nanoseconds(self.options.tick).max(1);
        Run {
            end_ns: self.end_ns().unwrap_or(u64::MAX),
            tick_ns,
            next_tick_ns: monotonic_ns().saturating_add(tick_ns),
            next_check_ns: self.next_check_ns(),
            link_poller: self.start_link_poller(),
            policy: Some(WakePolicy::new(&self.options, &self.queues)),
            at_start,
            is_changed: false,
            is_replacing: false,
        }
    }

    /// Applies pending changes. Returns whether the waiting packets have to wait longer.
    pub fn before_round<C: Consumer>(
        &mut self,
        run: &mut Run,
        dispatcher: &mut Dispatcher<'_, C>,
    ) -> io::Result<bool> {
        run.is_changed = self.apply_pending(dispatcher, run.link_poller.as_ref())?;
        run.is_replacing = self.is_settling();
        if run.is_changed {
            // Of queues that are others now.
            run.policy = None;
        }
        let policy = run.policy.as_mut();
        Ok(!run.is_replacing && policy.is_some_and(|policy| policy.holds_back(&self.queues)))
    }

    /// Checks limits and interfaces after a round, calls the consumer's `idle` and `tick`, and sleeps at most
    /// until `max_until_ns`. Returns the reason to end the capture.
    pub fn after_round<C: Consumer>(
        &mut self,
        run: &mut Run,
        round: Round,
        dispatcher: &mut Dispatcher<'_, C>,
        stop: &Stop,
        max_until_ns: u64,
    ) -> io::Result<Option<Ended>> {
        run.is_changed |= run.is_replacing && self.advance()?;
        if !self.leaving.is_empty() {
            run.is_changed |= self.close_left(&self.states(run.link_poller.as_ref()))?;
        }
        if run.is_changed {
            // The new list of queues gets another one.
            run.policy = None;
            run.next_check_ns = run.next_check_ns.min(self.next_check_ns());
        }
        let policy =
            (run.policy).get_or_insert_with(|| WakePolicy::new(&self.options, &self.queues));
        if dispatcher.remaining == 0 {
            return Ok(Some(Ended::Packets));
        }
        let now_ns = monotonic_ns();
        let next = match policy.after(now_ns, round) {
            _ if run.is_changed => Next::Continue,
            // The rest of a ring that is being replaced is not worth a batch.
            next if run.is_replacing && next.is_sleep() => Next::ForPacket,
            next => next,
        };
        if next.is_sleep() {
            dispatcher.try_to(|consumer| consumer.idle(realtime_ns()));
        }
        if now_ns >= run.next_tick_ns {
            let account = self.measure(
                &self.states(run.link_poller.as_ref()),
                dispatcher.consumer.lost(),
            );
            dispatcher.try_to(|consumer| consumer.tick(realtime_ns(), &account));
            run.next_tick_ns = now_ns.saturating_add(run.tick_ns);
        }
        if now_ns >= run.end_ns || dispatcher.failure.is_some() {
            return Ok(Some(Ended::Duration));
        }
        if now_ns >= run.next_check_ns {
            if let Some(ended) = self.check_interfaces(&self.states(run.link_poller.as_ref())) {
                return Ok(Some(ended));
            }
            run.next_check_ns = self.next_check_ns();
        }
        let sleep = Sleep {
            poller: &self.poller,
            queues: &self.queues,
            interrupts: Interrupts {
                stop,
                is_pending: || self.pending.is_pending(),
                pending: self.pending.as_fd(),
            },
            now_ns,
            until_ns: (run.next_tick_ns.min(run.end_ns))
                .min(run.next_check_ns)
                .min(self.next_leave_ns(now_ns))
                .min(max_until_ns),
        };
        let wakeup = policy.wait(next, &sleep)?;
        let ended = wakeup.and_then(|wakeup| self.ended(wakeup));
        if self.has_down_link() {
            run.next_check_ns = run.next_check_ns.min(self.next_check_ns());
        }
        Ok(ended)
    }

    /// The time of a run that ends now.
    pub fn run_time(&self, run: Option<&Run>) -> RunTime {
        let at_start = run.and_then(|run| run.at_start);
        RunTime {
            duration: Duration::from_nanos(monotonic_ns().saturating_sub(self.start_ns)),
            reader: at_start.and_then(|start| ReaderTime::now()?.since(start)),
        }
    }

    /// The latest answers of the link poller.
    fn states(&self, link_poller: Option<&LinkPoller>) -> Vec<InterfaceState> {
        let mut states = link_poller.map_or_else(Vec::new, LinkPoller::states);
        let others = self.interfaces.iter().skip(states.len());
        states.extend(others.map(Interface::state_at_start));
        states
    }

    fn start_link_poller(&mut self) -> Option<LinkPoller> {
        let interval = if self.interfaces.iter().any(Interface::ends_silently) {
            self.options
                .tick
                .min(Duration::from_nanos(interface_down::CHECK_NS))
        } else {
            self.options.tick
        };
        let interfaces = self.interfaces.iter();
        let links = interfaces.clone().map(Interface::index).collect();
        let states = interfaces.map(Interface::state_at_start).collect();
        let netlink = self.link_poller_netlink.take()?;
        Some(LinkPoller::begin(netlink, links, states, interval))
    }

    /// Continues with the replacement of each ring that is at its end; returns whether there was one.
    fn advance(&mut self) -> io::Result<bool> {
        let mut is_changed = false;
        for (number, queue) in self.queues.iter_mut().enumerate() {
            if queue.can_advance()? {
                self.poller.remove(queue);
                queue.advance();
                self.poller.add(number, queue)?;
                self.pending.settle_one();
                is_changed = true;
            }
        }
        Ok(is_changed)
    }

    /// Queries all interfaces, and waits for the answers.
    fn query(&mut self) -> Vec<InterfaceState> {
        let interfaces = self.interfaces.iter();
        let query =
            |interface: &Interface| InterfaceState::query(&mut self.netlink, interface.index());
        interfaces.map(query).collect()
    }

    /// Updates the account with the interfaces' latest answers; the consumer lost `writer` packets.
    fn measure(&mut self, states: &[InterfaceState], writer: u64) -> Account {
        for (interface, state) in self.interfaces.iter_mut().zip(states) {
            interface.measure(&mut self.queues, state.statistics);
        }
        self.account(writer)
    }

    /// The account of all interfaces. Packets that the consumer took and lost are not delivered.
    fn account(&self, writer: u64) -> Account {
        let interfaces = self.interfaces.iter();
        let accounts = interfaces
            .clone()
            .map(|interface| interface.counters.account());
        let mut account: Account = accounts.sum();
        account.delivered = account.delivered.saturating_sub(writer);
        let unwritten = interfaces.map(|interface| interface.unwritten(&self.queues));
        account.lost.writer = writer + unwritten.sum::<u64>();
        account
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.pending.end();
    }
}

/// After how long the kernel hands over a block that is not full.
fn block_ns(delivery: DeliveryMode) -> u64 {
    match delivery {
        DeliveryMode::Batch { timeout: block, .. }
        | DeliveryMode::Blocks { timeout: block, .. }
        | DeliveryMode::Adaptive { target: block } => nanoseconds(block),
        _ => 0,
    }
}

fn check(links: &[String]) -> Result<(), CaptureError> {
    if links.is_empty() {
        return Err(CaptureError::NoLink);
    }
    for (number, link) in links.iter().enumerate() {
        if links[..number].contains(link) {
            return Err(CaptureError::LinkTwice { link: link.clone() });
        }
    }
    Ok(())
}
