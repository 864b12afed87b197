//! The capture itself: its lanes and limits.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use filter::Warning;
use netlink::{IfIndex, Netlink};
use store::model::Interface;
use store::write::StatisticsSource;

use super::change::Changer;
use super::consumer::Consumer;
use super::control::Control;
use super::delivery::{Delivery, Round};
use super::describe;
use super::error::CaptureError;
use super::lane::Lane;
use super::line::Changeable;
use super::live::Live;
use super::mode;
use super::opened::OpenLink;
use super::options::Options;
use super::outcome::{Ended, Outcome};
use super::pause::Step;
use super::port::Port;
use super::reader_time::ReaderTime;
use super::survey::{Presence, State, Survey};
use super::wait::{Waiter, Woken, nanoseconds};
use super::wanted::Wanted;
use super::wish::Wish;
use crate::stop::Stop;

/// Time between two looks after interfaces that end without a sign.
const LOOK_NS: u64 = 250_000_000;

/// An open capture: packets gather in its rings from here on.
pub struct Capture {
    /// `None` as long as nobody asks for it. First, so that it does not hold the rings when they are
    /// closed.
    pub(super) changer: Option<Changer>,
    /// Before the lanes: programs are detached before their sockets are closed.
    pub(super) ports: Vec<Port>,
    pub(super) lanes: Vec<Lane>,
    interfaces: Vec<Interface>,
    pub(super) netlink: Netlink,
    /// For the thread that asks the interfaces; of the network namespace in which they are.
    survey_netlink: Option<Netlink>,
    pub(super) waiter: Waiter,
    pub(super) options: Options,
    warnings: Vec<Warning>,
    pub(super) wish: Arc<Wish>,
    /// The longest time of a block, of all rings that were replaced.
    pub(super) block_ns: u64,
    start_ns: u64,
}

impl Capture {
    /// Opens a ring on every interface of `options`; in drop mode one on each of its receive queues, and
    /// waits up to half a second for queues that another socket is just leaving.
    ///
    /// A filter expression is compiled for each of them before any is opened.
    ///
    /// # Errors
    /// [`CaptureError`] says which interface and which step.
    /// # Privileges
    /// `CAP_NET_RAW`; with `CAP_BPF` the filter counts what it refuses. In drop mode `CAP_BPF` and
    /// `CAP_NET_ADMIN` too, and `CAP_PERFMON` for the fast way of a short snaplen and for a filter that computes with places in the packet.
    /// # Kernel
    /// Linux 4.20; 5.9 in drop mode.
    pub fn open(options: Options) -> Result<Self, CaptureError> {
        check(&options.links)?;
        mode::check(&options)?;
        let wait = |source| CaptureError::Wait { source };
        let mut netlink = Netlink::open()?;
        let wanted: Result<Vec<Wanted>, CaptureError> = (options.links.iter())
            .map(|link| Wanted::of(link, &options, &mut netlink))
            .collect();
        let wanted = wanted?;
        let mut warnings: Vec<Warning> = Vec::new();
        for warning in wanted.iter().flat_map(Wanted::warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let waiter = Waiter::new().map_err(wait)?;
        let mut ports = Vec::with_capacity(options.links.len());
        let mut lanes = Vec::with_capacity(options.links.len());
        let mut interfaces = Vec::with_capacity(options.links.len());
        for (number, (link, wanted)) in (0..).zip(options.links.iter().zip(wanted)) {
            let port = Port::open(link, number, wanted, &options, &mut netlink, &mut lanes)?;
            interfaces.push(describe::interface(&mut netlink, &port.link, &options)?);
            ports.push(port);
        }
        for (number, lane) in lanes.iter().enumerate() {
            waiter.add(number, lane).map_err(wait)?;
        }
        let wish = Arc::new(Wish::new().map_err(wait)?);
        waiter.add_wish(&wish).map_err(wait)?;
        let start_ns = monotonic_ns();
        Ok(Self {
            changer: None,
            ports,
            lanes,
            interfaces,
            netlink,
            survey_netlink: Some(Netlink::open()?),
            waiter,
            options,
            warnings,
            wish,
            block_ns: 0,
            start_ns,
        })
    }

    /// The interfaces, as a capture file describes them; packets name them by their place here.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// What a reader of the filter expression may not expect of it, on any of the interfaces.
    pub fn filter_warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The operating system that captures, as a capture file names it.
    pub fn operating_system() -> String {
        describe::operating_system()
    }

    /// The interfaces as they were opened, in their order.
    pub fn links(&self) -> impl Iterator<Item = OpenLink<'_>> {
        self.ports.iter().map(|port| port.opened(&self.lanes))
    }

