//! The routes of many targets: addresses between two ends of routes share a lookup.
//!
//! If no route ends between two addresses, the kernel finds the same route for both. IPv6 also selects the source by the destination,
//! so another interval begins where the source may differ. So the memory for routes does not depend on the number of
//! targets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink::{Family, IfIndex, Netlink, NetlinkError, Prefix, Route, Rule};

use super::route_kind::RouteKind;
use super::source_prefixes::source_prefixes;

/// Maximum number of ends of routes that are added, beyond doubling them, before all are read again: ends of deleted routes
/// stay until then.
const MAX_ADDED: usize = 65_536;

/// Addresses between two ends of routes.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    /// The first address of each, ascending, with IPv4 mapped to IPv6. The first one is 0.
    firsts: Vec<u128>,
    /// The intervals that were looked up, by their first address.
    kinds: HashMap<u128, IntervalKind>,
    /// The interval of the latest address, if one route serves it: its first number, that of the next one, and the route.
    latest_same: Option<(u128, u128, RouteKind)>,
    /// Whether some route has several next hops.
    pub has_divided: bool,
    /// The latest lookup in an interval with several next hops.
    pub latest_divided: Option<(Prefix, RouteKind)>,
    /// Number of ends when they were read.
    read: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum IntervalKind {
    Same(RouteKind),
    /// The kernel selects one of several next hops by the addresses. Those of an IPv4 /24 or IPv6 /64 share one here.
    Divided,
}

impl Intervals {
    /// Reads the intervals of the routes of all tables, of the destinations of rules, and of the sources that `link` offers.
    pub fn read(netlink: &mut Netlink, link: IfIndex) -> Result<Self, NetlinkError> {
        let mut new = Self {
            firsts: vec![0],
            ..Self::default()
        };
        for (ip, len) in [
            (Ipv4Addr::UNSPECIFIED, 0),
            // Multicast and broadcast, which need no route.
            (Ipv4Addr::new(224, 0, 0, 0), 4),
            (Ipv4Addr::BROADCAST, 32),
        ] {
            new.firsts.extend(ends(Prefix::new(ip, len)));
        }
        netlink.each(&Route::new(), |route| {
            new.firsts.extend(ends(destination(route)));
            new.has_divided |= may_be_divided(route);
        })?;
        let others = ends_of_rules_and_sources(netlink, link)?;
        new.firsts.extend(others.into_iter().flat_map(ends));
        new.firsts.sort_unstable();
        new.firsts.dedup();
        new.firsts.shrink_to_fit();
        new.read = new.firsts.len();
        Ok(new)
    }

    /// Whether so many ends were added that they are to be read anew.
    pub fn is_grown(&self) -> bool {
        self.firsts.len() > 2 * self.read + MAX_ADDED
    }

    /// Forgets the lookups within routes to `changed`, whose ends may be new.
    pub fn forget_within(&mut self, changed: &[Prefix]) {
        self.add_ends(changed);
        let ranges = Ranges::of(changed);
        self.kinds.retain(|first, _| !ranges.have_number(*first));
    }

    /// Forgets all lookups, after rules, nexthops, addresses or interfaces have changed.
    pub fn forget_all(&mut self, netlink: &mut Netlink, link: IfIndex) -> Result<(), NetlinkError> {
        self.add_ends(&ends_of_rules_and_sources(netlink, link)?);
        self.kinds.clear();
        Ok(())
    }

