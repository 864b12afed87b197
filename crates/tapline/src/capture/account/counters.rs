//! Counters of a running capture, shared between threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use store::model::Statistics;

use super::loss_account::{Account, Lost};

/// The value of a counter that cannot be known.
const UNKNOWN: u64 = u64::MAX;

/// Counters of an interface: the capture's thread writes them, any thread may read them.
///
/// Each counter is independent and publishes nothing else, so `Relaxed` is enough. Written for every packet, they share
/// no cache line with those of another reader, nor the line that the CPU fetches with it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
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

    /// Counts a delivered packet of `bytes` bytes.
    #[inline]
    pub fn deliver(&self, bytes: u32) {
        self.deliver_all(1, u64::from(bytes));
    }

    /// Counts delivered packets of `bytes` bytes together. Only the capture's thread writes, so no atomic addition
    /// is needed.
    #[inline]
    pub fn deliver_all(&self, packets: u64, bytes: u64) {
        let add = |counter: &AtomicU64, value: u64| {
            counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
        };
        add(&self.delivered, packets);
        add(&self.bytes, bytes);
    }

    /// Packets delivered to the consumer.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Length on the wire of the delivered packets, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Stores a measurement. `delivered`, `lost.reader` and `lost.writer` are not part of it.
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

    /// At the end: `left` packets are still in the rings, `missing` never reached them.
    pub fn abandon(&self, left: u64, missing: u64) {
        self.reader.store(left, Ordering::Relaxed);
        self.program.fetch_add(missing, Ordering::Relaxed);
    }

    /// The interface's account: `delivered` as of now, the rest as of the last measurement.
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

    /// When it began, nanoseconds since 1970 UTC.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }
}

/// The account of an interface that several readers share. The first of them has the losses of interface and
/// driver.
pub fn shared_account(readers: impl IntoIterator<Item = Account>) -> Account {
    let mut readers = readers.into_iter().peekable();
    let first = readers.peek().map(|first| first.lost);
    let mut sum: Account = readers.sum();
    if let Some(first) = first {
        (sum.lost.nic, sum.lost.driver) = (first.nic, first.driver);
    }
    sum
}

/// `account` as a capture file stores it.
pub fn statistics(interface: u32, account: &Account, start_ns: u64, untaken: u64) -> Statistics {
    let now_ns = abi::clock::realtime_ns();
    let lost = account.lost;
    let dropped = lost.ring + lost.program;
    let sampled_out = account.sampled_out.filter(|&packets| packets > 0);
    Statistics {
        interface,
        timestamp_ns: Some(now_ns),
        start_ns: Some(start_ns),
        end_ns: Some(now_ns),
        received: account.received(),
        interface_dropped: lost.nic.zip(lost.driver).map(|(nic, driver)| nic + driver),
        filter_accepted: Some(account.delivered + dropped + lost.reader + untaken),
        os_dropped: Some(dropped),
        delivered: Some(account.delivered),
        comment: sampled_out.map(|packets| {
            format!("sampling in the kernel left out {packets} packets that the filter accepted")
        }),
    }
}

/// The account of one interface so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveAccount {
    /// Name of the interface.
    pub link: String,
    /// Its account: `delivered` as of now, the rest as of the last [`tick`](super::super::Consumer::tick).
    pub account: Account,
    /// Length on the wire of the delivered packets, bytes.
    pub bytes: u64,
}

impl LiveAccount {
    /// The account of interface `link`.
    pub fn new(link: impl Into<String>, account: Account, bytes: u64) -> Self {
        Self {
            link: link.into(),
            account,
            bytes,
        }
    }
}

/// The counters of a capture, for any thread. They stay readable after the capture has ended. Clones show the
/// same interfaces, also those that join a [`HotplugCapture`](super::super::HotplugCapture) later.
#[derive(Clone, Debug, Default)]
pub struct LiveCounters {
    interfaces: Arc<RwLock<Vec<NamedCounters>>>,
}

/// The name and the counters of an interface. Clones have the same successors.
#[derive(Clone, Debug)]
struct NamedCounters {
    link: String,
    /// By reader: at least one.
    readers: Vec<Arc<Counters>>,
    successors: Arc<Mutex<Successors>>,
}

/// The counters of the back ends after the first one, in their order: for each back end one per reader.
type Successors = Vec<Vec<Arc<Counters>>>;

impl NamedCounters {
    fn new(link: String, readers: Vec<Arc<Counters>>) -> Self {
        Self {
            link,
            readers,
            successors: Arc::default(),
        }
    }

