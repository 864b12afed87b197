//! Whether packets sent on an interface would leave through an uplink of this host.
//!
//! An uplink is an interface that carries a unicast route, in any table, to a range wider than the largest private ones:
//! 10.0.0.0/8 and fc00::/7. That is a default route, each half of the addresses (as tunnels have), or 2000::/3.

use std::collections::BTreeSet;

use netlink::{IfIndex, Link, Netlink, NetlinkError, Nexthop, Route, RouteType};

/// Interfaces are stacked at most so high; the kernel itself allows 8 (`MAX_NEST_DEV`, include/linux/netdevice.h).
const MAX_DEPTH: usize = 16;
/// Maximum lists of routes, which may change while they are read.
const ATTEMPTS: usize = 4;
/// Prefixes of an uplink are at most so long: shorter than 10.0.0.0/8 and fc00::/7.
const MAX_IPV4_BITS: u8 = 7;
const MAX_IPV6_BITS: u8 = 6;

/// The uplinks of this host.
#[derive(Debug, Default)]
pub(crate) struct Uplinks {
    links: BTreeSet<IfIndex>,
    /// Nexthop objects of wide routes that the kernel reports without their interfaces (`nexthop_compat_mode`).
    nexthops: BTreeSet<u32>,
}

impl Uplinks {
    /// Lists the routes of all tables.
    pub fn list(netlink: &mut Netlink) -> Result<Self, NetlinkError> {
        let mut found = Self::default();
        for _ in 0..ATTEMPTS {
            let is_whole = netlink.each(&Route::default(), |route| {
                found.add(route);
            })?;
            if is_whole {
                break;
            }
        }
        found.resolve(netlink)?;
        Ok(found)
    }

    /// Adds the interfaces of a route, if it is a wide one. Returns whether that may have added some.
    pub fn add(&mut self, route: &Route) -> bool {
        if !is_wide(route) {
            return false;
        }
        let before = (self.links.len(), self.nexthops.len());
        self.links.extend(route.dev);
        let hops = route.nexthops.iter().flatten();
        self.links.extend(hops.filter_map(|hop| hop.dev));
        if route.dev.is_none() && route.nexthops.is_none() {
            self.nexthops.extend(route.nhid);
        }
        (self.links.len(), self.nexthops.len()) != before
    }

    /// Adds the interfaces of the nexthop objects that are known by their id.
    pub fn resolve(&mut self, netlink: &mut Netlink) -> Result<(), NetlinkError> {
        if self.nexthops.is_empty() {
            return Ok(());
        }
        let all = netlink.list(&Nexthop::default())?.items;
        let is_used = |nexthop: &&Nexthop| nexthop.id.is_some_and(|id| self.nexthops.contains(&id));
        let groups = all
            .iter()
            .filter(is_used)
            .filter_map(|nexthop| nexthop.group.as_ref());
        let members: Vec<u32> = groups
            .flat_map(|group| &group.0)
            .map(|member| member.id)
            .collect();
        self.nexthops.extend(members);
        let is_used = |nexthop: &&Nexthop| nexthop.id.is_some_and(|id| self.nexthops.contains(&id));
        self.links
            .extend(all.iter().filter(is_used).filter_map(|nexthop| nexthop.dev));
        Ok(())
    }

    /// Whether an uplink is `link` or an interface that is stacked with it: below it as of a VLAN, above it as a bridge or bond,
    /// or beside it on the same lower interface.
    pub fn include(&self, netlink: &mut Netlink, link: &Link) -> Result<bool, NetlinkError> {
        if self.links.is_empty() {
            return Ok(false);
        }
        let links = netlink.list(&Link::default())?.items;
        Ok(!self.links.is_disjoint(&stacked_with(link, &links)))
    }
}

/// Whether a route leads to a range that makes its interface an uplink.
fn is_wide(route: &Route) -> bool {
    let is_unicast = route.kind.is_none_or(|kind| kind == RouteType::Unicast);
    let is_long = route.dst.is_some_and(|to| {
        let most = if to.ip.is_ipv4() {
            MAX_IPV4_BITS
        } else {
            MAX_IPV6_BITS
        };
        to.len > most || to.ip.is_multicast()
    });
    is_unicast && !is_long
}

