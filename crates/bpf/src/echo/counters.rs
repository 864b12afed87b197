//! The counters of each target, in the memory of a map.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abi::region::Region;

use super::layout::{
    BUCKETS, Entries, HISTOGRAM, NO_HOP, TARGET_BUCKETS, TARGET_HISTOGRAM_BYTES, answer, target,
};

/// The answers of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EchoTarget {
    /// First answers in time.
    pub received: u64,
    /// First answers after the timeout.
    pub late: u64,
    /// Further answers; of a target with one probe, at most about 255.
    pub duplicate: u64,
    /// Damaged or truncated answers, with the same limit.
    pub corrupt: u64,
    /// ICMP errors that were the first answer.
    pub errors: u64,
    /// Sum of the round trips, nanoseconds.
    pub sum_ns: u64,
    /// Sum of their squares; each counted as at most 4.29 seconds.
    pub squares: u128,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The latest.
    pub last_ns: u64,
    /// Smoothed difference between consecutive ones (RFC 3550, 6.4.1), in sixteenths of a nanosecond.
    pub jitter_16: u64,
    /// Type and code of the ICMP error; only of a target with one probe.
    pub error: Option<[u8; 2]>,
}

/// The answers of each target. Holds their memory; copies share it.
#[derive(Clone, Debug)]
pub struct EchoCounters {
    memory: Arc<Region>,
    histograms: Option<Arc<Region>>,
    /// The totals of all targets, with their histogram.
    totals: Arc<Region>,
    entries: Entries,
    count: u32,
}

impl EchoCounters {
    pub(super) fn new(
        memory: Region,
        histograms: Option<Region>,
        totals: Arc<Region>,
        entries: Entries,
        count: u32,
    ) -> Self {
        let counters = Self {
            memory: Arc::new(memory),
            histograms: histograms.map(Arc::new),
            totals,
            entries,
            count,
        };
        for number in 0..count {
            counters.forget_hop(number);
            if !entries.is_single {
                let at = counters.place(number) + offset(target::MIN);
                counters
                    .memory
                    .word64(at)
                    .store(u64::MAX, Ordering::Relaxed);
            }
        }
        counters
    }

    fn place(&self, target: u32) -> usize {
        target as usize * self.entries.bytes()
    }

    pub(super) fn set(&self, target: u32, address: IpAddr, hop: Option<u32>) {
        if target >= self.count {
            return;
        }
        let mapped = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let octets = mapped.octets();
        let bytes = usize::from(self.entries.address_bytes.cast_unsigned());
        let (words, _) = octets[octets.len() - bytes..].as_chunks();
        let words = words.iter().copied().map(u32::from_ne_bytes);
        let hop = hop.unwrap_or(NO_HOP);
        // The hop follows the address.
        for (number, word) in words.chain([hop]).enumerate() {
            let at = self.place(target) + 4 * number;
            self.memory.word(at).store(word, Ordering::Relaxed);
        }
    }

    /// Leaves a target without a hop.
    pub(super) fn forget_hop(&self, target: u32) {
        if target < self.count {
            let at = self.place(target) + offset(self.entries.hop());
            self.memory.word(at).store(NO_HOP, Ordering::Relaxed);
        }
    }

    /// Sets the timeout of a target with any number of probes; 0 is that of the run.
    pub(super) fn set_timeout(&self, target: u32, timeout_us: u32) {
        if target < self.count && !self.entries.is_single {
            let at = self.place(target) + offset(target::TIMEOUT);
            self.memory.word(at).store(timeout_us, Ordering::Relaxed);
        }
    }

    /// Forgets the answers of a target, for another one. Its place must not receive any meanwhile.
    pub fn reset(&self, target: u32) {
        if target >= self.count {
            return;
        }
        let first = if self.entries.is_single {
            self.entries.answer()
        } else {
            target::RECEIVED
        };
        for at in (offset(first)..self.entries.bytes()).step_by(8) {
            let is_min = !self.entries.is_single && at == offset(target::MIN);
            let value = if is_min { u64::MAX } else { 0 };
            let word = self.memory.word64(self.place(target) + at);
            word.store(value, Ordering::Relaxed);
        }
        for bucket in self.buckets(target) {
            bucket.store(0, Ordering::Relaxed);
        }
    }

