//! The targets of a run.

use std::net::IpAddr;

use super::block::Block;
use super::span::number;

/// Targets by place, and places by address.
///
/// Prefixes and ranges take the same room however many addresses they have; single addresses take 8
/// bytes of IPv4 and 20 of IPv6. Each address comes once, where it was named first.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub(super) blocks: Vec<Block>,
    /// Place of each block's first target, in order.
    pub(super) firsts: Vec<u32>,
    pub(super) len: u32,
    /// Spans by address: first number, block.
    pub(super) spans: Vec<(u128, u32)>,
    /// Single addresses: places in the order of the addresses.
    pub(super) singles: Vec<u32>,
    /// Names that were given instead of addresses, by place.
    pub(super) names: Vec<(u32, Box<str>)>,
    /// Zones that were given with addresses, by place.
    pub(super) zones: Vec<(u32, u32)>,
    pub(super) repeated: u128,
    pub(super) excluded: u128,
}

impl Targets {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of target `index`.
    ///
    /// # Panics
    /// When there is no such target.
    #[inline]
    pub fn address(&self, index: u32) -> IpAddr {
        assert!(index < self.len, "target {index} of {}", self.len);
        // The first block begins at 0, so one begins at or before.
        let block = self.firsts.partition_point(|first| *first <= index) - 1;
        self.blocks[block].address((index - self.firsts[block]) as usize)
    }

    /// Whether there is a target of IPv4, or of IPv6.
    pub fn has_family(&self, is_ipv6: bool) -> bool {
        let is_of = |block: &Block| block.address(0).is_ipv6() == is_ipv6;
        self.blocks.iter().any(is_of)
    }

    /// The name that target `index` was given by, where it was not its address.
    pub fn name(&self, index: u32) -> Option<&str> {
        let found = self.names.binary_search_by_key(&index, |(place, _)| *place);
        found.ok().map(|at| &*self.names[at].1)
    }

    /// The interface on which target `index` is to be found, where its address was given with a zone
    /// (`fe80::1%eth0`).
    ///
    /// # Source
    /// RFC 4007, 11.
    #[inline]
    pub fn zone(&self, index: u32) -> Option<u32> {
        let found = self.zones.binary_search_by_key(&index, |(place, _)| *place);
        found.ok().map(|at| self.zones[at].1)
    }

    /// The target with this address.
    pub fn find(&self, address: IpAddr) -> Option<u32> {
        let wanted = number(address);
        let after = self.spans.partition_point(|(first, _)| *first <= wanted);
        if let Some((first, block)) = after.checked_sub(1).map(|at| self.spans[at])
            && let Block::Span(span) = &self.blocks[block as usize]
            && wanted <= span.last
        {
            return Some(self.firsts[block as usize] + (wanted - first) as u32);
        }
        let singles = &self.singles;
        let found = singles.binary_search_by_key(&wanted, |place| number(self.address(*place)));
        found.ok().map(|at| singles[at])
    }

    /// Addresses that were named more than once and come once.
    pub fn repeated(&self) -> u128 {
        self.repeated
    }

    /// Addresses that were named and excluded.
    pub fn excluded(&self) -> u128 {
        self.excluded
    }
}

impl From<IpAddr> for Targets {
    /// A single target.
    fn from(address: IpAddr) -> Self {
        let block = match address.to_canonical() {
            IpAddr::V4(address) => Block::V4(vec![address.to_bits()]),
            IpAddr::V6(address) => Block::V6(vec![address.to_bits()]),
        };
        Self {
            blocks: vec![block],
            firsts: vec![0],
            len: 1,
            singles: vec![0],
            ..Self::default()
        }
    }
}
