//! The filters of an interface, as its reader and the thread that changes it share them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bpf::socket_filter::CountingFilterError;

use super::kernel_filter::{AcceptAll, FilterCounters, FilterHistory, KernelFilter};

/// The filters of an interface. Clones share them.
#[derive(Clone)]
pub struct InterfaceFilter(Arc<Mutex<FilterHistory>>);

impl InterfaceFilter {
    pub fn new(first: Box<dyn KernelFilter>) -> Self {
        Self(Arc::new(Mutex::new(FilterHistory::new(first))))
    }

    fn history(&self) -> MutexGuard<'_, FilterHistory> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the filters, and leaves one that accepts every packet.
    pub fn take(&self) -> FilterHistory {
        let nothing = FilterHistory::new(Box::new(AcceptAll));
        std::mem::replace(&mut *self.history(), nothing)
    }

    /// `next` decides from now on.
    pub fn follow(&self, next: Box<dyn KernelFilter>) {
        self.history().follow(next);
    }

    /// Ends the flow of packets, if that takes more than replacing the filter of a ring.
    pub fn detach(&self) {
        self.history().detach();
    }

    /// What they have counted so far.
    pub fn counters(&self) -> FilterCounters {
        self.history().counters()
    }

    /// Why they do not count refused packets.
    pub fn uncounted(&self) -> Option<Arc<CountingFilterError>> {
        self.history().uncounted().cloned()
    }

    /// Whether every accepted packet has arrived in a ring; the rings behind them counted `accepted`.
    pub fn has_arrived(&self, accepted: u64) -> bool {
        self.history().has_arrived(accepted)
    }

    /// Packets that they accepted and that never arrived in a ring.
    pub fn missing(&self, accepted: u64) -> u64 {
        self.history().missing(accepted)
    }
}

/// Switches the counting of refused packets from `before` to `next`. One of the two is an XDP program and the other a packet
/// socket behind it, so both see the packets that the program passes on. Each slice has one filter for each reader.
///
/// A packet that is between the two at this moment counts twice, or not at all. To keep such packets few, the counters of the
/// program are read first, because the program sees a packet first.
pub fn hand_over_counting(
    before: &[InterfaceFilter],
    next: &[InterfaceFilter],
    is_next_first: bool,
) {
    let begin = || next.iter().for_each(|one| one.history().begin_counting());
    let end = || before.iter().for_each(|one| one.history().end_counting());
    if is_next_first {
        begin();
        end();
    } else {
        end();
        begin();
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A filter that has refused so many packets, every tenth of them for sampling.
    #[derive(Clone, Default)]
    struct Refuses(Arc<AtomicU64>);

    impl Refuses {
        fn refuse(&self, packets: u64) {
            self.0.fetch_add(packets, Ordering::Relaxed);
        }
    }

    impl KernelFilter for Refuses {
        fn counters(&self) -> FilterCounters {
            let refused = self.0.load(Ordering::Relaxed);
            FilterCounters {
                refused: Some(refused),
                sampled_out: Some(refused / 10),
                accepted: Some(7),
                lost: 3,
            }
        }
    }

    #[test]
    fn a_packet_that_both_refuse_counts_once() {
        for is_next_first in [false, true] {
            let [first, second] = [Refuses::default(), Refuses::default()];
            let [before, next] =
                [&first, &second].map(|one| InterfaceFilter::new(Box::new(one.clone())));
            first.refuse(100);
            // Both are in front of their rings.
            let both = |packets| {
                first.refuse(packets);
                second.refuse(packets);
            };
            both(20);
            hand_over_counting(from_ref(&before), from_ref(&next), is_next_first);
            both(50);
            second.refuse(200);
            let counts = [before, next].map(|one| one.counters());
            assert_eq!(counts.map(|one| one.refused), [Some(120), Some(250)]);
            assert_eq!(counts.map(|one| one.sampled_out), [Some(12), Some(25)]);
            assert_eq!(
                counts.map(|one| (one.accepted, one.lost)),
                [(Some(7), 3); 2]
            );
        }
    }
}