    /// Adds those ends of `prefixes` that are new. What was looked up for an interval that they divide is for its first part
    /// then, in front of the route.
    #[expect(
        clippy::stable_sort_primitive,
        reason = "it takes advantage of what is sorted"
    )]
    fn add_ends(&mut self, prefixes: &[Prefix]) {
        (self.latest_same, self.latest_divided) = (None, None);
        let all = prefixes.iter().copied().flat_map(ends);
        let new: Vec<u128> = all
            .filter(|end| self.firsts.binary_search(end).is_err())
            .collect();
        if !new.is_empty() {
            self.firsts.extend(new);
            self.firsts.sort();
            self.firsts.dedup();
        }
    }

    /// The kind of the route to `address`, if that is known, else the interval to look up.
    #[inline]
    pub fn kind(&mut self, address: IpAddr) -> Result<IntervalKind, u128> {
        let number = number(address);
        if let Some((first, next, kind)) = self.latest_same
            && (first..next).contains(&number)
        {
            // Neighbouring targets mostly are in the same interval.
            return Ok(IntervalKind::Same(kind));
        }
        let at = self.of_number(number);
        let first = self.firsts[at];
        let found = self.kinds.get(&first).copied().ok_or(first)?;
        if let IntervalKind::Same(kind) = found {
            let next = self.firsts.get(at + 1).copied().unwrap_or(u128::MAX);
            self.latest_same = Some((first, next, kind));
        }
        Ok(found)
    }

    /// Notes what was looked up for the interval that begins with `first`.
    pub fn note(&mut self, first: u128, kind: IntervalKind) {
        self.kinds.insert(first, kind);
    }

    /// The interval of an address.
    fn of_number(&self, number: u128) -> usize {
        self.firsts.partition_point(|first| *first <= number) - 1
    }
}

/// Prefixes at whose ends intervals begin besides those of routes: destinations of rules, and prefixes that select a source.
fn ends_of_rules_and_sources(
    netlink: &mut Netlink,
    link: IfIndex,
) -> Result<Vec<Prefix>, NetlinkError> {
    let mut found = Vec::new();
    match netlink.each(&Rule::new(), |rule| found.extend(rule.dst)) {
        // A kernel without rules.
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => {}
        rules => drop(rules?),
    }
    found.extend(source_prefixes(&netlink.addresses()?.items, link));
    Ok(found)
}

/// The first address of a prefix, and the first one behind it.
fn ends(prefix: Prefix) -> impl Iterator<Item = u128> {
    let (first, last) = range(prefix);
    [Some(first), last.checked_add(1)].into_iter().flatten()
}

/// The first and the last address of a prefix.
fn range(prefix: Prefix) -> (u128, u128) {
    let first = number(prefix.ip);
    let bits = if prefix.ip.is_ipv4() { 32 } else { 128 };
    let free = bits - u32::from(prefix.len).min(bits);
    let addresses = 1_u128
        .checked_shl(free)
        .map_or(u128::MAX, |count| count - 1);
    (first, first.saturating_add(addresses))
}

/// The first and last addresses of prefixes, ascending, without those within others.
pub(super) struct Ranges(Vec<(u128, u128)>);

impl Ranges {
    pub fn of(prefixes: &[Prefix]) -> Self {
        let mut ranges: Vec<_> = prefixes.iter().copied().map(range).collect();
        // Of those that begin together, the widest comes first.
        ranges.sort_unstable_by_key(|(first, last)| (*first, u128::MAX - last));
        let mut kept: Vec<(u128, u128)> = Vec::new();
        for range in ranges {
            // Prefixes are within each other, or apart.
            if kept.last().is_none_or(|(_, last)| *last < range.0) {
                kept.push(range);
            }
        }
        Self(kept)
    }

    /// Whether one of the prefixes has this address.
    pub fn have(&self, address: IpAddr) -> bool {
        self.have_number(number(address))
    }

    fn have_number(&self, number: u128) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        let before = after.checked_sub(1).map(|at| self.0[at]);
        before.is_some_and(|(_, last)| number <= last)
    }
}

/// The destination of a route; all addresses of its family without one.
pub(super) fn destination(route: &Route) -> Prefix {
    route.dst.unwrap_or_else(|| match route.family {
        Some(Family::V6) => Prefix::new(Ipv6Addr::UNSPECIFIED, 0),
        _ => Prefix::new(Ipv4Addr::UNSPECIFIED, 0),
    })
}

/// Whether the route may have several next hops.
pub(super) fn may_be_divided(route: &Route) -> bool {
    let hops = route.nexthops.as_ref().map_or(0, Vec::len);
    hops > 1 || route.nhid.is_some()
}

