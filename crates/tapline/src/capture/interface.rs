//! One interface of a capture: its kernel filter, its queues and its account.

use std::ops::Range;
use std::sync::Arc;

use bpf::socket_filter::CountingFilterError;
use bpf::{XdpAttachError, XdpLink, XdpMode};
use netlink::{IfIndex, LinkStatistics, Netlink};
use ring::{DeviceClockState, DirectionFilter, InterfaceInfo, TimestampSource};

use super::account::counters::Counters;
use super::account::interface_filter::InterfaceFilter;
use super::account::kernel_filter::{KernelFilter, SharedFilter};
use super::account::link_poller::{InterfaceState, InterfaceStatus};
use super::account::loss_account::Lost;
use super::account::stamp_counts::TimestampCounts;
use super::account::summary::{OpenInterface, Sockets};
use super::backend;
use super::control::hand_over::{HandOver, HandOverResult, NewRings};
use super::error::CaptureError;
use super::plan::backend::{Backend, FallBack, FilterPlace};
use super::plan::interface_plan::InterfacePlan;
use super::plan::options::CaptureOptions;
use super::read::queue::{ReaderFilter, Reading, RxQueue};
use super::stamping::Stamping;
use crate::steering::DeviceSettingsGuard;

/// An interface with one queue or several.
pub struct Interface {
    pub link: InterfaceInfo,
    /// The number by which packets refer to it.
    pub number: u32,
    /// Its queues among those of the capture; at least one.
    queues: Range<usize>,
    pub counters: Arc<Counters>,
    /// Where the filter runs; `None` without one.
    pub place: Option<FilterPlace>,
    /// Where the XDP program runs, if there is one.
    pub xdp_mode: Option<XdpMode>,
    /// Why it does not run in the driver, if that was tried first.
    pub native_refusal: Option<Arc<XdpAttachError>>,
    /// How its AF_XDP sockets receive, if there are any.
    pub sockets: Option<Sockets>,
    /// Why it uses AF_XDP sockets although shared memory would suit the options.
    pub fall_back: Option<FallBack>,
    hand_over: Option<Box<dyn HandOver>>,
    kernel_filter: InterfaceFilter,
    direction: DirectionFilter,
    /// Its counters at the start; `None` if it reports none.
    at_start: Option<LinkStatistics>,
    pub stamping: Stamping,
    /// Keeps settings of its device, and restores them when it is dropped.
    steering: Option<DeviceSettingsGuard>,
    /// It gets no more packets, and leaves once its rings are read.
    is_leaving: bool,
    /// It has left.
    closed: Option<Closed>,
}

/// What is known of an interface that has left. Its counters are final.
struct Closed {
    backend: Backend,
    rings: usize,
    unwritten: u64,
    surplus: u64,
    stamps: TimestampCounts,
    device_clock: Option<DeviceClockState>,
    uncounted: Option<Arc<CountingFilterError>>,
}

