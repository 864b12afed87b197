//! The routes of the targets and the source addresses of their requests, as the kernel looks them up.
//!
//! A list of up to 4096 targets is looked up address by address. In a longer one, addresses between two ends of routes share a
//! lookup: without a route that ends between them, the kernel finds the same one for both. IPv6 selects the source by the
//! destination too, so where this may make a difference begins another interval. So the memory for routes does not depend on
//! the number of targets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd};

use netlink::{IfIndex, Netlink, NetlinkError, Prefix, Route, RouteQuery, RouteType, Rule};

use super::route_watch::RouteWatch;
use super::source_ends::source_ends;

/// Targets whose routes are looked up one by one.
const MAX_EXACT: u32 = 4096;

/// How a target is reached, and from which address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteKind {
    Gateway {
        gateway: IpAddr,
        source: IpAddr,
    },
    OnLink {
        source: IpAddr,
    },
    /// Here: frames on the interface leave this host.
    Local,
    /// By another interface, not at all, or without a source address.
    None,
}

/// The kernel's routes, as far as targets need them.
#[derive(Debug)]
pub(super) struct Routes {
    link: IfIndex,
    /// The source of the requests of its family, if one was given. Rules may select routes by it.
    source: Option<IpAddr>,
    netlink: Netlink,
    changes: RouteWatch,
    known: Known,
    /// Number of lookups so far.
    lookups: u64,
}

/// What was looked up.
#[derive(Debug)]
enum Known {
    /// Of each address, with the number of changes before.
    Addresses {
        kinds: HashMap<IpAddr, (u32, RouteKind)>,
        changes: u32,
    },
    Intervals(Intervals),
}

/// Addresses between two ends of routes.
#[derive(Debug, Default)]
struct Intervals {
    /// The first address of each, ascending, with IPv4 mapped to IPv6. The first one is 0.
    firsts: Vec<u128>,
    /// The intervals that were looked up.
    kinds: HashMap<usize, IntervalKind>,
    /// The interval of the latest address, if one route serves it: its first number, that of the next one, and the route.
    latest_same: Option<(u128, u128, RouteKind)>,
    /// Whether some route has several next hops.
    has_divided: bool,
    /// The latest lookup in an interval with several next hops.
    latest_divided: Option<(Prefix, RouteKind)>,
}

#[derive(Clone, Copy, Debug)]
enum IntervalKind {
    Same(RouteKind),
    /// The kernel selects one of several next hops by the addresses. Those of an IPv4 /24 or IPv6 /64 share one here.
    Divided,
}

impl Routes {
    /// The routes of `targets` targets on interface `link`, for requests of its family from `source`.
    pub fn open(link: IfIndex, source: Option<IpAddr>, targets: u32) -> Result<Self, NetlinkError> {
        // Before the first lookup, so that no change is missed.
        let changes = RouteWatch::open()?;
        let mut netlink = Netlink::open()?;
        let known = if targets <= MAX_EXACT {
            Known::Addresses {
                kinds: HashMap::new(),
                changes: 0,
            }
        } else {
            Known::Intervals(Intervals::read(&mut netlink, link)?)
        };
        Ok(Self {
            link,
            source,
            netlink,
            changes,
            known,
            lookups: 0,
        })
    }

    /// Whether routes may have changed since the last call. The hops of all targets are to be assigned again then.
    pub fn have_changed(&mut self) -> bool {
        self.changes.has_changed()
    }

    pub fn is_interface_removed(&mut self) -> bool {
        let link = self.netlink.link(self.link);
        link.is_err_and(|error| error.is_absence())
    }

    /// Forgets the routes that were looked up, so that the next questions reach the kernel.
    pub fn forget(&mut self) {
        match &mut self.known {
            Known::Addresses { changes, .. } => *changes += 1,
            Known::Intervals(intervals) => {
                // A later change is another occasion.
                if let Ok(new) = Intervals::read(&mut self.netlink, self.link) {
                    *intervals = new;
                }
            }
        }
    }

