//! The routes of the targets and the source addresses of their requests, as the kernel looks them up.
//!
//! A list of up to 4096 targets is looked up address by address. In a longer one, addresses between two ends of routes share a
//! lookup: [`Intervals`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use abi::clock::monotonic_ns;
use netlink::{
    IfIndex, Link, Netlink, NetlinkError, PortKind, Prefix, Route, RouteQuery, RouteType,
};

use super::intervals::{IntervalKind, Intervals, Ranges, destination, may_be_divided, network};
use super::route_kind::RouteKind;
use crate::route_watch::{RouteNotification, RouteWatch, listing_pause_ns};

/// Targets whose routes are looked up one by one.
const MAX_EXACT: u32 = 4096;
/// Addresses whose routes are kept, at most: targets may come and go. Beyond, they are looked up again.
const MAX_KEPT: usize = 65_536;
/// Destinations of changed routes that are kept until the next pass. If there are more, all routes are listed.
const MAX_CHANGED: usize = 65_536;

/// What notifications say, for those who follow more than the routes of the targets.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::ping::xdp) struct RouteChanges {
    /// Routes may have changed: the hops of all targets are to be assigned again.
    pub has_changed: bool,
    /// The interface of the run may have changed.
    pub has_link_changed: bool,
    /// It was down, also if it is up again.
    pub has_link_been_down: bool,
    /// Interfaces or nexthop objects may have changed.
    pub has_others_changed: bool,
    /// Notifications were lost, perhaps about anything.
    pub is_lost: bool,
}

/// Changes that the lookups do not reflect yet.
#[derive(Debug, Default)]
struct Pending {
    /// Destinations of routes.
    changed: Vec<Prefix>,
    has_divided: bool,
    /// Rules, nexthops, addresses or interfaces have changed.
    has_others: bool,
    /// Some changes are not known: all routes have to be listed.
    is_incomplete: bool,
}

/// The kernel's routes, as far as targets need them.
#[derive(Debug)]
pub(super) struct Routes {
    link: IfIndex,
    /// The source of the requests of its family, if one was given. Rules may select routes by it.
    source: Option<IpAddr>,
    /// Whether the interface is in a VRF: only lookups with the interface use its tables.
    is_in_vrf: bool,
    netlink: Netlink,
    watch: RouteWatch,
    pending: Pending,
    /// Before this time of the run, the routes are not listed again.
    list_after_ns: u64,
    known: RouteCache,
    /// Number of lookups so far.
    lookups: u64,
}

/// What was looked up.
#[derive(Debug)]
enum RouteCache {
    /// Of each address, with the number of changes before, or another one if it is to be looked up again.
    Addresses {
        kinds: HashMap<IpAddr, (u32, RouteKind)>,
        changes: u32,
    },
    Intervals(Intervals),
}

impl Routes {
    /// The routes of `targets` targets on interface `link`, for requests of its family from `source`. `is_in_vrf`: the interface is
    /// in a VRF.
    pub fn open(
        link: IfIndex,
        is_in_vrf: bool,
        source: Option<IpAddr>,
        targets: u32,
    ) -> Result<Self, NetlinkError> {
        // Before the first lookup, so that no change is missed.
        let watch = RouteWatch::open()?;
        let mut netlink = Netlink::open()?;
        let start_ns = monotonic_ns();
        let known = if targets <= MAX_EXACT {
            RouteCache::Addresses {
                kinds: HashMap::new(),
                changes: 0,
            }
        } else {
            RouteCache::Intervals(Intervals::read(&mut netlink, link)?)
        };
        Ok(Self {
            link,
            source,
            is_in_vrf,
            netlink,
            watch,
            pending: Pending::default(),
            list_after_ns: listing_pause_ns(start_ns),
            known,
            lookups: 0,
        })
    }

    /// Reads what has changed since the last call. Calls `added` with each route that was added or changed.
    pub fn read_changes(&mut self, mut added: impl FnMut(&Route)) -> RouteChanges {
        let (link, pending) = (self.link, &mut self.pending);
        let mut found = RouteChanges::default();
        self.watch.read(|notice| {
            found.has_changed = true;
            match notice {
                RouteNotification::Route(route) => {
                    added(&route);
                    pending.has_divided |= may_be_divided(&route);
                    pending.add(destination(&route));
                }
                RouteNotification::Removed(route) => pending.add(destination(&route)),
                RouteNotification::Link(about) => {
                    let own = about.filter(|about| about.index == Some(link));
                    found.has_link_changed |= own.is_some();
                    found.has_link_been_down |= own.is_some_and(|own| !is_up(&own));
                    found.has_others_changed = true;
                    pending.has_others = true;
                }
                RouteNotification::Nexthop => {
                    found.has_others_changed = true;
                    pending.has_others = true;
                }
                RouteNotification::Other => pending.has_others = true,
                RouteNotification::Overrun => {
                    found.is_lost = true;
                    pending.is_incomplete = true;
                }
            }
        });
        found
    }