impl Interface {
    /// Opens interface `name`, the one with `number`, and appends its queues.
    pub fn open(
        name: &str,
        number: u32,
        plan: InterfacePlan,
        options: &CaptureOptions,
        netlink: &mut Netlink,
        queues: &mut Vec<RxQueue>,
    ) -> Result<Self, CaptureError> {
        let found = netlink.link_named(name).ok();
        // A packet socket rejects such an interface; AF_XDP sockets and XDP programs would wait for it.
        if found.as_ref().is_some_and(|link| link.up == Some(false)) {
            let link = name.to_owned();
            return Err(CaptureError::LinkDown { link });
        }
        let kind = found.as_ref().and_then(|link| link.kind_name());
        let is_loopback = found.as_ref().is_some_and(netlink::Link::is_loopback);
        let mut options = options.clone();
        if is_loopback && options.direction == DirectionFilter::Both {
            // A packet passes twice there. Capture it as it is received.
            options.direction = match options.narrowed.take() {
                Some(DirectionFilter::Out) => DirectionFilter::Out,
                _ => DirectionFilter::In,
            };
        }
        let steering = DeviceSettingsGuard::of_options(name, &options.steering);
        let steering = steering.map_err(|error| CaptureError::Steering(Box::new(error)))?;
        let stamping = Stamping::choose(name, &options)?;
        options.timestamps = stamping.source;
        options.device_clock = stamping.clock;
        options.rx_metadata = stamping.rx_metadata;
        let opened = backend::open(name, kind, plan, &options)?;
        let at_start = found.and_then(|link| link.statistics);
        let counters = Arc::new(Counters::begin());
        let first = queues.len();
        let mut exact = opened.exact;
        queues.extend(opened.rings.into_iter().map(|reader| RxQueue {
            reader,
            next: None,
            next_filter: None,
            reading: Reading {
                exact: exact.take(),
                marks_unstamped: stamping.source == TimestampSource::Hardware,
                ..Reading::default()
            },
            interface: number,
            counters: counters.clone(),
        }));
        let sockets = queues[first..].iter();
        let sockets = sockets.filter_map(|queue| queue.ring().sockets());
        Ok(Self {
            link: queues[first].ring().link().clone(),
            number,
            queues: first..queues.len(),
            counters,
            place: opened.place,
            xdp_mode: opened.kernel_filter.xdp().map(XdpLink::mode),
            native_refusal: (opened.kernel_filter.xdp())
                .and_then(XdpLink::native_refusal)
                .cloned(),
            sockets: sockets.reduce(Sockets::and),
            fall_back: opened.fall_back,
            hand_over: opened.hand_over,
            kernel_filter: InterfaceFilter::new(opened.kernel_filter),
            direction: options.direction,
            at_start,
            stamping,
            steering,
            is_leaving: false,
            closed: None,
        })
    }

