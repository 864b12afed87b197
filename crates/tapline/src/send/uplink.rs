//! Whether packets sent on an interface would leave through the uplink of this host.

use std::collections::BTreeSet;

use netlink::{IfIndex, Link, Netlink, NetlinkError, Route, RouteType};

/// Interfaces are stacked at most so high; the kernel itself allows 8 (`MAX_NEST_DEV`, include/linux/netdevice.h).
const MAX_DEPTH: usize = 16;

/// Whether a default route, in any table, goes through `link` or through an interface that is stacked with it: below it as
/// of a VLAN, above it as a bridge or bond, or beside it on the same lower interface.
pub(crate) fn is_uplink(netlink: &mut Netlink, link: &Link) -> Result<bool, NetlinkError> {
    let routes = netlink.list(&Route::default())?;
    let mut uplinks = BTreeSet::new();
    for route in routes.items {
        let is_unicast = route.kind.is_none_or(|kind| kind == RouteType::Unicast);
        if is_unicast && route.dst.is_none_or(|network| network.len == 0) {
            uplinks.extend(route.dev);
            let hops = route.nexthops.unwrap_or_default();
            uplinks.extend(hops.iter().filter_map(|hop| hop.dev));
        }
    }
    if uplinks.is_empty() {
        return Ok(false);
    }
    let links = netlink.list(&Link::default())?.items;
    let stacked = stacked_with(link, &links);
    Ok(!uplinks.is_disjoint(&stacked))
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
