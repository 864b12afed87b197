//! Counters of an interface that several threads may read.

use std::sync::atomic::{AtomicU64, Ordering};

use store::model::Statistics;

use super::account::{Account, Lost};

/// Stands in a counter for "cannot be known".
const UNKNOWN: u64 = u64::MAX;

/// Counters of an interface, written by the capture's thread and read by whoever closes a file.
///
/// Each is a number of its own; nothing else is published through them, so `Relaxed` is enough.
#[derive(Debug, Default)]
pub(super) struct Counters {
    delivered: AtomicU64,
    bytes: AtomicU64,
    filtered: AtomicU64,
    sampled_out: AtomicU64,
    nic: AtomicU64,
    driver: AtomicU64,
    ring: AtomicU64,
    program: AtomicU64,
    reader: AtomicU64,
    start_ns: AtomicU64,
}

impl Counters {
    /// Counters of a capture that begins now.
    pub fn begin() -> Self {
        Self {
            start_ns: abi::clock::realtime_ns().into(),
            ..Self::default()
        }
    }

    /// Counts a packet of so many bytes that the consumer took. Only the capture's thread writes.
    #[inline]
    pub fn deliver(&self, bytes: u32) {
        let add = |counter: &AtomicU64, value: u64| {
            counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
        };
        add(&self.delivered, 1);
        add(&self.bytes, u64::from(bytes));
    }

    /// Packets that the consumer took.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Bytes that the delivered packets had on the wire.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes over what was measured: neither `delivered` nor `lost.reader` nor `lost.writer`.
    pub fn store(&self, filtered: Option<u64>, sampled_out: Option<u64>, lost: &Lost) {
        let store = |counter: &AtomicU64, value: Option<u64>| {
            counter.store(value.unwrap_or(UNKNOWN), Ordering::Relaxed);
        };
        store(&self.filtered, filtered);
        store(&self.sampled_out, sampled_out);
        store(&self.nic, lost.nic);
        store(&self.driver, lost.driver);
        store(&self.ring, Some(lost.ring));
        store(&self.program, Some(lost.program));
    }

    /// Counts `left` packets as left behind by the reader, and `missing` ones as lost on their way
    /// into the rings.
    pub fn abandon(&self, left: u64, missing: u64) {
        self.reader.store(left, Ordering::Relaxed);
        self.program.fetch_add(missing, Ordering::Relaxed);
    }

    /// The interface's account, as of its last measurement but for `delivered`.
    pub fn account(&self) -> Account {
        let known = |counter: &AtomicU64| {
            let value = counter.load(Ordering::Relaxed);
            (value != UNKNOWN).then_some(value)
        };
        Account {
            delivered: self.delivered.load(Ordering::Relaxed),
            filtered: known(&self.filtered),
            sampled_out: known(&self.sampled_out),
            lost: Lost {
                nic: known(&self.nic),
                driver: known(&self.driver),
                ring: self.ring.load(Ordering::Relaxed),
                program: self.program.load(Ordering::Relaxed),
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
        let dropped = lost.ring + lost.program;
        Statistics {
            interface,
            timestamp_ns: Some(now_ns),
            start_ns: Some(self.start_ns.load(Ordering::Relaxed)),
            end_ns: Some(now_ns),
            received: account.received(),
            interface_dropped: lost.nic.zip(lost.driver).map(|(nic, driver)| nic + driver),
            filter_accepted: Some(account.delivered + dropped + lost.reader + beyond),
            os_dropped: Some(dropped),
            delivered: Some(account.delivered),
            comment: account.sampled_out.filter(|&left_out| left_out > 0).map(|left_out| {
                format!("sampling in the kernel left out {left_out} packets that the filter accepted")
            }),
        }
    }
}
