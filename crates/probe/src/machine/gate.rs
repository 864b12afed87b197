//! Limits beside the rate: so many a second to a prefix, so many unknown hosts on the link.

use std::net::IpAddr;

use super::permutation::mix;
use super::plan::{NeighbourPace, Plan};

/// Prefixes told apart; two that share a place share their limit.
pub(super) const PREFIX_PLACES: usize = 1 << 16;

/// A bucket of tokens, kept as the time at which it would be full again.
///
/// # Source
/// The generic cell rate algorithm: ITU-T I.371, annex A.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Time a token takes to come back.
    each_ns: u64,
    /// Time in which as many come back as may be taken at once.
    burst_ns: u64,
}

impl Bucket {
    /// When the next token may be taken, the bucket being full at `full_ns`.
    fn ready(self, full_ns: u64) -> u64 {
        (full_ns + self.each_ns).saturating_sub(self.burst_ns)
    }

    fn take(self, full_ns: &mut u64, now_ns: u64) {
        *full_ns = (*full_ns).max(now_ns) + self.each_ns;
    }
}

/// The limits of a run.
#[derive(Debug)]
pub(crate) struct Gates {
    prefixes: Option<(Bucket, Box<[u64]>)>,
    neighbour: Bucket,
    neighbours_full_ns: u64,
    /// A bit for each target on the link that has not answered yet; empty when there are none.
    unheard: Box<[u64]>,
}

impl Gates {
    pub fn new(plan: &Plan) -> Self {
        let prefixes = plan.prefix_pps.map(|rate| {
            let each_ns = 1_000_000_000 / u64::from(rate);
            let bucket = Bucket {
                each_ns,
                burst_ns: each_ns,
            };
            (bucket, vec![0; PREFIX_PLACES].into_boxed_slice())
        });
        let NeighbourPace { most, time_ns } = plan.neighbours;
        Self {
            prefixes,
            neighbour: Bucket {
                each_ns: time_ns / u64::from(most),
                burst_ns: time_ns,
            },
            neighbours_full_ns: 0,
            unheard: Box::default(),
        }
    }

    /// Whether there is any limit to ask for.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.prefixes.is_none() && self.unheard.is_empty()
    }

    /// Marks `target`, one of `targets`, as a host on the link whose hardware address is to be found.
    pub fn mark_on_link(&mut self, target: u32, targets: u32) {
        if self.unheard.is_empty() {
            self.unheard = vec![0; targets.div_ceil(64) as usize].into_boxed_slice();
        }
        self.unheard[target as usize / 64] |= 1 << (target % 64);
    }

    /// Notes that `target` has answered: its hardware address is known.
    #[inline]
    pub fn heard(&mut self, target: u32) {
        if self.is_unheard(target) {
            self.unheard[target as usize / 64] &= !(1 << (target % 64));
            // It no longer takes a place among the unknown.
            let each_ns = self.neighbour.each_ns;
            self.neighbours_full_ns = self.neighbours_full_ns.saturating_sub(each_ns);
        }
    }

    /// When a probe to `target` at `address` may go; now, if that time is past.
    pub fn ready(&self, target: u32, address: IpAddr) -> u64 {
        let by_prefix = self
            .prefixes
            .as_ref()
            .map_or(0, |(bucket, full)| bucket.ready(full[place(address)]));
        let by_neighbour = if self.is_unheard(target) {
            self.neighbour.ready(self.neighbours_full_ns)
        } else {
            0
        };
        by_prefix.max(by_neighbour)
    }

    /// Notes that a probe goes to `target` now.
    pub fn pass(&mut self, target: u32, address: IpAddr, now_ns: u64) {
        if let Some((bucket, full)) = &mut self.prefixes {
            bucket.take(&mut full[place(address)], now_ns);
        }
        if self.is_unheard(target) {
            self.neighbour.take(&mut self.neighbours_full_ns, now_ns);
        }
    }

    #[inline]
    fn is_unheard(&self, target: u32) -> bool {
        let word = self.unheard.get(target as usize / 64);
        word.is_some_and(|word| word >> (target % 64) & 1 != 0)
    }
}

/// Where the /24 or /64 of `address` has its place.
pub(super) fn place(address: IpAddr) -> usize {
    let prefix = match address {
        IpAddr::V4(address) => u64::from(address.to_bits() >> 8),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    };
    mix(prefix) as usize % PREFIX_PLACES
}