    /// What is known of it, now that it is open.
    pub fn opened(&self, queues: &[RxQueue]) -> OpenInterface<'_> {
        let queues = self.own(queues);
        let closed = self.closed.as_ref().map(|closed| closed.backend);
        let bytes = |queue: &RxQueue| queue.ring().buffer_bytes();
        OpenInterface {
            link: &self.link,
            backend: closed.unwrap_or_else(|| queues[0].ring().backend()),
            rings: queues.len(),
            buffer_bytes: queues.iter().map(bytes).sum(),
            blocks: queues.first().and_then(|queue| queue.ring().blocks()),
            filter: self.place,
            xdp_mode: self.xdp_mode,
            sockets: self.sockets,
            fall_back: self.fall_back,
            native_refusal: self.native_refusal.as_deref(),
            timestamps: self.stamping.source,
            timestamp_refusal: self.stamping.refusal.as_deref(),
            restores_settings: self.stamping.restores()
                || (self.steering.as_ref()).is_some_and(DeviceSettingsGuard::restores),
        }
    }

    /// The filters in front of its rings.
    pub fn filter(&self) -> InterfaceFilter {
        self.kernel_filter.clone()
    }

    /// What replaces its rings, or the back end that cannot.
    pub fn take_hand_over(&mut self, queues: &[RxQueue]) -> HandOverResult {
        let backend = self.own(queues)[0].ring().backend();
        self.hand_over.take().ok_or(backend)
    }

    /// `filter` decides from now on.
    pub fn replace_filter(&mut self, filter: Box<dyn KernelFilter>) {
        self.kernel_filter.follow(filter);
        self.place = Some(FilterPlace::Kernel);
    }

    /// Its queues continue with the rings of `new` once they have read the present ones.
    pub fn follow(&mut self, new: NewRings, queues: &mut [RxQueue]) {
        let queues = self.own_mut(queues);
        for (queue, next) in queues.iter_mut().zip(new.rings) {
            queue.next = Some(next);
        }
        if let Some(filter) = new.filter {
            // Packet rings alone have other filters, and one queue.
            queues[0].next_filter = Some(ReaderFilter(filter.exact));
            self.kernel_filter.follow(filter.kernel);
        }
    }

    /// Gives all but the first of every `readers` queues to other readers, and returns their parts of the interface.
    /// The first reader keeps `queues` of its queues, the others get theirs in order; `rings` are their numbers so far.
    pub fn share(&mut self, queues: &[Range<usize>], rings: Vec<Vec<usize>>) -> Vec<Self> {
        let mut hand_over = self.hand_over.take();
        if let Some(hand_over) = &mut hand_over {
            hand_over.share();
        }
        let parts = SharedFilter::parts(self.kernel_filter.take(), rings);
        let mut shares = parts.zip(queues).map(|(part, queues)| Self {
            link: self.link.clone(),
            number: self.number,
            queues: queues.clone(),
            counters: Arc::new(Counters::begin()),
            place: self.place,
            xdp_mode: self.xdp_mode,
            native_refusal: self.native_refusal.clone(),
            sockets: self.sockets,
            fall_back: self.fall_back,
            hand_over: None,
            kernel_filter: InterfaceFilter::new(Box::new(part)),
            direction: self.direction,
            at_start: self.at_start,
            stamping: self.stamping.of_other_reader(),
            steering: None,
            is_leaving: false,
            closed: None,
        });
        let first = shares.next();
        let others = shares.collect();
        if let Some(mut first) = first {
            std::mem::swap(&mut first.stamping, &mut self.stamping);
            first.steering = self.steering.take();
            first.hand_over = hand_over;
            *self = first;
        }
        others
    }

    /// Whether no event reports that it goes down or away: an AF_XDP socket polls no error.
    pub fn ends_silently(&self) -> bool {
        self.xdp_mode.is_some() && !self.is_leaving
    }

    /// Number of its rings.
    pub fn rings(&self) -> usize {
        let closed = self.closed.as_ref().map(|closed| closed.rings);
        closed.unwrap_or(self.queues.len())
    }

    /// Why its filter does not count refused packets.
    pub fn uncounted(&self) -> Option<Arc<CountingFilterError>> {
        match &self.closed {
            Some(closed) => closed.uncounted.clone(),
            None => self.kernel_filter.uncounted(),
        }
    }

    /// Its queues are those from `first` on.
    pub fn place(&mut self, first: usize) {
        self.queues = first..first + self.queues.len();
    }

    /// Its queues among those of the capture.
    pub fn queues(&self) -> Range<usize> {
        self.queues.clone()
    }

    /// Whether it gets no more packets.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Ends the flow of its packets. Those in its rings can still be read.
    pub fn leave(&mut self, queues: &mut [RxQueue]) {
        self.stop(queues);
        self.is_leaving = true;
    }

    /// Keeps what its account needs of its `queues`, which are closed now.
    pub fn close(&mut self, queues: &[RxQueue]) {
        self.queues = 0..queues.len();
        self.closed = Some(Closed {
            backend: queues[0].ring().backend(),
            rings: queues.len(),
            unwritten: self.unwritten(queues),
            surplus: self.untaken(queues) - self.unwritten(queues),
            stamps: self.stamps(queues),
            device_clock: self.device_clock(queues),
            uncounted: self.uncounted(),
        });
        self.queues = 0..0;
        drop(self.kernel_filter.take());
        self.stamping = self.stamping.of_other_reader();
        self.steering = None;
    }

    /// Ends the flow. Packets in the rings can still be read.
    pub fn stop(&mut self, queues: &mut [RxQueue]) {
        // It has a handle of the XDP link.
        self.hand_over = None;
        self.kernel_filter.detach();
        for queue in self.own_mut(queues) {
            queue.stop();
        }
    }

    /// Its number in the network namespace.
    pub fn index(&self) -> IfIndex {
        IfIndex(self.link.index)
    }

    /// Its state when it was opened.
    pub fn state_at_start(&self) -> InterfaceState {
        InterfaceState {
            status: InterfaceStatus::Up,
            statistics: self.at_start,
        }
    }

    fn own<'q>(&self, queues: &'q [RxQueue]) -> &'q [RxQueue] {
        &queues[self.queues.clone()]
    }

    fn own_mut<'q>(&self, queues: &'q mut [RxQueue]) -> &'q mut [RxQueue] {
        &mut queues[self.queues.clone()]
    }

    /// Packets read after the consumer had failed.
    pub fn unwritten(&self, queues: &[RxQueue]) -> u64 {
        let unwritten = |queue: &RxQueue| queue.reading.unwritten;
        let closed = self.closed.as_ref().map_or(0, |closed| closed.unwritten);
        self.own(queues).iter().map(unwritten).sum::<u64>() + closed
    }

    /// Packets that passed the filter and were read, but not delivered.
    pub fn untaken(&self, queues: &[RxQueue]) -> u64 {
        let surplus = |queue: &RxQueue| queue.reading.surplus;
        let closed = self.closed.as_ref().map_or(0, |closed| closed.surplus);
        self.own(queues).iter().map(surplus).sum::<u64>() + self.unwritten(queues) + closed
    }

    /// Updates the counters; `now` are the interface's own. What cannot be determined any more, e.g. because
    /// the interface is gone, becomes unknown.
    pub fn measure(&mut self, queues: &mut [RxQueue], now: Option<LinkStatistics>) {
        if self.closed.is_some() {
            return;
        }
        let queues = self.own_mut(queues);
        for queue in queues.iter_mut() {
            queue.refresh();
        }
        let filter = self.kernel_filter.counters();
        let by_reader = |queue: &RxQueue| queue.reading.refused + queue.reading.surplus;
        let by_reader: u64 = queues.iter().map(by_reader).sum();
        let dropped = |queue: &RxQueue| queue.account().dropped;
        let since = |pick: fn(&LinkStatistics) -> u64| match self.direction {
            // Receive losses do not concern sent packets.
            DirectionFilter::Out => Some(0),
            DirectionFilter::In | DirectionFilter::Both => {
                let (now, start) = (now.as_ref()?, self.at_start.as_ref()?);
                Some(pick(now).saturating_sub(pick(start)))
            }
        };
        let lost = Lost {
            nic: since(|s| s.rx_missed_errors),
            // The kernel also counts packets that the ring has received and no protocol handled, such as
            // unknown VLANs (`__netif_receive_skb_core`, net/core/dev.c). So 0 is certain and no other
            // number is.
            driver: since(|s| s.rx_dropped).filter(|&dropped| dropped == 0),
            ring: queues.iter().map(dropped).sum(),
            program: filter.lost,
            ..Lost::default()
        };
        let filtered = filter.refused.map(|refused| refused + by_reader);
        self.counters.store(filtered, filter.sampled_out, &lost);
    }

    /// Whether every accepted packet has arrived in a ring and been read, as of the last
    /// [`measure`](Self::measure).
    pub fn is_settled(&self, queues: &[RxQueue]) -> bool {
        if self.closed.is_some() {
            return true;
        }
        let queues = self.own(queues);
        self.kernel_filter.has_arrived(accepted(queues))
            && queues.iter().all(|queue| queue.account().waiting() == 0)
    }

    /// Counts packets still in the rings as lost by the reader, and accepted packets that no ring received as
    /// lost by the program.
    pub fn abandon(&mut self, queues: &[RxQueue]) {
        if self.closed.is_some() {
            return;
        }
        let queues = self.own(queues);
        let left = |queue: &RxQueue| {
            let account = queue.account();
            account.waiting() + account.unreadable
        };
        let missing = self.kernel_filter.missing(accepted(queues));
        self.counters
            .abandon(queues.iter().map(left).sum(), missing);
    }

    /// Delivered packets by the source of their time stamps.
    pub fn stamps(&self, queues: &[RxQueue]) -> TimestampCounts {
        if let Some(closed) = &self.closed {
            return closed.stamps;
        }
        let stamps = self.own(queues).iter().map(|queue| queue.reading.stamps);
        let counted = stamps.fold(TimestampCounts::default(), |sum, stamps| sum + stamps);
        counted.of_delivered(self.counters.account().delivered)
    }

    /// The clock behind its hardware time stamps.
    pub fn device_clock(&self, queues: &[RxQueue]) -> Option<DeviceClockState> {
        match &self.closed {
            Some(closed) => closed.device_clock,
            None => self.own(queues)[0].ring().device_clock(),
        }
    }
}

/// Packets that the rings of `queues` received or dropped.
fn accepted(queues: &[RxQueue]) -> u64 {
    let accepted = |queue: &RxQueue| queue.account().accepted;
    queues.iter().map(accepted).sum()
}