/// An address as a number, with IPv4 mapped to IPv6.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The /24 or /64 around `address`.
pub(super) fn network(address: IpAddr) -> Prefix {
    match address {
        IpAddr::V4(address) => {
            let first = Ipv4Addr::from_bits(address.to_bits() & !0xff);
            Prefix::new(first, 24)
        }
        IpAddr::V6(address) => {
            let first = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            Prefix::new(first, 64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(words: &[&str]) -> Vec<Prefix> {
        let words = words.iter();
        words.map(|word| word.parse().expect("a prefix")).collect()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// The intervals of routes to `words`.
    fn intervals(words: &[&str]) -> Intervals {
        let mut intervals = Intervals {
            firsts: vec![0],
            ..Intervals::default()
        };
        intervals.add_ends(&prefixes(words));
        intervals
    }

    #[test]
    fn addresses_are_in_the_interval_between_two_ends_of_routes() {
        let intervals = intervals(&[
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.3",
            "::/0",
            "fd00::/8",
        ]);
        let of = |text: &str| intervals.of_number(number(address(text)));
        for (one, other, is_same) in [
            ("10.0.0.1", "10.0.255.255", true),
            ("10.0.255.255", "10.1.0.0", false),
            ("10.1.0.0", "10.1.2.2", true),
            ("10.1.2.2", "10.1.2.3", false),
            ("10.1.2.3", "10.1.2.4", false),
            ("10.1.255.255", "10.2.0.0", false),
            ("9.255.255.255", "10.0.0.0", false),
            ("11.0.0.0", "255.255.255.255", true),
            ("0.0.0.0", "::fffe:ffff:ffff", false),
            ("255.255.255.255", "::1:0:0:0", false),
            ("fd00::", "fdff:ffff::", true),
            ("fd00::", "fe00::", false),
            ("fe00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
        ] {
            assert_eq!(of(one) == of(other), is_same, "{one} {other}");
        }
    }

    #[test]
    fn addresses_of_prefixes_are_within_their_ranges() {
        let ranges = Ranges::of(&prefixes(&[
            "10.1.2.0/24",
            "10.1.0.0/16",
            "10.3.0.1",
            "fd00::/64",
            "10.1.255.255",
        ]));
        assert_eq!(ranges.0.len(), 3);
        for (text, expected) in [
            ("10.0.255.255", false),
            ("10.1.0.0", true),
            ("10.1.255.255", true),
            ("10.2.0.0", false),
            ("10.3.0.1", true),
            ("10.3.0.2", false),
            ("fd00::ffff", true),
            ("fd00:0:0:1::", false),
        ] {
            assert_eq!(ranges.have(address(text)), expected, "{text}");
        }
        assert!(!Ranges::of(&[]).have(address("::")));
        assert!(
            Ranges::of(&prefixes(&["::/0"]))
                .have(address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"))
        );
    }

    /// A change of routes forgets what it may have changed, and nothing else.
    #[test]
    fn lookups_beside_a_change_stay() {
        const ALL: [&str; 6] = [
            "10.0.0.1",
            "10.1.0.1",
            "10.1.2.3",
            "10.2.0.1",
            "172.16.0.1",
            "fd00::1",
        ];
        for (changed, forgotten) in [
            (&["10.1.0.0/16"][..], &["10.1.0.1", "10.1.2.3"][..]),
            // A new one in the middle of an interval, and one that is within another.
            (&["172.16.0.0/24"], &["172.16.0.1"]),
            (&["10.1.2.3", "10.1.2.0/24"], &["10.1.2.3"]),
            (&["10.1.2.3", "10.0.0.0/8"], &ALL[..4]),
            (&["0.0.0.0/0"], &ALL[..5]),
            (&["::/0"], &ALL),
            (&[], &[]),
        ] {
            let mut intervals = intervals(&[
                "0.0.0.0/0",
                "10.0.0.0/8",
                "10.1.0.0/16",
                "10.1.2.3",
                "fd00::/8",
            ]);
            for text in ALL {
                let Err(first) = intervals.kind(address(text)) else {
                    // The same as that of another one.
                    continue;
                };
                intervals.note(first, IntervalKind::Same(RouteKind::Local));
            }
            assert!(ALL.iter().all(|text| intervals.kind(address(text)).is_ok()));
            intervals.forget_within(&prefixes(changed));
            assert!(intervals.firsts.is_sorted());
            for text in ALL {
                let is_known = intervals.kind(address(text)).is_ok();
                assert_eq!(
                    is_known,
                    !forgotten.contains(&text),
                    "{text} with {changed:?}"
                );
            }
        }
    }
}
