//! The list of targets of a run.

use std::net::IpAddr;
use std::sync::OnceLock;

use super::changed_hosts::ChangedHosts;
use super::range::{AddressRange, address, number};
use super::rules::AddressRules;
use crate::path::EcmpPath;
use crate::settings::TargetSettings;

/// The targets of a run, by index and by address.
///
/// Prefixes and ranges take constant memory, whatever their size. A single address takes 4 bytes (IPv4) or 16 bytes (IPv6),
/// and 4 more once a target is [found by its address](Targets::find). Each address occurs once, at its first mention, except
/// for names that are followed ([`TargetsBuilder::follow_names`](super::TargetsBuilder::follow_names)).
///
/// A target is a host, or a path to it ([`Targets::with_paths`]). The paths of host `h` are the targets from
/// `h · paths` on.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub(super) blocks: Vec<Block>,
    /// Index of the first host of each block, ascending.
    pub(super) firsts: Vec<u32>,
    /// Number of hosts.
    pub(super) hosts: u32,
    /// Ranges sorted by address: first address, block.
    pub(super) ranges: Vec<(u128, u32)>,
    /// Hosts with single addresses, sorted by address, once somebody has asked for one.
    pub(super) singles: OnceLock<Vec<u32>>,
    /// Names, by host.
    pub(super) names: Vec<(u32, Box<str>)>,
    /// Zones of addresses, by host.
    pub(super) zones: Vec<(u32, u32)>,
    pub(super) repeated: u128,
    pub(super) excluded: u128,
    /// Paths to each host; 0 if probes are not assigned to paths.
    pub(super) paths: u8,
    /// Settings, by host; empty if all have the default.
    pub(super) settings: Vec<TargetSettings>,
    pub(super) rules: AddressRules,
    pub(super) changed: ChangedHosts,
}

impl Targets {
    /// Number of targets, including those that were removed while the run lasted.
    #[inline]
    pub fn len(&self) -> u32 {
        self.hosts.saturating_mul(self.paths.max(1).into())
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.hosts == 0
    }

    /// Number of hosts: of targets without regard to paths.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The indices of all targets that were not removed.
    pub fn indices(&self) -> impl Iterator<Item = u32> + Clone {
        (0..self.len()).filter(|index| !self.is_removed(*index))
    }

    /// Makes each of `count` paths to each host a target; 0 assigns probes to no path.
    #[must_use]
    pub fn with_paths(mut self, count: u8) -> Self {
        self.paths = count;
        self
    }

    /// Number of paths to each host; 0 if probes are not assigned to paths.
    pub fn paths(&self) -> u8 {
        self.paths
    }

    /// The path of target `index`; `None` if probes are not assigned to paths.
    #[inline]
    pub fn path(&self, index: u32) -> Option<EcmpPath> {
        let number = index.checked_rem(self.paths.into())?;
        Some(EcmpPath::new(number as u8))
    }

    /// The host of target `index`.
    #[inline]
    pub fn host(&self, index: u32) -> u32 {
        match self.paths {
            0 | 1 => index,
            paths => index / u32::from(paths),
        }
    }

    /// The targets of `host`, one for each path.
    pub fn of_host(&self, host: u32) -> std::ops::Range<u32> {
        let paths = u32::from(self.paths.max(1));
        host * paths..(host + 1) * paths
    }

    /// The address of target `index`; `None` if its name has none.
    ///
    /// # Panics
    /// Panics if `index` is not below [`Targets::len`].
    #[inline]
    pub fn address(&self, index: u32) -> Option<IpAddr> {
        let host = self.host(index);
        assert!(host < self.hosts, "target {index} of {}", self.len());
        match self.changed.address(host) {
            Some(changed) => changed,
            None => Some(self.listed_address(host)),
        }
    }

    /// The address of a host that has not changed.
    #[inline]
    pub(super) fn listed_address(&self, host: u32) -> IpAddr {
        // The first block starts at 0, so one starts at or before `host`.
        let block = self.firsts.partition_point(|first| *first <= host) - 1;
        self.blocks[block].address((host - self.firsts[block]) as usize)
    }

    /// Whether there is an IPv6 target (`is_ipv6`), or an IPv4 target.
    pub fn has_family(&self, is_ipv6: bool) -> bool {
        let is_of = |block: &Block| block.address(0).is_ipv6() == is_ipv6;
        self.blocks.iter().any(is_of)
    }