    /// What changes it while it runs.
    ///
    /// The first call starts a thread, which opens rings in the network namespace and with the privileges
    /// of the calling thread: they have to be those with which the capture was opened.
    pub fn control(&mut self) -> Control {
        let (options, lanes, ports) = (&self.options, &self.lanes, &mut self.ports);
        let changer = self.changer.get_or_insert_with(|| {
            let now = Changeable {
                delivery: options.delivery,
                spin: options.spin,
                buffer_bytes: options.buffer_bytes,
                stall: options.stall,
            };
            let places = ports.iter_mut().map(|port| port.change(lanes));
            Changer::begin(places.collect(), now, self.wish.clone())
        });
        Control::new(self.wish.clone(), changer.messages())
    }

    /// Counters of the interfaces for files that end while the capture goes on: packets delivered up
    /// to that moment, the rest as of the last tick.
    pub fn statistics_source(&self) -> StatisticsSource {
        let counters: Vec<_> = (self.ports.iter())
            .map(|port| port.counters.clone())
            .collect();
        Box::new(move || {
            (0..)
                .zip(&counters)
                .map(|(number, counters)| counters.statistics(number, 0))
                .collect()
        })
    }

    /// The counters by interface, for whoever watches the capture from outside.
    pub fn live(&mut self) -> Live {
        let states = self.ask();
        self.measure(&states, 0);
        let port = |port: &Port| (port.link.name.clone(), port.counters.clone());
        Live {
            ports: self.ports.iter().map(port).collect(),
        }
    }

    /// Hands packets to `consumer` until a limit, `stop`, an interface or the consumer ends it.
    ///
    /// Then no more packets are let in, those already in the rings are handed over, and the account
    /// is closed. Blocks; sleeps while there is nothing to do.
    pub fn run<C: Consumer>(mut self, consumer: &mut C, stop: &Stop) -> Outcome {
        let wanted = self.options.limits.packets.unwrap_or(u64::MAX);
        let at_start = ReaderTime::now();
        let mut delivery = Delivery {
            consumer,
            wanted,
            failure: None,
        };
        let ended = self.work(&mut delivery, stop).unwrap_or_else(Ended::Wait);
        let duration = Duration::from_nanos(monotonic_ns().saturating_sub(self.start_ns));
        let reader_time = at_start.and_then(|start| ReaderTime::now()?.since(start));
        self.settle(&mut delivery, stop);
        let Delivery {
            failure, consumer, ..
        } = delivery;
        let unfinished = consumer.finish(&self.statistics()).err();
        let ended = failure.or(unfinished).map_or(ended, Ended::Consumer);
        self.outcome(ended, duration, reader_time, consumer.lost())
    }