    /// Number of lookups so far.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// How `address` is reached.
    pub fn kind(&mut self, address: IpAddr) -> RouteKind {
        match &mut self.known {
            Known::Addresses { kinds, changes } => {
                let changes = *changes;
                let known = kinds.get(&address).copied();
                if let Some((at, kind)) = known
                    && at == changes
                {
                    return kind;
                }
                let before = known.map_or(RouteKind::None, |(_, kind)| kind);
                let kind = self.look_up(address).unwrap_or(before);
                if let Known::Addresses { kinds, .. } = &mut self.known {
                    kinds.insert(address, (changes, kind));
                }
                kind
            }
            Known::Intervals(intervals) => {
                if let Some(kind) = intervals.latest_kind(address) {
                    return kind;
                }
                let interval = intervals.of(address);
                match intervals.kinds.get(&interval).copied() {
                    Some(IntervalKind::Same(kind)) => {
                        intervals.note(interval, kind);
                        kind
                    }
                    Some(IntervalKind::Divided) => self.kind_of_network(address),
                    None => self.look_up_interval(interval, address),
                }
            }
        }
    }

    fn look_up_interval(&mut self, interval: usize, address: IpAddr) -> RouteKind {
        let kind = self.look_up(address);
        let is_divided = kind.is_some() && self.is_divided(address);
        let Known::Intervals(intervals) = &mut self.known else {
            return RouteKind::None;
        };
        if let Some(kind) = kind {
            let found = if is_divided {
                intervals.latest_divided = Some((network(address), kind));
                IntervalKind::Divided
            } else {
                IntervalKind::Same(kind)
            };
            intervals.kinds.insert(interval, found);
        }
        kind.unwrap_or(RouteKind::None)
    }

    fn kind_of_network(&mut self, address: IpAddr) -> RouteKind {
        let network = network(address);
        if let Known::Intervals(intervals) = &self.known
            && let Some((known, kind)) = intervals.latest_divided
            && known == network
        {
            return kind;
        }
        let kind = self.look_up(address).unwrap_or(RouteKind::None);
        if let Known::Intervals(intervals) = &mut self.known {
            intervals.latest_divided = Some((network, kind));
        }
        kind
    }

    /// Whether the route to `address` has several next hops, or a nexthop object, which may be a group.
    fn is_divided(&mut self, address: IpAddr) -> bool {
        let has_divided = match &self.known {
            Known::Intervals(intervals) => intervals.has_divided,
            Known::Addresses { .. } => false,
        };
        if !has_divided {
            return false;
        }
        let query = self.query(address).fibmatch(true);
        let route = self.netlink.lookup(&query);
        route.is_ok_and(|route| may_be_divided(&route))
    }

    /// A packet of this run to `address`.
    fn query(&self, address: IpAddr) -> RouteQuery {
        let query = RouteQuery::address(address);
        match self.source {
            Some(source) if source.is_ipv6() == address.is_ipv6() => query.src(source),
            _ => query,
        }
    }

    /// Asks the kernel. `None` if it could not answer, and may later.
    ///
    /// Of several next hops of a route the kernel selects one by the addresses. If that is reached by another interface, a
    /// gateway on this one is used: of another next hop, or of another route.
    fn look_up(&mut self, address: IpAddr) -> Option<RouteKind> {
        self.lookups += 1;
        let mut query = self.query(address);
        // Each interface has a route to these.
        if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
            query = query.oif(self.link);
        }
        match self.netlink.lookup(&query) {
            Ok(route) if route.is_local() => return Some(RouteKind::Local),
            Ok(route) if is_to_many(&route) => return Some(RouteKind::None),
            Ok(route) if route.dev == Some(self.link) => return Some(by_link(&route, &query)),
            Ok(_) => {}
            Err(error) => return is_answer(&error).then_some(RouteKind::None),
        }
        // Without a route by the interface, the kernel says that the address is on-link (`ip_route_output_key_hash_rcu`,
        // net/ipv4/route.c).
        let query = query.oif(self.link);
        match self.netlink.lookup(&query) {
            Ok(route) if route.dev == Some(self.link) => match by_link(&route, &query) {
                RouteKind::OnLink { .. } => Some(RouteKind::None),
                kind => Some(kind),
            },
            Ok(_) => Some(RouteKind::None),
            Err(error) => is_answer(&error).then_some(RouteKind::None),
        }
    }
}

