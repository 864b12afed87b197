//! The capture itself: lanes, limits, and an orderly end.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use filter::Warning;
use netlink::{IfIndex, Netlink};
use ring::{Backend, Delivery as Policy, PacketRing};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use store::model::{Interface, Statistics};
use store::write::StatisticsSource;

use super::account::Account;
use super::consumer::Consumer;
use super::delivery::Delivery;
use super::describe;
use super::error::CaptureError;
use super::filter::FilterPlace;
use super::lane::Lane;
use super::live::Live;
use super::options::Options;
use super::outcome::{Ended, LinkAccount, Outcome};
use super::wanted::Wanted;
use crate::stop::Stop;

/// Marks the stop among the events, which otherwise name a lane.
const STOP: u64 = u64::MAX;

/// Events fetched at once.
const EVENTS: usize = 16;

/// Time between two looks at how full a TPACKET_V2 ring is while packets gather in it.
const GATHER_NS: u64 = 1_000_000;

/// Longest time the end waits for packets that are on their way into the rings, beside the time
/// after which the kernel hands over a block.
const SETTLE: Duration = Duration::from_secs(1);

/// An open capture: packets gather in its rings from here on.
pub struct Capture {
    lanes: Vec<Lane>,
    interfaces: Vec<Interface>,
    netlink: Netlink,
    epoll: OwnedFd,
    options: Options,
    warnings: Vec<Warning>,
    start_ns: u64,
}