    /// Round after round until something ends it.
    fn work<C: Consumer>(
        &mut self,
        delivery: &mut Delivery<'_, C>,
        stop: &Stop,
    ) -> io::Result<Ended> {
        self.waiter.add_stop(stop)?;
        let duration_ns = self.options.limits.duration.map_or(u64::MAX, nanoseconds);
        let end_ns = self.start_ns.saturating_add(duration_ns);
        let tick_ns = nanoseconds(self.options.tick).max(1);
        let mut next_tick_ns = monotonic_ns().saturating_add(tick_ns);
        let mut next_look_ns = self.next_look_ns();
        let survey = self.survey()?;
        let mut pause = self.new_pause();
        loop {
            let mut is_changed = self.take_wish();
            let is_replacing = self.lanes.iter().any(|lane| lane.next.is_some());
            let round = if !is_replacing && pause.holds_back(&self.lanes) {
                Round::EMPTY
            } else {
                delivery.round(&mut self.lanes)
            };
            is_changed |= is_replacing && self.advance()?;
            if is_changed {
                // The one before it is over first: both set the thread's timer.
                drop(pause);
                pause = self.new_pause();
            }
            if delivery.wanted == 0 {
                return Ok(Ended::Packets);
            }
            let now_ns = monotonic_ns();
            let step = match pause.after(now_ns, round) {
                _ if is_changed => Step::On,
                // What is left of a ring that is replaced waits for nothing else.
                step if is_replacing && step.is_pause() => Step::ForPacket,
                step => step,
            };
            if step.is_pause() {
                delivery.try_to(|consumer| consumer.idle(realtime_ns()));
            }
            if now_ns >= next_tick_ns {
                let account = self.measure(&survey.states(), delivery.consumer.lost());
                delivery.try_to(|consumer| consumer.tick(realtime_ns(), &account));
                next_tick_ns = now_ns.saturating_add(tick_ns);
            }
            if now_ns >= end_ns || delivery.failure.is_some() {
                return Ok(Ended::Duration);
            }
            if now_ns >= next_look_ns {
                if let Some(ended) = self.look(&survey.states()) {
                    return Ok(ended);
                }
                next_look_ns = self.next_look_ns();
            }
            let until_ns = next_tick_ns.min(end_ns).min(next_look_ns);
            if let Some(ended) = self.pause(&mut pause, step, now_ns, until_ns, stop)? {
                return Ok(ended);
            }
        }
    }

    /// Sleeps until a ring has work, but `timeout_ns` at most; says so if the capture is to end.
    pub(super) fn wait(&mut self, timeout_ns: u64) -> io::Result<Option<Ended>> {
        let woken = self.waiter.wait(timeout_ns, &self.lanes)?;
        Ok(woken.map(|woken| self.ended(woken)))
    }

    /// What it means that a sleep ended so.
    pub(super) fn ended(&mut self, woken: Woken) -> Ended {
        match woken {
            Woken::Stopped => Ended::Stopped,
            Woken::Broken(lane) => {
                let link = self.lanes[lane].source.link();
                let (name, index) = (link.name.clone(), IfIndex(link.index));
                match self.netlink.link(index) {
                    Ok(_) => Ended::LinkDown { link: name },
                    Err(_) => Ended::LinkRemoved { link: name },
                }
            }
        }
    }

    /// When to look after interfaces that end without a sign.
    fn next_look_ns(&self) -> u64 {
        if self.ports.iter().any(Port::ends_silently) {
            monotonic_ns().saturating_add(LOOK_NS)
        } else {
            u64::MAX
        }
    }

    /// Whether one of those went down or away.
    fn look(&self, states: &[State]) -> Option<Ended> {
        let known = self.ports.iter().zip(states);
        for (port, state) in known.filter(|(port, _)| port.ends_silently()) {
            let link = || port.link.name.clone();
            match state.presence {
                Presence::Down => return Some(Ended::LinkDown { link: link() }),
                Presence::Gone => return Some(Ended::LinkRemoved { link: link() }),
                Presence::Up | Presence::Unknown => {}
            }
        }
        None
    }

    /// Has the interfaces asked beside the reader from now on.
    fn survey(&mut self) -> io::Result<Survey> {
        let interval = if self.ports.iter().any(Port::ends_silently) {
            self.options.tick.min(Duration::from_nanos(LOOK_NS))
        } else {
            self.options.tick
        };
        let links = self.ports.iter().map(Port::index).collect();
        let states = self.ports.iter().map(Port::state_at_start).collect();
        let netlink = self.survey_netlink.take();
        let netlink = netlink.ok_or(io::ErrorKind::NotConnected)?;
        Ok(Survey::begin(netlink, links, states, interval))
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
