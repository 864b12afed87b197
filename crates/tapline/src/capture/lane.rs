//! One interface of a capture: its ring, its filter and its counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netlink::{IfIndex, LinkStatistics, Netlink};
use ring::{DirectionFilter, PacketRing};
use store::model::Statistics;

use super::account::{Account, Lost};
use super::attach::{Attached, Refused};
use super::error::CaptureError;
use super::filter::FilterPlace;
use super::options::Options;
use super::reading::Reading;
use super::wanted::Wanted;

/// Stands in a counter for "cannot be known".
const UNKNOWN: u64 = u64::MAX;

/// Counters of a lane, written by the capture's thread and read by whoever closes a file.
///
/// Each is a number of its own; nothing else is published through them, so `Relaxed` is enough.
#[derive(Debug, Default)]
pub(super) struct Counters {
    delivered: AtomicU64,
    bytes: AtomicU64,
    filtered: AtomicU64,
    nic: AtomicU64,
    driver: AtomicU64,
    ring: AtomicU64,
    reader: AtomicU64,
    start_ns: AtomicU64,
}

impl Counters {
    /// Counts a packet of so many bytes that the consumer took. Only the capture's thread writes.
    #[inline]
    pub fn deliver(&self, bytes: u32) {
        let add = |counter: &AtomicU64, value: u64| {
            counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
        };
        add(&self.delivered, 1);
        add(&self.bytes, u64::from(bytes));
    }

    /// Bytes that the delivered packets had on the wire.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The lane's account, as of its last measurement but for `delivered`.
    pub fn account(&self) -> Account {
        let known = |counter: &AtomicU64| {
            let value = counter.load(Ordering::Relaxed);
            (value != UNKNOWN).then_some(value)
        };
        Account {
            delivered: self.delivered.load(Ordering::Relaxed),
            filtered: known(&self.filtered),
            lost: Lost {
                nic: known(&self.nic),
                driver: known(&self.driver),
                ring: self.ring.load(Ordering::Relaxed),
                program: 0,
                reader: self.reader.load(Ordering::Relaxed),
                writer: 0,
            },
        }
    }

    /// The account as a capture file tells it; `beyond` is how many packets the filter accepted and
    /// nobody took.
    pub fn statistics(&self, interface: u32, beyond: u64) -> Statistics {
        let now_ns = abi::clock::realtime_ns();
        let account = self.account();
        let lost = account.lost;
        Statistics {
            interface,
            timestamp_ns: Some(now_ns),
            start_ns: Some(self.start_ns.load(Ordering::Relaxed)),
            end_ns: Some(now_ns),
            received: account.received(),
            interface_dropped: lost.nic.zip(lost.driver).map(|(nic, driver)| nic + driver),
            filter_accepted: Some(account.delivered + lost.ring + lost.reader + beyond),
            os_dropped: Some(lost.ring),
            delivered: Some(account.delivered),
            comment: None,
        }
    }
}

pub(super) struct Lane {
    pub ring: PacketRing,
    pub counters: Arc<Counters>,
    pub reading: Reading,
    /// Where the filter runs; `None` without one.
    pub place: Option<FilterPlace>,
    refused: Refused,
    direction: DirectionFilter,
    /// `None` where the interface does not tell.
    at_start: Option<LinkStatistics>,
}

impl Lane {
    pub fn open(
        link: &str,
        wanted: Wanted,
        options: &Options,
        netlink: &mut Netlink,
    ) -> Result<Self, CaptureError> {
        let at_start = netlink
            .link_named(link)
            .ok()
            .and_then(|link| link.statistics);
        let attached = Attached::open(link, wanted, options)?;
        let counters = Arc::new(Counters::default());
        counters
            .start_ns
            .store(abi::clock::realtime_ns(), Ordering::Relaxed);
        Ok(Self {
            ring: attached.ring,
            counters,
            reading: Reading {
                exact: attached.exact,
                ..Reading::default()
            },
            place: attached.place,
            refused: attached.refused,
            direction: options.direction,
            at_start,
        })
    }

    /// Packets that the filter accepted and nobody took.
    pub fn beyond(&self) -> u64 {
        self.reading.surplus + self.reading.unwritten
    }

    /// Brings the counters up to date. What cannot be asked any more, as of an interface that is
    /// gone, becomes unknown.
    pub fn measure(&mut self, netlink: &mut Netlink) {
        let store = |counter: &AtomicU64, value: Option<u64>| {
            counter.store(value.unwrap_or(UNKNOWN), Ordering::Relaxed);
        };
        // A packet socket's counters can always be read; a failure leaves the numbers as they were.
        let _ = self.ring.refresh();
        let counters = &*self.counters;
        store(&counters.ring, Some(self.ring.account().dropped));
        let refused = match &self.refused {
            Refused::Nothing => Some(0),
            Refused::Counted(filter) => filter
                .counts()
                .ok()
                .map(|counts| counts.offered - counts.accepted),
            Refused::Unknown => None,
        };
        store(
            &counters.filtered,
            refused.map(|refused| refused + self.reading.refused + self.reading.surplus),
        );
        let now = netlink
            .link(IfIndex(self.ring.link().index))
            .ok()
            .and_then(|l| l.statistics);
        let since = |pick: fn(&LinkStatistics) -> u64| match self.direction {
            // What is lost on the way in was not on offer.
            DirectionFilter::Out => Some(0),
            DirectionFilter::In | DirectionFilter::Both => {
                let (now, start) = (now.as_ref()?, self.at_start.as_ref()?);
                Some(pick(now).saturating_sub(pick(start)))
            }
        };
        store(&counters.nic, since(|s| s.rx_missed_errors));
        // The kernel counts here also what the ring has seen and no protocol wanted, such as tags
        // of VLANs that are not set up (`__netif_receive_skb_core`, net/core/dev.c). So this can
        // tell that there was no loss, not how much there was.
        let driver = since(|s| s.rx_dropped).filter(|&dropped| dropped == 0);
        store(&counters.driver, driver);
    }

    /// Whether every packet that the filter let through has arrived in the ring and been read.
    pub fn is_settled(&self) -> bool {
        let account = self.ring.account();
        let arrived = match &self.refused {
            Refused::Counted(filter) => filter
                .counts()
                .map_or(true, |counts| counts.accepted == account.accepted),
            Refused::Nothing | Refused::Unknown => true,
        };
        arrived && account.waiting() == 0
    }

    /// Counts what is still in the ring as left behind.
    pub fn abandon(&mut self) {
        let account = self.ring.account();
        let left = account.waiting() + account.unreadable;
        self.counters.reader.store(left, Ordering::Relaxed);
    }
}
