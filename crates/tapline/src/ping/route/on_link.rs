//! Which targets are on-link: the kernel has to resolve their link-layer address.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};

use netlink::{
    Family, IfIndex, LinkFlags, Netlink, NetlinkError, Prefix, Route, RouteTable, RouteType,
};
use probe::Prober;
use probe::targets::Targets;

use crate::ping::error::PingError;

/// Maximum reads of a route list that changes meanwhile.
const ATTEMPTS: usize = 4;

/// Marks the targets that are reached without a gateway, over an interface with neighbour resolution. Marks none if
/// there are at most `most` targets: the neighbour table has room for them.
///
/// Considers the routes of table main, and the local and broadcast addresses of table local. Ignores other tables and
/// rules, routes with a type of service or source, the interface of the run, and zones. A route with several next
/// hops or a nexthop object is on-link if each next hop has an interface and no gateway. Routes with
/// encapsulation are not on-link.
pub(in crate::ping) fn mark_on_link(prober: &mut Prober, most: u32) -> Result<(), PingError> {
    let Some(on_link) = on_link(prober.targets(), most)? else {
        return Ok(());
    };
    for target in 0..prober.targets().len() {
        let address = prober.targets().address(target);
        if address.is_some_and(|address| on_link.has(address)) {
            prober.mark_on_link(target);
        }
    }
    Ok(())
}

/// The number of targets that [`mark_on_link`] marks.
pub(in crate::ping) fn count_on_link(targets: &Targets, most: u32) -> Result<u32, PingError> {
    let Some(on_link) = on_link(targets, most)? else {
        return Ok(0);
    };
    let is_on_link = |target: &u32| {
        let address = targets.address(*target);
        address.is_some_and(|address| on_link.has(address))
    };
    let marked = (0..targets.len()).filter(is_on_link);
    Ok(marked.count() as u32)
}

/// The on-link addresses; `None` if there are at most `most` targets.
pub(in crate::ping) fn on_link(targets: &Targets, most: u32) -> Result<Option<OnLink>, PingError> {
    if targets.len() <= most {
        return Ok(None);
    }
    let mut netlink = Netlink::open()?;
    let resolves = |flags: LinkFlags| !flags.is_loopback() && !flags.is_without_arp();
    let links = netlink.links()?.items;
    let resolving = links
        .iter()
        .filter(|link| link.flags.is_some_and(resolves))
        .map(netlink::Link::ifindex)
        .collect();
    let mut entries = Vec::new();
    for (family, is_ipv6) in [(Family::V4, false), (Family::V6, true)] {
        if targets.has_family(is_ipv6) {
            entries.extend(entries_of(family, &resolving, &mut netlink)?);
        }
    }
    Ok(Some(OnLink::new(entries)))
}

/// The routes of a family over one of the links `resolving`, and the routes within these.
///
/// Other routes do not matter, and a router may have a million of them.
fn entries_of(
    family: Family,
    resolving: &HashSet<IfIndex>,
    netlink: &mut Netlink,
) -> Result<Vec<RouteEntry>, NetlinkError> {
    let [main, local] =
        [RouteTable::Main, RouteTable::Local].map(|table| Route::new().family(family).table(table));
    let mut entries = list_routes(&main, resolving, netlink, |entry| entry.is_on_link)?;
    let outer = OnLink::new(entries.clone());
    for table in [main, local] {
        let is_within = |entry: &RouteEntry| !entry.is_on_link && outer.has(entry.to.ip);
        entries.extend(list_routes(&table, resolving, netlink, is_within)?);
    }
    Ok(entries)
}

/// The routes that match `filter` and `is_kept`.
fn list_routes(
    filter: &Route,
    resolving: &HashSet<IfIndex>,
    netlink: &mut Netlink,
    is_kept: impl Fn(&RouteEntry) -> bool,
) -> Result<Vec<RouteEntry>, NetlinkError> {
    let mut kept = Vec::new();
    for _ in 0..ATTEMPTS {
        kept.clear();
        let is_whole = netlink.each(filter, |route| {
            kept.extend(RouteEntry::of(route, resolving).filter(&is_kept));
        })?;
        if is_whole {
            break;
        }
    }
    Ok(kept)
}