    fn successors(&self) -> MutexGuard<'_, Successors> {
        // No panic leaves the list half changed.
        self.successors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn account(&self) -> Account {
        let successors = self.successors();
        let parts = std::iter::once(&self.readers).chain(&*successors);
        let account = |readers: &Vec<Arc<Counters>>| {
            shared_account(readers.iter().map(|counters| counters.account()))
        };
        parts.map(account).sum()
    }

    /// The account of a reader, without the losses of interface and driver, which are those of all readers.
    fn reader_account(&self, reader: usize) -> Account {
        let successors = self.successors();
        let parts = std::iter::once(&self.readers).chain(&*successors);
        let counters = parts.filter_map(|readers| readers.get(reader));
        let mut account: Account = counters.map(|counters| counters.account()).sum();
        (account.lost.nic, account.lost.driver) = (None, None);
        account
    }

    fn sum(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        let successors = self.successors();
        let all = self.readers.iter().chain(successors.iter().flatten());
        all.map(|counters| count(counters)).sum()
    }
}

impl LiveCounters {
    /// The counters of interfaces by name.
    pub(in super::super) fn new(interfaces: Vec<(String, Arc<Counters>)>) -> Self {
        let named = |(link, counters)| NamedCounters::new(link, vec![counters]);
        Self {
            interfaces: Arc::new(RwLock::new(interfaces.into_iter().map(named).collect())),
        }
    }

    /// The counters of interfaces that several readers share.
    pub(in super::super) fn shared(readers: &[Self]) -> Self {
        let mut interfaces: Vec<NamedCounters> = Vec::new();
        for (number, reader) in readers.iter().enumerate() {
            if number == 0 {
                let own =
                    |one: &NamedCounters| NamedCounters::new(one.link.clone(), one.readers.clone());
                interfaces = reader.read().iter().map(own).collect();
                continue;
            }
            for (interface, others) in interfaces.iter_mut().zip(reader.read().iter()) {
                interface.readers.extend_from_slice(&others.readers);
            }
        }
        Self {
            interfaces: Arc::new(RwLock::new(interfaces)),
        }
    }

    /// Adds the interfaces of `others`, with the counters with which they continue later.
    pub(in super::super) fn extend(&self, others: &Self) {
        let interfaces = self.interfaces.write();
        let mut interfaces = interfaces.unwrap_or_else(PoisonError::into_inner);
        interfaces.extend_from_slice(&others.read());
    }

    /// Interface `number` continues with `counters`, one for each reader.
    pub(in super::super) fn succeed(&self, number: u32, counters: Vec<Arc<Counters>>) {
        if let Some(interface) = self.read().get(number as usize) {
            interface.successors().push(counters);
        }
    }

    /// The accounts, in the order of the interfaces.
    pub fn accounts(&self) -> Vec<LiveAccount> {
        let account = |interface: &NamedCounters| LiveAccount {
            link: interface.link.clone(),
            account: interface.account(),
            bytes: interface.sum(Counters::bytes),
        };
        self.read().iter().map(account).collect()
    }

    /// Delivered packets of all interfaces, and their bytes on the wire.
    pub fn delivered(&self) -> (u64, u64) {
        let interfaces = self.read();
        interfaces
            .iter()
            .fold((0, 0), |(packets, bytes), interface| {
                let delivered = interface.sum(Counters::delivered);
                (packets + delivered, bytes + interface.sum(Counters::bytes))
            })
    }

    /// The counters as a capture file stores them while the capture continues.
    pub(in super::super) fn statistics(&self) -> Vec<Statistics> {
        let interfaces = self.read();
        let numbered = (0..).zip(interfaces.iter());
        let statistics = numbered.map(|(number, interface)| {
            let start_ns = interface.readers[0].start_ns();
            statistics(number, &interface.account(), start_ns, 0)
        });
        statistics.collect()
    }

    /// As [`statistics`](Self::statistics), with those of each reader before those of the interface. `parts` says whose
    /// packets each reader counts.
    pub(in super::super) fn statistics_by_reader(&self, parts: &[String]) -> Vec<Statistics> {
        let totals = self.statistics();
        let interfaces = self.read();
        let mut all = Vec::with_capacity(totals.len() * (parts.len() + 1));
        for (interface, total) in interfaces.iter().zip(totals) {
            for (reader, part) in parts.iter().enumerate() {
                let start_ns = interface.readers[0].start_ns();
                let account = interface.reader_account(reader);
                all.push(Statistics {
                    comment: Some(Statistics::part_comment(part)),
                    ..statistics(total.interface, &account, start_ns, 0)
                });
            }
            all.push(total);
        }
        all
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<NamedCounters>> {
        // No panic leaves the list half changed.
        self.interfaces
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
