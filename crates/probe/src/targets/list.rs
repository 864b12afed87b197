//! The list of targets of a run.

use std::net::IpAddr;

use super::range::{AddressRange, address, number};

/// The targets of a run, by index and by address.
///
/// Prefixes and ranges take constant memory, whatever their size. A single address takes 8 bytes (IPv4)
/// or 20 bytes (IPv6). Each address occurs once, at its first mention.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub(super) blocks: Vec<Block>,
    /// Index of the first target of each block, ascending.
    pub(super) firsts: Vec<u32>,
    pub(super) len: u32,
    /// Ranges sorted by address: first address, block.
    pub(super) ranges: Vec<(u128, u32)>,
    /// Indices of single addresses, sorted by address.
    pub(super) singles: Vec<u32>,
    /// Host names, by index.
    pub(super) names: Vec<(u32, Box<str>)>,
    /// Zones of addresses, by index.
    pub(super) zones: Vec<(u32, u32)>,
    pub(super) repeated: u128,
    pub(super) excluded: u128,
}

impl Targets {
    /// Number of targets.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of target `index`.
    ///
    /// # Panics
    /// Panics if `index` is not below [`Targets::len`].
    #[inline]
    pub fn address(&self, index: u32) -> IpAddr {
        assert!(index < self.len, "target {index} of {}", self.len);
        // The first block starts at 0, so one starts at or before `index`.
        let block = self.firsts.partition_point(|first| *first <= index) - 1;
        self.blocks[block].address((index - self.firsts[block]) as usize)
    }

    /// Whether there is an IPv6 target (`is_ipv6`), or an IPv4 target.
    pub fn has_family(&self, is_ipv6: bool) -> bool {
        let is_of = |block: &Block| block.address(0).is_ipv6() == is_ipv6;
        self.blocks.iter().any(is_of)
    }

    /// The host name of target `index`, if it was given by name.
    pub fn name(&self, index: u32) -> Option<&str> {
        let found = self
            .names
            .binary_search_by_key(&index, |(target, _)| *target);
        found.ok().map(|at| &*self.names[at].1)
    }

    /// The interface index of target `index`, if its address has a zone (`fe80::1%eth0`).
    ///
    /// # Source
    /// RFC 4007, 11.
    #[inline]
    pub fn zone(&self, index: u32) -> Option<u32> {
        let found = self
            .zones
            .binary_search_by_key(&index, |(target, _)| *target);
        found.ok().map(|at| self.zones[at].1)
    }

    /// The index of the target with this address.
    pub fn find(&self, address: IpAddr) -> Option<u32> {
        let key = number(address);
        let after = self.ranges.partition_point(|(first, _)| *first <= key);
        if let Some((first, block)) = after.checked_sub(1).map(|at| self.ranges[at])
            && let Block::Range(range) = &self.blocks[block as usize]
            && key <= range.last
        {
            return Some(self.firsts[block as usize] + (key - first) as u32);
        }
        let singles = &self.singles;
        let found = singles.binary_search_by_key(&key, |index| number(self.address(*index)));
        found.ok().map(|at| singles[at])
    }

    /// Number of repeated addresses, which occur only once.
    pub fn repeated(&self) -> u128 {
        self.repeated
    }

    /// Number of addresses that were excluded.
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

/// Consecutive targets of the list.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// Consecutive addresses.
    Range(AddressRange),
    /// IPv4 addresses in list order.
    V4(Vec<u32>),
    /// IPv6 addresses in list order.
    V6(Vec<u128>),
}

impl Block {
    #[inline]
    pub fn address(&self, at: usize) -> IpAddr {
        match self {
            Self::Range(range) => address(range.first + at as u128),
            Self::V4(list) => IpAddr::V4(list[at].into()),
            Self::V6(list) => IpAddr::V6(list[at].into()),
        }
    }

    /// Appends an address if the block has its kind. Returns whether it was appended.
    pub fn push(&mut self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(list), IpAddr::V4(address)) => list.push(address.to_bits()),
            (Self::V6(list), IpAddr::V6(address)) => list.push(address.to_bits()),
            _ => return false,
        }
        true
    }
}