/// Readable when routes may have changed.
impl AsFd for Routes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

impl Intervals {
    /// Reads the intervals of the routes of all tables, of the destinations of rules, and of the sources that `link` offers.
    fn read(netlink: &mut Netlink, link: IfIndex) -> Result<Self, NetlinkError> {
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
            new.add(Prefix::new(ip, len));
        }
        netlink.each(&Route::new(), |route| {
            if let Some(to) = route.dst {
                new.add(to);
            }
            new.has_divided |= may_be_divided(route);
        })?;
        let rules = netlink.each(&Rule::new(), |rule| {
            if let Some(to) = rule.dst {
                new.add(to);
            }
        });
        match rules {
            // A kernel without rules.
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => {}
            rules => drop(rules?),
        }
        for prefix in source_ends(&netlink.addresses()?.items, link) {
            new.add(prefix);
        }
        new.firsts.sort_unstable();
        new.firsts.dedup();
        new.firsts.shrink_to_fit();
        Ok(new)
    }

    /// Adds both ends of a prefix.
    fn add(&mut self, prefix: Prefix) {
        let first = number(prefix.ip);
        let bits = if prefix.ip.is_ipv4() { 32 } else { 128 };
        let free = bits - u32::from(prefix.len).min(bits);
        let after = 1_u128.checked_shl(free);
        let after = after.and_then(|addresses| first.checked_add(addresses));
        self.firsts.push(first);
        self.firsts.extend(after);
    }

    /// Neighbouring targets mostly are in the same interval.
    #[inline]
    fn latest_kind(&self, address: IpAddr) -> Option<RouteKind> {
        let (first, next, kind) = self.latest_same?;
        (first..next).contains(&number(address)).then_some(kind)
    }

    fn note(&mut self, interval: usize, kind: RouteKind) {
        let first = self.firsts[interval];
        let next = self.firsts.get(interval + 1).copied();
        self.latest_same = Some((first, next.unwrap_or(u128::MAX), kind));
    }

    /// The interval of an address.
    fn of(&self, address: IpAddr) -> usize {
        let number = number(address);
        self.firsts.partition_point(|first| *first <= number) - 1
    }
}

/// An address as a number, with IPv4 mapped to IPv6.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The /24 or /64 around `address`.
fn network(address: IpAddr) -> Prefix {
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

/// How packets leave by a route of the interface, which answers `query`.
fn by_link(route: &Route, query: &RouteQuery) -> RouteKind {
    // The kernel does not repeat a source that was given.
    let Some(source) = query.src.or(route.prefsrc) else {
        return RouteKind::None;
    };
    match gateway(route) {
        Some(gateway) => RouteKind::Gateway { gateway, source },
        None => RouteKind::OnLink { source },
    }
}

/// Whether the route may have several next hops.
fn may_be_divided(route: &Route) -> bool {
    let hops = route.nexthops.as_ref().map_or(0, Vec::len);
    hops > 1 || route.nhid.is_some()
}

/// Whether the destination is a broadcast or multicast address.
fn is_to_many(route: &Route) -> bool {
    matches!(
        route.kind,
        Some(RouteType::Broadcast | RouteType::Multicast)
    )
}

/// The gateway of a route, if it has one.
fn gateway(route: &Route) -> Option<IpAddr> {
    let via = route.via.as_ref().map(|via| via.0);
    route.gateway.or(via)
}

/// Whether a lookup failed because there is no way to the address.
fn is_answer(error: &NetlinkError) -> bool {
    let errno = error.errno();
    let errnos = [
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::EACCES,
        libc::EPERM,
        libc::EINVAL,
    ];
    errno.is_some_and(|errno| errnos.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_the_interval_between_two_ends_of_routes() {
        let mut intervals = Intervals {
            firsts: vec![0],
            ..Intervals::default()
        };
        for prefix in [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.0.0/16",
            "10.1.2.3",
            "::/0",
            "fd00::/8",
        ] {
            intervals.add(prefix.parse().expect("a prefix"));
        }
        intervals.firsts.sort_unstable();
        intervals.firsts.dedup();
        let of = |text: &str| intervals.of(text.parse().expect("an address"));
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
}
