//! What the kernel filter in front of an interface's rings counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bpf::socket_filter::CountingFilterError;
use bpf::{XdpCounters, XdpLink};

/// Counters of a kernel filter; `None` where it does not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterCounters {
    /// Packets refused, sampled-out packets among them.
    pub refused: Option<u64>,
    /// Packets that sampling left out.
    pub sampled_out: Option<u64>,
    /// Packets accepted, each of which a ring has in its account or will have.
    pub accepted: Option<u64>,
    /// Packets that were accepted and reach no ring.
    pub lost: u64,
}

impl FilterCounters {
    /// The sum; unknown where one of both is.
    fn and(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            refused: sum(self.refused, other.refused),
            sampled_out: sum(self.sampled_out, other.sampled_out),
            accepted: sum(self.accepted, other.accepted),
            lost: self.lost + other.lost,
        }
    }

    /// What is left without `part`, which was read before; unknown where one of both is.
    fn without(self, part: Self) -> Self {
        let rest = |all: Option<u64>, part: Option<u64>| Some(all?.saturating_sub(part?));
        Self {
            refused: rest(self.refused, part.refused),
            sampled_out: rest(self.sampled_out, part.sampled_out),
            accepted: rest(self.accepted, part.accepted),
            lost: self.lost.saturating_sub(part.lost),
        }
    }

    const NOTHING: Self = Self {
        refused: Some(0),
        sampled_out: Some(0),
        accepted: Some(0),
        lost: 0,
    };
}

impl From<XdpCounters> for FilterCounters {
    fn from(counts: XdpCounters) -> Self {
        Self {
            refused: Some(counts.unmatched + counts.sampled_out),
            sampled_out: Some(counts.sampled_out),
            accepted: Some(counts.delivered),
            lost: counts.lost,
        }
    }
}

/// The filter or XDP program in front of the rings of one interface.
pub trait KernelFilter: Send {
    /// What it has counted so far.
    fn counters(&self) -> FilterCounters;

    /// What it has counted for one of the rings behind it, by their order. `None`: it does not count by ring.
    fn counters_of(&self, _ring: usize) -> Option<FilterCounters> {
        None
    }

    /// Ends the flow of packets, if that takes more than replacing the filter of a ring.
    fn detach(&mut self) {}

    /// The attachment of an XDP program.
    fn xdp(&self) -> Option<&XdpLink> {
        None
    }

    /// Why it does not count refused packets.
    fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        None
    }

    /// Whether accepted packets can be lost before their ring counts them.
    fn loses_before_ring(&self) -> bool {
        false
    }

    /// Whether every packet that it accepted has arrived in a ring; the rings behind it counted `accepted`.
    fn has_arrived(&self, accepted: u64) -> bool {
        let by_filter = self.counters().accepted;
        by_filter.is_none_or(|by_filter| by_filter == accepted)
    }

    /// Packets that it accepted and that never arrived in a ring.
    fn missing(&self, accepted: u64) -> u64 {
        if !self.loses_before_ring() {
            return 0;
        }
        let by_filter = self.counters().accepted.unwrap_or(0);
        by_filter.saturating_sub(accepted)
    }
}

/// No filter: every packet is accepted.
pub struct AcceptAll;

impl KernelFilter for AcceptAll {
    fn counters(&self) -> FilterCounters {
        FilterCounters {
            refused: Some(0),
            sampled_out: Some(0),
            ..FilterCounters::default()
        }
    }
}

/// The current filter of an interface and the filters before it, with the sum of their counters.
pub struct FilterHistory {
    current: Box<dyn KernelFilter>,
    /// The filter before, whose ring may still be filling. A ring is replaced only when the one before the last
    /// has been read to its end, so one is enough.
    previous: Option<Box<dyn KernelFilter>>,
    /// Counters of those before.
    ended: FilterCounters,
    /// Refused packets that count elsewhere: those before counting began here.
    before: RefusedCounts,
    /// Refused packets when counting ended here.
    until: Option<RefusedCounts>,
}

/// The counters of refused packets.
#[derive(Clone, Copy, Debug)]
struct RefusedCounts {
    refused: Option<u64>,
    sampled_out: Option<u64>,
}