    /// Whether the list accepts addresses of a family.
    pub fn allows_family(&self, is_ipv6: bool) -> bool {
        self.rules.allows(is_ipv6)
    }

    /// The host name of target `index`, if it was given by name.
    pub fn name(&self, index: u32) -> Option<&str> {
        let host = self.host(index);
        let found = self.names.binary_search_by_key(&host, |(named, _)| *named);
        found.ok().map(|at| &*self.names[at].1)
    }

    /// The interface index of target `index`, if its address has a zone (`fe80::1%eth0`).
    ///
    /// # Source
    /// RFC 4007, 11.
    #[inline]
    pub fn zone(&self, index: u32) -> Option<u32> {
        let host = self.host(index);
        let found = self.zones.binary_search_by_key(&host, |(zoned, _)| *zoned);
        found.ok().map(|at| self.zones[at].1)
    }

    /// The hosts whose address has a zone, each with its interface index.
    pub fn zones(&self) -> impl Iterator<Item = (u32, u32)> {
        self.zones.iter().copied()
    }

    /// Probes all hosts of the list with these settings.
    #[must_use]
    pub fn with_settings(mut self, settings: TargetSettings) -> Self {
        self.settings = vec![settings; self.hosts as usize];
        self
    }

    /// Probes `host` with these settings. Ignores hosts that do not exist.
    pub fn set_settings(&mut self, host: u32, settings: TargetSettings) {
        if self.settings.is_empty() && settings.is_default() {
            return;
        }
        let hosts = self.hosts as usize;
        self.settings.resize(hosts, TargetSettings::default());
        if let Some(of_host) = self.settings.get_mut(host as usize) {
            *of_host = settings;
        }
    }

    /// The settings of `host`.
    pub fn settings(&self, host: u32) -> TargetSettings {
        let settings = self.settings.get(host as usize);
        settings.copied().unwrap_or_default()
    }

    /// Whether some hosts have settings of their own.
    pub fn has_settings(&self) -> bool {
        self.settings.iter().any(|settings| !settings.is_default())
    }

    /// The index of the target with this address; with paths, of the first. The first call sorts the single addresses of the
    /// list.
    pub fn find(&self, address: IpAddr) -> Option<u32> {
        let host = self.changed.find(address).or_else(|| {
            let host = self.find_listed(address)?;
            // Its host may have another address now, or be removed.
            let is_there = self.changed.address(host).is_none() && !self.changed.is_removed(host);
            is_there.then_some(host)
        })?;
        Some(self.of_host(host).start)
    }

    fn find_listed(&self, address: IpAddr) -> Option<u32> {
        let key = number(address);
        let after = self.ranges.partition_point(|(first, _)| *first <= key);
        if let Some((first, block)) = after.checked_sub(1).map(|at| self.ranges[at])
            && let Block::Range(range) = &self.blocks[block as usize]
            && key <= range.last
        {
            return Some(self.firsts[block as usize] + (key - first) as u32);
        }
        let singles = self.singles();
        let found = singles.binary_search_by_key(&key, |index| number(self.listed_address(*index)));
        found.ok().map(|at| singles[at])
    }

    /// Sorts the single addresses, so that no later [`find`](Self::find) takes the time for it.
    pub(crate) fn prepare_find(&self) {
        self.singles();
    }

    fn singles(&self) -> &[u32] {
        self.singles.get_or_init(|| {
            let mut singles = Vec::new();
            for (block, first) in self.blocks.iter().zip(&self.firsts) {
                let count = match block {
                    Block::Range(_) => continue,
                    Block::V4(list) => list.len(),
                    Block::V6(list) => list.len(),
                };
                singles.extend(*first..*first + count as u32);
            }
            // Those that were added or have another address now are found as such.
            singles.retain(|host| self.changed.address(*host).is_none());
            singles.shrink_to_fit();
            singles.sort_unstable_by_key(|host| number(self.listed_address(*host)));
            singles
        })
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
            hosts: 1,
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

    pub fn shrink_to_fit(&mut self) {
        match self {
            Self::Range(_) => {}
            Self::V4(list) => list.shrink_to_fit(),
            Self::V6(list) => list.shrink_to_fit(),
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
