//! Limits besides the overall rate: probes per second to one prefix, and pace for unresolved neighbours.

use std::net::IpAddr;

use super::deferred::Limit;
use super::permutation::mix;
use crate::plan::{NeighbourPace, ProbePlan};

/// Maximum probes that wait for their prefix while others overtake them, and as many that wait for the pace of neighbours.
pub(crate) const MAX_DEFERRED: usize = 1024;
/// Maximum probes of a sweep that wait for their prefix. Its targets have a random order. If all prefixes are probed at 80 % of their
/// limit, on average 1.6 probes of each wait.
const MAX_DEFERRED_IN_SWEEP: usize = 1 << 17;
/// Number of prefix limits. Two prefixes may share one, but not two of the same IPv4 /8 or IPv6 /48.
pub(crate) const PREFIX_SLOTS: usize = 1 << 16;

/// A token bucket. Its fill level is kept as the time at which it will be full.
///
/// # Source
/// The generic cell rate algorithm: ITU-T I.371, annex A.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    /// Time to refill one token.
    each_ns: u64,
    /// Time to refill the whole bucket.
    burst_ns: u64,
}

impl TokenBucket {
    /// When the next token is available, if the bucket is full at `full_ns`.
    fn ready(self, full_ns: u64) -> u64 {
        (full_ns + self.each_ns).saturating_sub(self.burst_ns)
    }

    fn take(self, full_ns: &mut u64, now_ns: u64) {
        *full_ns = (*full_ns).max(now_ns) + self.each_ns;
    }
}

/// Maximum probes of a run that wait for their prefix while others overtake them.
pub(crate) fn max_deferred(plan: &ProbePlan) -> usize {
    if plan.rounds == Some(1) && plan.prefix_pps.is_some() {
        MAX_DEFERRED_IN_SWEEP
    } else {
        MAX_DEFERRED
    }
}

/// The limits of a run.
#[derive(Debug)]
pub(crate) struct RateLimits {
    prefixes: Option<(TokenBucket, Box<[u64]>)>,
    neighbour: TokenBucket,
    neighbours_full_ns: u64,
    /// One bit per target: on-link and not answered yet. Empty if there are none.
    unresolved: Vec<u64>,
}

impl RateLimits {
    pub fn new(plan: &ProbePlan) -> Self {
        let prefixes = plan.prefix_pps.map(|rate| {
            let each_ns = 1_000_000_000 / u64::from(rate);
            let bucket = TokenBucket {
                each_ns,
                burst_ns: each_ns,
            };
            (bucket, vec![0; PREFIX_SLOTS].into_boxed_slice())
        });
        let NeighbourPace { most, time_ns } = plan.neighbours;
        Self {
            prefixes,
            neighbour: TokenBucket {
                each_ns: time_ns / u64::from(most),
                burst_ns: time_ns,
            },
            neighbours_full_ns: 0,
            unresolved: Vec::new(),
        }
    }

    /// Whether no limit is configured.
    #[inline]
    pub fn is_unlimited(&self) -> bool {
        self.prefixes.is_none() && self.unresolved.is_empty()
    }

    /// Marks `target`, one of `targets`, as an on-link host whose link-layer address is unknown.
    pub fn mark_on_link(&mut self, target: u32, targets: u32) {
        let words = targets.div_ceil(64) as usize;
        if self.unresolved.len() < words {
            self.unresolved.resize(words, 0);
        }
        self.unresolved[target as usize / 64] |= 1 << (target % 64);
    }

    /// Notes that `target` is another host now.
    pub fn forget(&mut self, target: u32) {
        if let Some(word) = self.unresolved.get_mut(target as usize / 64) {
            *word &= !(1 << (target % 64));
        }
    }

