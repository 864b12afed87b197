//! One interface of a capture: what lets its packets in, and its account.

use std::ops::Range;
use std::sync::Arc;

use bpf::socket_filter::CountingFilterError;
use bpf::{XdpAttachError, XdpLink, XdpMode};
use netlink::{IfIndex, LinkStatistics, Netlink};
use ring::{DirectionFilter, Link, TimestampSource};

use super::account::Lost;
use super::attach::Attached;
use super::change::Place;
use super::counters::Counters;
use super::error::CaptureError;
use super::filter::FilterPlace;
use super::gate::Gate;
use super::intake::FallBack;
use super::lane::Lane;
use super::line::Line;
use super::opened::OpenLink;
use super::options::Options;
use super::reading::Reading;
use super::sockets::Sockets;
use super::survey::{Presence, State};
use super::take_over::TakenOver;
use super::wanted::Wanted;

/// An interface, whose packets come in one lane or several.
pub(super) struct Port {
    pub link: Link,
    /// Places of its lanes among those of the capture; at least one.
    lanes: Range<usize>,
    pub counters: Arc<Counters>,
    /// Where the filter runs; `None` without one.
    pub place: Option<FilterPlace>,
    /// Where the program runs that takes packets from the driver, if one does.
    pub xdp_mode: Option<XdpMode>,
    /// Why it does not run in the driver, if that was tried first.
    pub native_refusal: Option<Arc<XdpAttachError>>,
    /// How its AF_XDP sockets receive, if it has such.
    pub sockets: Option<Sockets>,
    /// Why it has them, if it could do with less.
    pub fall_back: Option<FallBack>,
    /// Opens what is to follow its rings.
    line: Option<Line>,
    gate: Gate,
    direction: DirectionFilter,
    /// `None` where the interface does not tell.
    at_start: Option<LinkStatistics>,
}

impl Port {
    /// Opens interface `name`, the one with `number`, and appends its lanes.
    pub fn open(
        name: &str,
        number: u32,
        wanted: Wanted,
        options: &Options,
        netlink: &mut Netlink,
        lanes: &mut Vec<Lane>,
    ) -> Result<Self, CaptureError> {
        let found = netlink.link_named(name).ok();
        // A packet socket refuses such an interface; an AF_XDP socket or an XDP program waits for it.
        if found.as_ref().is_some_and(|link| link.up == Some(false)) {
            let link = name.to_owned();
            return Err(CaptureError::LinkDown { link });
        }
        let kind = found.as_ref().and_then(|link| link.kind_name());
        let is_loopback = found.as_ref().is_some_and(netlink::Link::is_loopback);
        let mut options = options.clone();
        if is_loopback && options.direction == DirectionFilter::Both {
            // Each packet passes twice there, and stands for both as it comes in.
            options.direction = DirectionFilter::In;
        }
        let attached = Attached::open(name, kind, wanted, &options)?;
        let at_start = found.and_then(|link| link.statistics);
        let counters = Arc::new(Counters::begin());
        let first = lanes.len();
        let mut exact = attached.exact;
        lanes.extend(attached.sources.into_iter().map(|source| Lane {
            source,
            next: None,
            reading: Reading {
                exact: exact.take(),
                ..Reading::default()
            },
            interface: number,
            counters: counters.clone(),
        }));
        Ok(Self {
            link: lanes[first].source.link().clone(),
            lanes: first..lanes.len(),
            counters,
            place: attached.place,
            xdp_mode: attached.gate.xdp().map(XdpLink::mode),
            native_refusal: (attached.gate.xdp())
                .and_then(XdpLink::native_refusal)
                .cloned(),
            sockets: Sockets::of(&lanes[first..]),
            fall_back: attached.fall_back,
            line: attached.line,
            gate: attached.gate,
            direction: options.direction,
            at_start,
        })
    }