    /// Forgets what changes since the last call concern, so that the next questions reach the kernel. Returns when this is to be
    /// repeated, if all routes have to be listed and were listed not long ago.
    pub fn forget(&mut self, now_ns: u64) -> Option<u64> {
        let pending = std::mem::take(&mut self.pending);
        let intervals = match &mut self.known {
            RouteCache::Addresses { changes, .. } if pending.concerns_all() => {
                *changes = changes.wrapping_add(1);
                return None;
            }
            RouteCache::Addresses { kinds, changes } => {
                let ranges = Ranges::of(&pending.changed);
                let concerned = kinds
                    .iter_mut()
                    .filter(|(address, _)| ranges.have(**address));
                for (_, (at, _)) in concerned {
                    *at = changes.wrapping_sub(1);
                }
                return None;
            }
            RouteCache::Intervals(intervals) => intervals,
        };
        if (pending.is_incomplete || intervals.is_grown()) && now_ns >= self.list_after_ns {
            let start_ns = monotonic_ns();
            let read = Intervals::read(&mut self.netlink, self.link);
            self.list_after_ns = now_ns + listing_pause_ns(start_ns);
            if let Ok(new) = read {
                *intervals = new;
                return None;
            }
        }
        intervals.has_divided |= pending.has_divided;
        intervals.forget_within(&pending.changed);
        let mut is_complete = !pending.is_incomplete;
        if pending.concerns_all() {
            let forgotten = intervals.forget_all(&mut self.netlink, self.link);
            is_complete &= forgotten.is_ok();
        }
        self.pending.is_incomplete = !is_complete;
        (!is_complete).then_some(self.list_after_ns)
    }

    /// Says whether the interface is in a VRF, from the next lookup on.
    pub fn set_in_vrf(&mut self, is_in_vrf: bool) {
        self.is_in_vrf = is_in_vrf;
    }

    /// Number of lookups so far.
    pub fn lookups(&self) -> u64 {
        self.lookups
    }

    /// How `address` is reached.
    pub fn kind(&mut self, address: IpAddr) -> RouteKind {
        match &mut self.known {
            RouteCache::Addresses { kinds, changes } => {
                let changes = *changes;
                let known = kinds.get(&address).copied();
                if let Some((at, kind)) = known
                    && at == changes
                {
                    return kind;
                }
                let before = known.map_or(RouteKind::None, |(_, kind)| kind);
                let kind = self.look_up(address).unwrap_or(before);
                if let RouteCache::Addresses { kinds, .. } = &mut self.known {
                    if kinds.len() >= MAX_KEPT {
                        kinds.clear();
                    }
                    kinds.insert(address, (changes, kind));
                }
                kind
            }
            RouteCache::Intervals(intervals) => match intervals.kind(address) {
                Ok(IntervalKind::Same(kind)) => kind,
                Ok(IntervalKind::Divided) => self.kind_of_network(address),
                Err(first) => self.look_up_interval(first, address),
            },
        }
    }

    /// Looks up an address in the interval that begins with `first`.
    fn look_up_interval(&mut self, first: u128, address: IpAddr) -> RouteKind {
        let kind = self.look_up(address);
        let is_divided = kind.is_some() && self.is_divided(address);
        let RouteCache::Intervals(intervals) = &mut self.known else {
            return RouteKind::None;
        };
        if let Some(kind) = kind {
            let found = if is_divided {
                intervals.latest_divided = Some((network(address), kind));
                IntervalKind::Divided
            } else {
                IntervalKind::Same(kind)
            };
            intervals.note(first, found);
        }
        kind.unwrap_or(RouteKind::None)
    }

    fn kind_of_network(&mut self, address: IpAddr) -> RouteKind {
        let network = network(address);
        if let RouteCache::Intervals(intervals) = &self.known
            && let Some((known, kind)) = intervals.latest_divided
            && known == network
        {
            return kind;
        }
        let kind = self.look_up(address).unwrap_or(RouteKind::None);
        if let RouteCache::Intervals(intervals) = &mut self.known {
            intervals.latest_divided = Some((network, kind));
        }
        kind
    }

    /// Whether the route to `address` has several next hops, or a nexthop object, which may be a group.
    fn is_divided(&mut self, address: IpAddr) -> bool {
        let has_divided = match &self.known {
            RouteCache::Intervals(intervals) => intervals.has_divided,
            RouteCache::Addresses { .. } => false,
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
        let mut query = RouteQuery::address(address);
        if self.is_in_vrf {
            query = query.oif(self.link);
        }
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
        self.watch.as_fd()
    }
}

impl Pending {
    /// Whether any lookup may have another result.
    fn concerns_all(&self) -> bool {
        self.has_others || self.is_incomplete
    }

    /// Notes that routes to `prefix` have changed.
    fn add(&mut self, prefix: Prefix) {
        if self.changed.len() < MAX_CHANGED {
            self.changed.push(prefix);
        } else {
            self.is_incomplete = true;
        }
    }
}

/// Whether an interface is in a VRF.
pub(in crate::ping::xdp) fn is_in_vrf(link: &Link) -> bool {
    matches!(link.port_kind(), Some(PortKind::Vrf(_)))
}

/// Whether an interface sends frames.
pub(in crate::ping::xdp) fn is_up(link: &Link) -> bool {
    link.flags
        .is_some_and(|flags| flags.is_up() && flags.has_carrier())
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
