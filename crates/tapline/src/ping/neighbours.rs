//! Which targets are hosts on a link.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};

use netlink::{
    Family, IfIndex, LinkFlags, Netlink, NetlinkError, Prefix, Route, RouteTable, RouteType,
};
use probe::Prober;
use probe::targets::Targets;

use super::error::PingError;

/// How often routes are asked for when they change under way.
const ATTEMPTS: usize = 4;

/// Marks the targets that a route without a gateway leads to, by a link on which this host has to ask for their
/// hardware addresses. Of a few nothing is marked: the kernel has room for them.
///
/// The routes are those of table main, and this host's own addresses and broadcasts in table local. Not followed
/// are other tables and rules, routes for one type of service or one source, the interface that a run is bound to,
/// and zones: a link-local address is on a link if there is any link for those. A route with several next hops, or
/// with a nexthop object, leads to a link if the kernel tells of a link for each and of no gateway. One that
/// encapsulates does not.
pub(super) fn mark(prober: &mut Prober, most: u32) -> Result<(), PingError> {
    let Some(on_link) = on_link(prober.targets(), most)? else {
        return Ok(());
    };
    for target in 0..prober.targets().len() {
        if on_link.has(prober.targets().address(target)) {
            prober.mark_on_link(target);
        }
    }
    Ok(())
}

/// How many [`mark`] would mark.
pub(super) fn count(targets: &Targets, most: u32) -> Result<u32, PingError> {
    let Some(on_link) = on_link(targets, most)? else {
        return Ok(0);
    };
    let marked = (0..targets.len()).filter(|target| on_link.has(targets.address(*target)));
    Ok(marked.count() as u32)
}

/// The addresses on links; `None` when there are so few targets that they do not matter.
fn on_link(targets: &Targets, most: u32) -> Result<Option<OnLink>, PingError> {
    if targets.len() <= most {
        return Ok(None);
    }
    let mut netlink = Netlink::open()?;
    let asks = |flags: LinkFlags| !flags.is_loopback() && !flags.is_without_arp();
    let links = netlink.links()?.items;
    let asking = links
        .iter()
        .filter(|link| link.flags.is_some_and(asks))
        .map(netlink::Link::ifindex)
        .collect();
    let mut entries = Vec::new();
    for (family, is_ipv6) in [(Family::V4, false), (Family::V6, true)] {
        if targets.has_family(is_ipv6) {
            entries.extend(entries_of(family, &asking, &mut netlink)?);
        }
    }
    Ok(Some(OnLink::new(entries)))
}

/// The routes of a family that lead to one of the links `asking`, and those within one of them.
///
/// The others decide nothing, and a router may have a million.
fn entries_of(
    family: Family,
    asking: &HashSet<IfIndex>,
    netlink: &mut Netlink,
) -> Result<Vec<Entry>, NetlinkError> {
    let [main, local] =
        [RouteTable::Main, RouteTable::Local].map(|table| Route::new().family(family).table(table));
    let mut entries = kept(&main, asking, netlink, |entry| entry.is_on_link)?;
    let outer = OnLink::new(entries.clone());
    for table in [main, local] {
        let is_within = |entry: &Entry| !entry.is_on_link && outer.has(entry.to.ip);
        entries.extend(kept(&table, asking, netlink, is_within)?);
    }
    Ok(entries)
}

/// The routes like `filter` that are to be kept.
fn kept(
    filter: &Route,
    asking: &HashSet<IfIndex>,
    netlink: &mut Netlink,
    is_kept: impl Fn(&Entry) -> bool,
) -> Result<Vec<Entry>, NetlinkError> {
    let mut kept = Vec::new();
    for _ in 0..ATTEMPTS {
        kept.clear();
        let is_whole = netlink.each(filter, |route| {
            kept.extend(Entry::of(route, asking).filter(&is_kept));
        })?;
        if is_whole {
            break;
        }
    }
    Ok(kept)
}

/// A route, as far as it matters here.
#[derive(Clone, Copy, Debug)]
struct Entry {
    to: Prefix,
    is_main: bool,
    metric: u32,
    is_on_link: bool,
}

impl Entry {
    fn of(route: &Route, asking: &HashSet<IfIndex>) -> Option<Self> {
        if route.tos.is_some() || route.src.is_some() {
            return None;
        }
        let is_main = route.table == Some(RouteTable::Main);
        Some(Self {
            to: route.dst?,
            is_main,
            metric: route.metric.unwrap_or(0),
            is_on_link: is_main && is_direct(route, asking),
        })
    }

    /// By which the least of several routes to one prefix is taken: table local is asked before main.
    fn rank(&self) -> (Prefix, bool, u32, bool) {
        (self.to, self.is_main, self.metric, !self.is_on_link)
    }
}

/// Whether `route` leads to hosts on links that are all among `asking`.
fn is_direct(route: &Route, asking: &HashSet<IfIndex>) -> bool {
    let asks = |dev: Option<IfIndex>| dev.is_some_and(|dev| asking.contains(&dev));
    let is_by_link = match &route.nexthops {
        Some(hops) => hops.iter().all(|hop| {
            hop.gateway.is_none() && hop.via.is_none() && hop.encap.is_none() && asks(hop.dev)
        }),
        None => asks(route.dev),
    };
    route.kind == Some(RouteType::Unicast)
        && route.gateway.is_none()
        && route.via.is_none()
        && route.encap.is_none()
        && is_by_link
}

/// Which addresses are on links.
#[derive(Debug, Default)]
struct OnLink {
    /// From which address on they are, and from which on they are not, in order; IPv6 follows IPv4.
    changes: Vec<(IpAddr, bool)>,
}

impl OnLink {
    /// The longest route to an address decides.
    fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable_by_key(Entry::rank);
        entries.dedup_by_key(|entry| entry.to);
        let mut on_link = Self::default();
        // Those around the address that has been come to, each within the one before.
        let mut around: Vec<Entry> = Vec::new();
        for entry in entries {
            while let Some(ended) = around.pop_if(|outer| !outer.to.contains(entry.to)) {
                on_link.change_behind(ended.to, around.last());
            }
            on_link.change(entry.to.ip, entry.is_on_link);
            around.push(entry);
        }
        while let Some(ended) = around.pop() {
            on_link.change_behind(ended.to, around.last());
        }
        on_link
    }

    /// Behind `ended` it is as `outer` has it.
    fn change_behind(&mut self, ended: Prefix, outer: Option<&Entry>) {
        if let Some(from) = behind(ended) {
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

    /// Groups have hardware addresses that nobody is asked for.
    fn has(&self, address: IpAddr) -> bool {
        let after = self.changes.partition_point(|(from, _)| *from <= address);
        let is_on_link = after.checked_sub(1).is_some_and(|at| self.changes[at].1);
        is_on_link && !address.is_multicast()
    }
}

/// The address that follows the last one of `prefix`; none follows the last of IPv6.
fn behind(prefix: Prefix) -> Option<IpAddr> {
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