/// The interfaces that are stacked with `link`, itself included.
fn stacked_with(link: &Link, all: &[Link]) -> BTreeSet<IfIndex> {
    let pairs: Vec<_> = all.iter().flat_map(below).collect();
    let mut found: BTreeSet<_> = link.index.into_iter().collect();
    let mut newest = found.clone();
    for _ in 0..MAX_DEPTH {
        let mut next = BTreeSet::new();
        for &(upper, lower) in &pairs {
            next.extend(newest.contains(&upper).then_some(lower));
            next.extend(newest.contains(&lower).then_some(upper));
        }
        newest = &next - &found;
        if newest.is_empty() {
            break;
        }
        found.extend(&newest);
    }
    found
}

/// The pairs of an upper and a lower interface, one of which is `link`.
fn below(link: &Link) -> impl Iterator<Item = (IfIndex, IfIndex)> {
    let index = link.index;
    // The index of a peer, or one of another namespace, says nothing about interfaces here.
    let is_peer = link.link_kind().is_some_and(|kind| kind.name() == "veth");
    let lower = link
        .lower
        .filter(|_| !is_peer && link.lower_namespace.is_none());
    let pairs = [index.zip(lower), link.master.zip(index)];
    pairs.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, lower: Option<u32>, master: Option<u32>) -> Link {
        let mut link = Link::new();
        link.index = Some(IfIndex(index));
        link.lower = lower.map(IfIndex);
        link.master = master.map(IfIndex);
        link
    }

    fn stacked(of: u32, all: &[Link]) -> Vec<u32> {
        let links = stacked_with(&link(of, None, None), all);
        links.into_iter().map(|index| index.0).collect()
    }

    /// The lengths around those of the private ranges, and what is no range of hosts.
    #[test]
    fn routes_wider_than_private_ranges_make_an_uplink() {
        for (to, expected) in [
            ("0.0.0.0/0", true),
            ("::/0", true),
            ("0.0.0.0/1", true),
            ("128.0.0.0/1", true),
            ("8000::/1", true),
            ("2000::/3", true),
            ("8.0.0.0/7", true),
            ("10.0.0.0/8", false),
            ("fc00::/7", false),
            ("fc00::/6", true),
            ("192.0.2.0/24", false),
            ("224.0.0.0/4", false),
        ] {
            let route = Route::to(to.parse().expect("a prefix")).dev(IfIndex(3));
            let mut uplinks = Uplinks::default();
            assert_eq!(uplinks.add(&route), expected, "{to}");
            assert_eq!(uplinks.links.len(), usize::from(expected), "{to}");
            assert!(!uplinks.add(&route), "{to}: it is known");
            let unreachable = route.kind(RouteType::Unreachable);
            assert!(!Uplinks::default().add(&unreachable), "{to}");
        }
    }

    #[test]
    fn interfaces_above_below_and_beside_are_stacked() {
        let all = [
            link(1, None, None),
            // Two slaves of the bond 4, a VLAN on that, and a bridge around the VLAN.
            link(2, None, Some(4)),
            link(3, None, Some(4)),
            link(4, None, None),
            link(5, Some(4), Some(6)),
            link(6, None, None),
        ];
        assert_eq!(stacked(1, &all), [1]);
        for of in 2..7 {
            assert_eq!(stacked(of, &all), [2, 3, 4, 5, 6]);
        }
    }

    #[test]
    fn an_interface_of_another_namespace_is_not_below() {
        let mut all = [link(2, None, None), link(3, Some(2), None)];
        assert_eq!(stacked(3, &all), [2, 3]);
        all[1].lower_namespace = Some(0);
        assert_eq!(stacked(3, &all), [3]);
    }

    #[test]
    fn the_search_ends() {
        let chain: Vec<_> = (1..40).map(|at| link(at, Some(at + 1), None)).collect();
        assert_eq!(stacked(1, &chain).len(), 1 + MAX_DEPTH);
        let ring = [link(1, Some(2), None), link(2, Some(1), None)];
        assert_eq!(stacked(1, &ring), [1, 2]);
    }
}