impl RefusedCounts {
    const NONE: Self = Self {
        refused: Some(0),
        sampled_out: Some(0),
    };

    fn of(counters: &FilterCounters) -> Self {
        Self {
            refused: counters.refused,
            sampled_out: counters.sampled_out,
        }
    }
}

impl FilterHistory {
    pub fn new(current: Box<dyn KernelFilter>) -> Self {
        Self {
            current,
            previous: None,
            ended: FilterCounters::NOTHING,
            before: RefusedCounts::NONE,
            until: None,
        }
    }

    /// Refused packets count here from now on.
    pub fn begin_counting(&mut self) {
        self.before = RefusedCounts::of(&self.all());
    }

    /// Refused packets do not count here any more.
    pub fn end_counting(&mut self) {
        self.until = Some(RefusedCounts::of(&self.counters()));
    }

    /// What the filters have counted, including refused packets that count elsewhere.
    fn all(&self) -> FilterCounters {
        let counters = self.current.counters();
        match &self.previous {
            None => counters,
            Some(previous) => self.ended.and(previous.counters()).and(counters),
        }
    }

    /// `next` decides from now on.
    pub fn follow(&mut self, next: Box<dyn KernelFilter>) {
        if let Some(previous) = self.previous.take() {
            self.ended = self.ended.and(previous.counters());
        }
        self.previous = Some(std::mem::replace(&mut self.current, next));
    }
}

impl KernelFilter for FilterHistory {
    fn counters(&self) -> FilterCounters {
        let all = self.all();
        let RefusedCounts {
            refused,
            sampled_out,
        } = self.until.unwrap_or_else(|| {
            let counted = all.without(FilterCounters {
                refused: self.before.refused,
                sampled_out: self.before.sampled_out,
                ..FilterCounters::NOTHING
            });
            RefusedCounts::of(&counted)
        });
        FilterCounters {
            refused,
            sampled_out,
            ..all
        }
    }

    fn counters_of(&self, ring: usize) -> Option<FilterCounters> {
        match &self.previous {
            None => self.current.counters_of(ring),
            Some(_) => None,
        }
    }

    fn detach(&mut self) {
        self.current.detach();
    }

    fn xdp(&self) -> Option<&XdpLink> {
        self.current.xdp()
    }

    fn uncounted(&self) -> Option<&Arc<CountingFilterError>> {
        self.current.uncounted()
    }

    fn loses_before_ring(&self) -> bool {
        self.current.loses_before_ring()
    }

    fn has_arrived(&self, accepted: u64) -> bool {
        if self.previous.is_none() {
            return self.current.has_arrived(accepted);
        }
        // Packets of both filters are in the rings.
        let by_filter = self.counters().accepted;
        by_filter.is_none_or(|by_filter| by_filter == accepted)
    }

    fn missing(&self, accepted: u64) -> u64 {
        match &self.previous {
            None => self.current.missing(accepted),
            Some(_) => 0,
        }
    }
}

/// A filter whose rings are read by several readers. Each reader has a part of it.
pub struct SharedFilter {
    filter: Mutex<FilterHistory>,
    is_detached: AtomicBool,
    /// Packets that the rings of each reader counted.
    accepted: Vec<AtomicU64>,
    /// The rings of each reader.
    rings: Vec<Vec<usize>>,
}

/// The filter in front of the rings of one reader. That of the first reader has all that the filter counts and that belongs to
/// no ring of another one. The first one that is detached detaches the filter, so that no reader closes rings that still get packets.
pub struct FilterPart {
    shared: Arc<SharedFilter>,
    reader: usize,
}

impl SharedFilter {
    /// The parts of `filter` for the readers of these rings.
    pub fn parts(
        filter: FilterHistory,
        rings: Vec<Vec<usize>>,
    ) -> impl Iterator<Item = FilterPart> {
        let readers = rings.len();
        let shared = Arc::new(Self {
            filter: Mutex::new(filter),
            is_detached: AtomicBool::new(false),
            accepted: (0..readers).map(|_| AtomicU64::new(0)).collect(),
            rings,
        });
        (0..readers).map(move |reader| FilterPart {
            shared: shared.clone(),
            reader,
        })
    }