/// The relevant part of a route.
#[derive(Clone, Copy, Debug)]
struct RouteEntry {
    to: Prefix,
    is_main: bool,
    metric: u32,
    is_on_link: bool,
}

impl RouteEntry {
    fn of(route: &Route, resolving: &HashSet<IfIndex>) -> Option<Self> {
        if route.tos.is_some() || route.src.is_some() {
            return None;
        }
        let is_main = route.table == Some(RouteTable::Main);
        Some(Self {
            to: route.dst?,
            is_main,
            metric: route.metric.unwrap_or(0),
            is_on_link: is_main && is_direct(route, resolving),
        })
    }

    /// Sort key: of several routes to one prefix the lowest applies. Table local comes before main.
    fn rank(&self) -> (Prefix, bool, u32, bool) {
        (self.to, self.is_main, self.metric, !self.is_on_link)
    }
}

/// Whether all next hops of `route` are on-link, over links among `resolving`.
fn is_direct(route: &Route, resolving: &HashSet<IfIndex>) -> bool {
    let resolves = |dev: Option<IfIndex>| dev.is_some_and(|dev| resolving.contains(&dev));
    let is_by_link = match &route.nexthops {
        Some(hops) => hops.iter().all(|hop| {
            hop.gateway.is_none() && hop.via.is_none() && hop.encap.is_none() && resolves(hop.dev)
        }),
        None => resolves(route.dev),
    };
    route.kind == Some(RouteType::Unicast)
        && route.gateway.is_none()
        && route.via.is_none()
        && route.encap.is_none()
        && is_by_link
}

/// The set of on-link addresses.
#[derive(Debug, Default)]
pub(in crate::ping) struct OnLink {
    /// Sorted addresses at which the answer changes; IPv6 follows IPv4.
    changes: Vec<(IpAddr, bool)>,
}

impl OnLink {
    /// The longest matching prefix decides.
    fn new(mut entries: Vec<RouteEntry>) -> Self {
        entries.sort_unstable_by_key(RouteEntry::rank);
        entries.dedup_by_key(|entry| entry.to);
        let mut on_link = Self::default();
        // Prefixes that contain the current address, from the widest to the narrowest.
        let mut around: Vec<RouteEntry> = Vec::new();
        for entry in entries {
            while let Some(ended) = around.pop_if(|outer| !outer.to.contains(entry.to)) {
                on_link.change_after(ended.to, around.last());
            }
            on_link.change(entry.to.ip, entry.is_on_link);
            around.push(entry);
        }
        while let Some(ended) = around.pop() {
            on_link.change_after(ended.to, around.last());
        }
        on_link
    }

    /// After `ended`, `outer` applies.
    fn change_after(&mut self, ended: Prefix, outer: Option<&RouteEntry>) {
        if let Some(from) = address_after(ended) {
            self.change(from, outer.is_some_and(|outer| outer.is_on_link));
        }
    }

    fn change(&mut self, from: IpAddr, is_on_link: bool) {
        self.changes.pop_if(|(last, _)| *last == from);
        let was_on_link = self.changes.last().is_some_and(|(_, was)| *was);
        if was_on_link != is_on_link {
            self.changes.push((from, is_on_link));
        }
    }

    /// Multicast addresses need no neighbour resolution.
    pub fn has(&self, address: IpAddr) -> bool {
        let after = self.changes.partition_point(|(from, _)| *from <= address);
        let is_on_link = after.checked_sub(1).is_some_and(|at| self.changes[at].1);
        is_on_link && !address.is_multicast()
    }
}

/// The address after the last one of `prefix`; `None` after the last IPv6 address.
fn address_after(prefix: Prefix) -> Option<IpAddr> {
    let len = u32::from(prefix.len);
    match prefix.ip {
        IpAddr::V4(ip) => {
            let last = ip.to_bits() | u32::MAX.checked_shr(len).unwrap_or(0);
            let next = last.checked_add(1).map(|next| IpAddr::V4(next.into()));
            next.or(Some(Ipv6Addr::UNSPECIFIED.into()))
        }
        IpAddr::V6(ip) => {
            let last = ip.to_bits() | u128::MAX.checked_shr(len).unwrap_or(0);
            Some(IpAddr::V6(last.checked_add(1)?.into()))
        }
    }
}