impl Capture {
    /// Opens a ring on every interface of `options`.
    ///
    /// A filter expression is compiled for each of them before any is opened.
    ///
    /// # Errors
    /// [`CaptureError`] says which interface and which step.
    /// # Privileges
    /// `CAP_NET_RAW`; with `CAP_BPF` the filter counts what it refuses.
    /// # Kernel
    /// Linux 4.20.
    pub fn open(options: Options) -> Result<Self, CaptureError> {
        check(&options.links)?;
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
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|errno| wait(errno.into()))?;
        let mut lanes = Vec::with_capacity(options.links.len());
        let mut interfaces = Vec::with_capacity(options.links.len());
        for (number, (link, wanted)) in (0..).zip(options.links.iter().zip(wanted)) {
            let lane = Lane::open(link, wanted, &options, &mut netlink)?;
            epoll::add(
                &epoll,
                &lane.ring,
                EventData::new_u64(number),
                EventFlags::IN,
            )
            .map_err(|errno| wait(errno.into()))?;
            interfaces.push(describe::interface(
                &mut netlink,
                lane.ring.link(),
                &options,
            )?);
            lanes.push(lane);
        }
        let start_ns = monotonic_ns();
        Ok(Self {
            lanes,
            interfaces,
            netlink,
            epoll,
            options,
            warnings,
            start_ns,
        })
    }

    /// The interfaces, as a capture file describes them; packets name them by their place here.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Where the filter runs on each interface, in their order; `None` without a filter.
    pub fn filter_places(&self) -> impl Iterator<Item = Option<FilterPlace>> {
        self.lanes.iter().map(|lane| lane.place)
    }

    /// What a reader of the filter expression may not expect of it, on any of the interfaces.
    pub fn filter_warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The operating system that captures, as a capture file names it.
    pub fn operating_system() -> String {
        describe::operating_system()
    }

    /// The rings, in the order of the interfaces.
    pub fn rings(&self) -> impl Iterator<Item = &PacketRing> {
        self.lanes.iter().map(|lane| &lane.ring)
    }

    /// Counters of the interfaces for files that end while the capture goes on: packets delivered up
    /// to that moment, the rest as of the last tick.
    pub fn statistics_source(&self) -> StatisticsSource {
        let counters: Vec<_> = self
            .lanes
            .iter()
            .map(|lane| lane.counters.clone())
            .collect();
        Box::new(move || {
            (0..)
                .zip(&counters)
                .map(|(number, lane)| lane.statistics(number, 0))
                .collect()
        })
    }

    /// The counters by interface, for whoever watches the capture from outside.
    pub fn live(&mut self) -> Live {
        self.measure(0);
        let lane = |lane: &Lane| (lane.ring.link().name.clone(), lane.counters.clone());
        Live {
            lanes: self.lanes.iter().map(lane).collect(),
        }
    }

    /// Hands packets to `consumer` until a limit, `stop`, an interface or the consumer ends it.
    ///
    /// Then no more packets are let in, those already in the rings are handed over, and the account
    /// is closed. Blocks; sleeps while there is nothing to do.
    pub fn run<C: Consumer>(mut self, consumer: &mut C, stop: &Stop) -> Outcome {
        let wanted = self.options.limits.packets.unwrap_or(u64::MAX);
        let mut delivery = Delivery {
            consumer,
            wanted,
            failure: None,
        };
        let ended = self.work(&mut delivery, stop).unwrap_or_else(Ended::Wait);
        let duration = Duration::from_nanos(monotonic_ns().saturating_sub(self.start_ns));
        self.settle(&mut delivery, stop);
        let Delivery {
            failure, consumer, ..
        } = delivery;
        let unfinished = consumer.finish(&self.statistics()).err();
        let ended = failure.or(unfinished).map_or(ended, Ended::Consumer);
        self.outcome(ended, duration, consumer.lost())
    }

    /// Round after round until something ends it.
    fn work<C: Consumer>(
        &mut self,
        delivery: &mut Delivery<'_, C>,
        stop: &Stop,
    ) -> io::Result<Ended> {
        epoll::add(&self.epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let duration_ns = self.options.limits.duration.map_or(u64::MAX, nanoseconds);
        let end_ns = self.start_ns.saturating_add(duration_ns);
        let tick_ns = nanoseconds(self.options.tick).max(1);
        let mut next_tick_ns = monotonic_ns().saturating_add(tick_ns);
        loop {
            let busy = delivery.round(&mut self.lanes);
            if delivery.wanted == 0 {
                return Ok(Ended::Packets);
            }
            let now_ns = monotonic_ns();
            if !busy {
                delivery.try_to(|consumer| consumer.idle(realtime_ns()));
            }
            if now_ns >= next_tick_ns {
                let account = self.measure(delivery.consumer.lost());
                delivery.try_to(|consumer| consumer.tick(realtime_ns(), &account));
                next_tick_ns = now_ns.saturating_add(tick_ns);
            }
            if now_ns >= end_ns || delivery.failure.is_some() {
                return Ok(Ended::Duration);
            }
            let until_ns = if busy {
                now_ns
            } else {
                next_tick_ns.min(end_ns)
            };
            if let Some(ended) = self.wait(until_ns - now_ns)? {
                return Ok(ended);
            }
            if !busy {
                self.gather(stop, next_tick_ns.min(end_ns))?;
            }
        }
    }

    /// Sleeps until a ring has work, but `timeout_ns` at most; says so if the capture is to end.
    fn wait(&mut self, timeout_ns: u64) -> io::Result<Option<Ended>> {
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        let timeout = timespec(timeout_ns);
        let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok((ready, _)) => ready,
            // A signal that somebody else handles is no reason to end.
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for event in ready {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == STOP {
                return Ok(Some(Ended::Stopped));
            }
            let Some(lane) = self.lanes.get(data as usize) else {
                continue;
            };
            if flags.intersects(EventFlags::ERR | EventFlags::HUP)
                && lane.ring.take_error().is_err()
            {
                let (link, index) = (lane.ring.link().name.clone(), lane.ring.link().index);
                let is_there = self.netlink.link(IfIndex(index)).is_ok();
                let ended = if is_there {
                    Ended::LinkDown { link }
                } else {
                    Ended::LinkRemoved { link }
                };
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    /// Lets packets gather where the ring itself does not: TPACKET_V2 wakes for the first one, and
    /// batch delivery then waits its time for others, or until a ring fills. Ends early at `until_ns`
    /// and for `stop`.
    fn gather(&self, stop: &Stop, until_ns: u64) -> io::Result<()> {
        let v2 = |lane: &&Lane| lane.ring.backend() == Backend::PacketV2;
        let Policy::Batch { timeout, .. } = self.options.delivery else {
            return Ok(());
        };
        if !self.lanes.iter().any(|lane| v2(&lane)) {
            return Ok(());
        }
        let until_ns = until_ns.min(monotonic_ns().saturating_add(nanoseconds(timeout)));
        while !self
            .lanes
            .iter()
            .filter(v2)
            .any(|lane| lane.ring.is_filling())
        {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            let timeout = timespec(left_ns.min(GATHER_NS));
            match poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&timeout)) {
                Ok(0) if left_ns > GATHER_NS => {}
                Ok(_) | Err(Errno::INTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The end.
impl Capture {
    /// Closes the rings to new packets and hands over those that are in them or on their way.
    fn settle<C: Consumer>(&mut self, delivery: &mut Delivery<'_, C>, stop: &Stop) {
        for lane in &self.lanes {
            // Refused only for want of memory for one instruction; packets then go on to come in and
            // the time below ends the wait.
            let _ = lane.ring.stop();
        }
        // It stays readable and would end every wait at once.
        let _ = epoll::delete(&self.epoll, stop);
        let block_ns = match self.options.delivery {
            Policy::Batch { timeout, .. } => nanoseconds(timeout),
            _ => 0,
        };
        let deadline_ns = monotonic_ns().saturating_add(block_ns + nanoseconds(SETTLE));
        loop {
            while delivery.round(&mut self.lanes) && monotonic_ns() < deadline_ns {}
            self.measure(0);
            if self.lanes.iter().all(Lane::is_settled) || monotonic_ns() >= deadline_ns {
                break;
            }
            // The kernel hands a block over without a wake-up if its interface is gone, so this does
            // not rely on one. An error shows at once here and its lane is known to be down.
            let _ = self.wait(1_000_000);
        }
        self.lanes.iter_mut().for_each(Lane::abandon);
    }

    /// Brings the account up to date; `writer` is what the consumer lost.
    fn measure(&mut self, writer: u64) -> Account {
        for lane in &mut self.lanes {
            lane.measure(&mut self.netlink);
        }
        self.account(writer)
    }

    /// The account of all lanes. What the consumer took and then lost is not delivered.
    fn account(&self, writer: u64) -> Account {
        let mut account: Account = self.lanes.iter().map(|lane| lane.counters.account()).sum();
        account.delivered = account.delivered.saturating_sub(writer);
        account.lost.writer = writer
            + self
                .lanes
                .iter()
                .map(|lane| lane.reading.unwritten)
                .sum::<u64>();
        account
    }

    fn statistics(&self) -> Vec<Statistics> {
        (0..)
            .zip(&self.lanes)
            .map(|(number, lane)| lane.counters.statistics(number, lane.beyond()))
            .collect()
    }

    fn outcome(&self, ended: Ended, duration: Duration, writer: u64) -> Outcome {
        let link = |lane: &Lane| {
            let mut account = lane.counters.account();
            account.lost.writer = lane.reading.unwritten;
            if self.lanes.len() == 1 {
                account = self.account(writer);
            }
            LinkAccount {
                name: lane.ring.link().name.clone(),
                account,
                filter: lane.place,
            }
        };
        Outcome {
            ended,
            account: self.account(writer),
            links: self.lanes.iter().map(link).collect(),
            duration,
            timestamp_source: self.options.timestamps,
        }
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

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}