    fn filter(&self) -> MutexGuard<'_, FilterHistory> {
        // No panic leaves it half changed.
        self.filter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedFilter {
    /// What `filter` counted for the rings of one reader.
    fn of_reader(&self, filter: &FilterHistory, reader: usize) -> FilterCounters {
        let rings = self.rings[reader].iter();
        let counted = rings.filter_map(|&ring| filter.counters_of(ring));
        counted.fold(FilterCounters::NOTHING, FilterCounters::and)
    }
}

impl FilterPart {
    fn is_first(&self) -> bool {
        self.reader == 0
    }

    /// Packets that the rings of all readers counted; `accepted` of them this one's.
    fn accepted_by_all(&self, accepted: u64) -> u64 {
        // Each is read as it is; they order nothing else, so `Relaxed` is enough.
        self.shared.accepted[self.reader].store(accepted, Ordering::Relaxed);
        let counts = self.shared.accepted.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

impl KernelFilter for FilterPart {
    fn counters(&self) -> FilterCounters {
        let filter = self.shared.filter();
        if !self.is_first() {
            return self.shared.of_reader(&filter, self.reader);
        }
        let others = 1..self.shared.rings.len();
        let others = others.map(|reader| self.shared.of_reader(&filter, reader));
        let others = others.fold(FilterCounters::NOTHING, FilterCounters::and);
        filter.counters().without(others)
    }

    fn detach(&mut self) {
        // Whoever does not detach it waits here until it is detached.
        let mut filter = self.shared.filter();
        if !self.shared.is_detached.load(Ordering::Relaxed) {
            filter.detach();
            self.shared.is_detached.store(true, Ordering::Release);
        }
    }

    fn has_arrived(&self, accepted: u64) -> bool {
        let accepted = self.accepted_by_all(accepted);
        // Before it is detached, more can arrive.
        self.shared.is_detached.load(Ordering::Acquire)
            && self.shared.filter().has_arrived(accepted)
    }

    fn missing(&self, accepted: u64) -> u64 {
        let accepted = self.accepted_by_all(accepted);
        if self.is_first() {
            self.shared.filter().missing(accepted)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A program that counts how often it is detached.
    struct Program(Arc<AtomicUsize>);

    impl KernelFilter for Program {
        fn counters(&self) -> FilterCounters {
            FilterCounters {
                accepted: Some(3),
                ..FilterCounters::default()
            }
        }

        fn detach(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn whichever_reader_leaves_first_detaches_the_program() {
        for first in 0..3 {
            let detached = Arc::new(AtomicUsize::new(0));
            let program = FilterHistory::new(Box::new(Program(detached.clone())));
            let mut parts: Vec<_> =
                SharedFilter::parts(program, vec![vec![0], vec![1], vec![2]]).collect();
            assert!(parts.iter().all(|part| !part.has_arrived(1)));
            parts[first].detach();
            assert_eq!(detached.load(Ordering::Relaxed), 1, "reader {first}");
            assert!(parts.iter().all(|part| part.has_arrived(1)));
            parts.iter_mut().for_each(KernelFilter::detach);
            assert_eq!(detached.load(Ordering::Relaxed), 1);
        }
    }

    /// A program that counts by ring: ring n refused n packets, and 100 belong to none.
    struct ByRing;

    impl KernelFilter for ByRing {
        fn counters(&self) -> FilterCounters {
            FilterCounters {
                refused: Some(100 + 1 + 2 + 3),
                ..FilterCounters::NOTHING
            }
        }

        fn counters_of(&self, ring: usize) -> Option<FilterCounters> {
            Some(FilterCounters {
                refused: Some(ring as u64),
                ..FilterCounters::NOTHING
            })
        }
    }

    #[test]
    fn each_reader_has_what_its_rings_refused_and_the_first_one_the_rest() {
        let refused = |filter: Box<dyn KernelFilter>| {
            let rings = vec![vec![0, 3], vec![1], vec![2]];
            let parts = SharedFilter::parts(FilterHistory::new(filter), rings);
            let refused = parts.map(|part| part.counters().refused);
            refused.collect::<Vec<_>>()
        };
        assert_eq!(refused(Box::new(ByRing)), [103, 1, 2].map(Some));
        let program = Program(Arc::default());
        assert_eq!(refused(Box::new(program)), [None, Some(0), Some(0)]);
    }
}