    /// The histogram of a target: its buckets; none without histograms.
    fn buckets(&self, target: u32) -> impl Iterator<Item = &AtomicU64> {
        let memory = self.histograms.as_deref();
        let memory = memory.filter(|_| target < self.count);
        let at = target as usize * TARGET_HISTOGRAM_BYTES;
        let words = (0..TARGET_BUCKETS).map(move |bucket| at + 8 * bucket);
        memory
            .into_iter()
            .flat_map(move |memory| words.clone().map(|at| memory.word64(at)))
    }

    /// The histogram of the round trips of a target, in units of 128 ns: eight buckets for each doubling, up to 2³⁶ ns. Empty
    /// without [`EchoProberOptions::has_histograms`](super::EchoProberOptions::has_histograms).
    pub fn histogram(&self, target: u32) -> Vec<u64> {
        let buckets = self.buckets(target);
        buckets.map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// The histogram of the round trips of all targets: each nanosecond below 128 has a bucket, and each doubling above has
    /// 128, up to 2⁴³ ns.
    pub fn round_trips(&self) -> Vec<u64> {
        let word = |bucket| self.totals.word64(offset(HISTOGRAM) + 8 * bucket);
        let buckets = 0..BUCKETS;
        buckets
            .map(|bucket| word(bucket).load(Ordering::Relaxed))
            .collect()
    }

    #[inline]
    pub(super) fn hop_of(&self, target: u32) -> Option<u32> {
        if target >= self.count {
            return None;
        }
        let at = self.place(target) + offset(self.entries.hop());
        let hop = self.memory.word(at).load(Ordering::Relaxed);
        (hop != NO_HOP).then_some(hop)
    }

    /// The answers of a target; none if there is no such target.
    pub fn target(&self, target: u32) -> EchoTarget {
        if target >= self.count {
            return EchoTarget::default();
        }
        let base = self.place(target);
        let of = |at: i16| {
            let word = self.memory.word64(base + offset(at));
            word.load(Ordering::Relaxed)
        };
        if self.entries.is_single {
            return EchoTarget::of_answer(of(self.entries.answer()));
        }
        let [low, high] = [target::SQUARES_LOW, target::SQUARES_HIGH].map(|at| u128::from(of(at)));
        EchoTarget {
            received: of(target::RECEIVED),
            late: of(target::LATE),
            duplicate: of(target::DUPLICATE),
            corrupt: of(target::CORRUPT),
            errors: of(target::ERRORS),
            sum_ns: of(target::SUM),
            squares: (high << 32) + low,
            min_ns: of(target::MIN),
            max_ns: of(target::MAX),
            last_ns: of(target::LAST),
            jitter_16: of(target::JITTER),
            error: None,
        }
    }
}

impl EchoTarget {
    /// What the answer to the only probe says.
    fn of_answer(word: u64) -> Self {
        let part = |bit: i32, mask: i32| (word >> bit) & u64::from(mask.cast_unsigned());
        let kind = part(answer::KIND, 7);
        let is = |expected: i32| u64::from(kind == u64::from(expected.cast_unsigned()));
        let received = is(answer::RECEIVED);
        // Round trips of late answers are not counted.
        let rtt_ns = received * (word & answer::MAX_RTT_NS);
        Self {
            received,
            late: is(answer::LATE),
            duplicate: part(answer::DUPLICATE, answer::DUPLICATE_MASK),
            corrupt: part(answer::CORRUPT, answer::CORRUPT_MASK),
            errors: is(answer::ERROR),
            sum_ns: rtt_ns,
            squares: u128::from(rtt_ns.min(u32::MAX.into())).pow(2),
            min_ns: rtt_ns,
            max_ns: rtt_ns,
            last_ns: rtt_ns,
            jitter_16: 0,
            // The program has copied them from the message.
            error: (is(answer::ERROR) > 0).then(|| (word as u16).to_ne_bytes()),
        }
    }
}

/// An offset of the layout, which is not negative.
pub(super) fn offset(at: i16) -> usize {
    at.cast_unsigned().into()
}