    /// What is known of it, now that it is open.
    pub fn opened(&self, lanes: &[Lane]) -> OpenLink<'_> {
        let lanes = self.own(lanes);
        let bytes = |lane: &Lane| lane.source.buffer_bytes();
        OpenLink {
            link: &self.link,
            backend: lanes[0].source.backend(),
            rings: lanes.len(),
            buffer_bytes: lanes.iter().map(bytes).sum(),
            filter: self.place,
            xdp_mode: self.xdp_mode,
            sockets: self.sockets,
            fall_back: self.fall_back,
            native_refusal: self.native_refusal.as_deref(),
        }
    }

    /// What it can be changed with.
    pub fn change(&mut self, lanes: &[Lane]) -> Place {
        let backend = self.own(lanes)[0].source.backend();
        self.line.take().ok_or(backend)
    }

    /// Has its lanes go on with what took over, once they have read what they have.
    pub fn follow(&mut self, taken_over: TakenOver, lanes: &mut [Lane]) {
        for (lane, next) in self.own_mut(lanes).iter_mut().zip(taken_over.sources) {
            lane.next = Some(next);
        }
        if let Some(intake) = taken_over.intake {
            self.gate.follow(intake);
        }
    }

    /// Whether nothing wakes a sleeper when it goes down or away: an AF_XDP socket does not poll as
    /// broken.
    pub fn ends_silently(&self) -> bool {
        self.xdp_mode.is_some()
    }

    /// Number of its rings.
    pub fn rings(&self) -> usize {
        self.lanes.len()
    }

    /// Why its filter does not count what it refuses, if that is so.
    pub fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        self.gate.uncounted()
    }

    /// Lets no more packets in; what is in the rings stays there to be read.
    pub fn stop(&mut self, lanes: &mut [Lane]) {
        // It has a handle of what lets packets in.
        self.line = None;
        self.gate.stop();
        for lane in self.own_mut(lanes) {
            lane.stop();
        }
    }

    /// Its number in the network namespace.
    pub fn index(&self) -> IfIndex {
        IfIndex(self.link.index)
    }

    /// What is known of the interface itself since it was opened.
    pub fn state_at_start(&self) -> State {
        State {
            presence: Presence::Up,
            statistics: self.at_start,
        }
    }

    /// Those of `lanes` that are this interface's.
    fn own<'l>(&self, lanes: &'l [Lane]) -> &'l [Lane] {
        &lanes[self.lanes.clone()]
    }

    fn own_mut<'l>(&self, lanes: &'l mut [Lane]) -> &'l mut [Lane] {
        &mut lanes[self.lanes.clone()]
    }

    /// Packets that were read after the consumer had failed.
    pub fn unwritten(&self, lanes: &[Lane]) -> u64 {
        let unwritten = |lane: &Lane| lane.reading.unwritten;
        self.own(lanes).iter().map(unwritten).sum()
    }

    /// Packets that the filter accepted and nobody took.
    pub fn beyond(&self, lanes: &[Lane]) -> u64 {
        let surplus = |lane: &Lane| lane.reading.surplus;
        self.own(lanes).iter().map(surplus).sum::<u64>() + self.unwritten(lanes)
    }

    /// Brings the counters up to date. What cannot be asked any more, as of an interface that is
    /// gone, becomes unknown; `now` is what the interface itself counts.
    pub fn measure(&mut self, lanes: &mut [Lane], now: Option<LinkStatistics>) {
        let lanes = self.own_mut(lanes);
        for lane in lanes.iter_mut() {
            lane.refresh();
        }
        let passed = self.gate.passed();
        let by_reader = |lane: &Lane| lane.reading.refused + lane.reading.surplus;
        let by_reader: u64 = lanes.iter().map(by_reader).sum();
        let dropped = |lane: &Lane| lane.account().dropped;
        let since = |pick: fn(&LinkStatistics) -> u64| match self.direction {
            // What is lost on the way in was not on offer.
            DirectionFilter::Out => Some(0),
            DirectionFilter::In | DirectionFilter::Both => {
                let (now, start) = (now.as_ref()?, self.at_start.as_ref()?);
                Some(pick(now).saturating_sub(pick(start)))
            }
        };
        let lost = Lost {
            nic: since(|s| s.rx_missed_errors),
            // The kernel counts here also what the ring has seen and no protocol wanted, such as tags
            // of VLANs that are not set up (`__netif_receive_skb_core`, net/core/dev.c). So this can
            // tell that there was no loss, not how much there was.
            driver: since(|s| s.rx_dropped).filter(|&dropped| dropped == 0),
            ring: lanes.iter().map(dropped).sum(),
            program: passed.lost,
            ..Lost::default()
        };
        let filtered = passed.refused.map(|refused| refused + by_reader);
        self.counters.store(filtered, passed.sampled_out, &lost);
    }

    /// Whether every packet that was let in has arrived in a ring and been read, as of the last
    /// [`measure`](Self::measure).
    pub fn is_settled(&self, lanes: &[Lane]) -> bool {
        let lanes = self.own(lanes);
        let let_in = self.gate.passed().let_in;
        let arrived = let_in.is_none_or(|let_in| let_in == accepted(lanes));
        arrived && lanes.iter().all(|lane| lane.account().waiting() == 0)
    }

    /// Counts what is still in the rings as left behind, and what never came into them as lost by the
    /// program.
    pub fn abandon(&mut self, lanes: &[Lane]) {
        let lanes = self.own(lanes);
        let left = |lane: &Lane| {
            let account = lane.account();
            account.waiting() + account.unreadable
        };
        let missing = if self.gate.is_apart() {
            let let_in = self.gate.passed().let_in.unwrap_or(0);
            let_in.saturating_sub(accepted(lanes))
        } else {
            0
        };
        self.counters.abandon(lanes.iter().map(left).sum(), missing);
    }

    /// Who stamped the time, where `asked` was asked to.
    pub fn timestamp_source(&self, asked: TimestampSource) -> TimestampSource {
        if self.gate.has_unstamped() {
            TimestampSource::Reader
        } else {
            asked
        }
    }
}

/// Packets that came into the rings of `lanes` or were dropped there.
fn accepted(lanes: &[Lane]) -> u64 {
    let accepted = |lane: &Lane| lane.account().accepted;
    lanes.iter().map(accepted).sum()
}