    /// Notes that `target` has answered: its link-layer address is known.
    #[inline]
    pub fn answered(&mut self, target: u32) {
        if self.is_unresolved(target) {
            self.unresolved[target as usize / 64] &= !(1 << (target % 64));
            // It no longer occupies an unresolved neighbour entry.
            let each_ns = self.neighbour.each_ns;
            self.neighbours_full_ns = self.neighbours_full_ns.saturating_sub(each_ns);
        }
    }

    /// Number of limits of prefixes.
    pub fn prefixes(&self) -> usize {
        let prefixes = self.prefixes.as_ref();
        prefixes.map_or(0, |(_, full)| full.len())
    }

    /// When a probe to `target` at `address` may be sent, and what it waits for. A past time means now.
    pub fn ready(&self, target: u32, address: IpAddr) -> (u64, Limit) {
        let neighbour_ns = if self.is_unresolved(target) {
            self.neighbour.ready(self.neighbours_full_ns)
        } else {
            0
        };
        let by_neighbour = (neighbour_ns, Limit::Neighbours);
        let Some((bucket, full)) = &self.prefixes else {
            return by_neighbour;
        };
        let slot = prefix_slot(address);
        let prefix_ns = bucket.ready(full[slot]);
        if neighbour_ns > prefix_ns {
            by_neighbour
        } else {
            (prefix_ns, Limit::Prefix(slot as u32))
        }
    }

    /// When a limit permits a probe.
    pub fn ready_of(&self, limit: Limit) -> u64 {
        match (limit, &self.prefixes) {
            (Limit::Prefix(prefix), Some((bucket, full))) => bucket.ready(full[prefix as usize]),
            _ => self.neighbour.ready(self.neighbours_full_ns),
        }
    }

    /// Takes the tokens for a probe to `target` now.
    pub fn take(&mut self, target: u32, address: IpAddr, now_ns: u64) {
        if let Some((bucket, full)) = &mut self.prefixes {
            bucket.take(&mut full[prefix_slot(address)], now_ns);
        }
        if self.is_unresolved(target) {
            self.neighbour.take(&mut self.neighbours_full_ns, now_ns);
        }
    }

    /// Gives back the token of the prefix for a probe to `address` that is not sent yet.
    pub fn give_back(&mut self, address: IpAddr) {
        if let Some((bucket, full)) = &mut self.prefixes {
            let full_ns = &mut full[prefix_slot(address)];
            *full_ns = full_ns.saturating_sub(bucket.each_ns);
        }
    }

    #[inline]
    fn is_unresolved(&self, target: u32) -> bool {
        let word = self.unresolved.get(target as usize / 64);
        word.is_some_and(|word| word >> (target % 64) & 1 != 0)
    }
}

/// The index of the limit for the /24 or /64 of `address`.
pub(crate) fn prefix_slot(address: IpAddr) -> usize {
    let prefix = match address {
        IpAddr::V4(address) => u64::from(address.to_bits() >> 8),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    };
    let others = mix(prefix / PREFIX_SLOTS as u64);
    (prefix ^ others) as usize % PREFIX_SLOTS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// All 65 536 prefixes of 10.0.0.0/8, and of an IPv6 /48.
    #[test]
    fn the_prefixes_of_a_network_share_no_limit() {
        let ipv4 = |number: u32| IpAddr::from(Ipv4Addr::from_bits(10 << 24 | number << 8));
        let ipv6 = |number: u32| {
            let prefix = 0x2001_0db8_0007_u128 << 80 | u128::from(number) << 64;
            IpAddr::from(Ipv6Addr::from_bits(prefix))
        };
        let slots: HashSet<usize> = (0..65_536).map(|n| prefix_slot(ipv4(n))).collect();
        assert_eq!(slots.len(), 65_536);
        let slots: HashSet<usize> = (0..65_536).map(|n| prefix_slot(ipv6(n))).collect();
        assert_eq!(slots.len(), 65_536);
        assert_eq!(
            prefix_slot(ipv4(7)),
            prefix_slot([10, 0, 7, 255].into()),
            "a /24 has one limit"
        );
    }
}
