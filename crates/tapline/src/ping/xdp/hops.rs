//! The next hops of the targets, and their MAC addresses.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use netlink::{
    IfIndex, MacAddress, Neigh, NeighState, Netlink, NetlinkError, Prefix, Route, RouteQuery,
};
use probe::targets::Targets;
use rustix::event::{Timespec, poll};

use super::change_watch::ChangeWatch;

/// Targets whose routes are looked up one by one. Of more, one lookup serves the targets of an IPv4 /24 or IPv6 /64, but for
/// those of [narrower routes](NarrowRoutes).
const MAX_LOOKUPS: u32 = 4096;
/// How many neighbours the kernel is asked to resolve at a time, and how often. Its table holds that many by default.
const RESOLVED_AT_ONCE: usize = 256;
/// Routes that are looked up again at a time, after a change.
const ROUTES_AT_ONCE: usize = 32;
/// Reads of the neighbour table before a run begins, at most, and the time between two.
const ATTEMPTS: usize = 20;
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// How a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteKind {
    Gateway(IpAddr),
    OnLink,
    /// Here: frames on the interface leave this host.
    Local,
    /// By another interface, or not at all.
    None,
}

/// Destinations within an IPv4 /24 or IPv6 /64 that have a route of their own, as the addresses of this host do. The route of
/// the rest does not apply to them.
#[derive(Debug, Default, PartialEq, Eq)]
struct NarrowRoutes {
    addresses: HashSet<IpAddr>,
    /// The /24 and /64 networks that have routes to parts of them.
    networks: HashSet<Prefix>,
}

impl NarrowRoutes {
    /// Those of all tables.
    fn read(netlink: &mut Netlink) -> Result<Self, NetlinkError> {
        let mut found = Self::default();
        for route in netlink.list(&Route::new())?.items {
            let Some(Prefix { ip, len }) = route.dst else {
                continue;
            };
            match (ip, len) {
                (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => found.addresses.insert(ip),
                (IpAddr::V4(_), 25..) | (IpAddr::V6(_), 65..) => found.networks.insert(network(ip)),
                _ => continue,
            };
        }
        Ok(found)
    }

    fn contain(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address) || self.networks.contains(&network(address))
    }
}

/// A next hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    address: IpAddr,
    /// The last one that the kernel knew, unless it found out that nobody answers.
    mac: Option<MacAddress>,
    /// Whether it is in the kernel's table.
    is_listed: bool,
}

/// The next hops on one interface.
#[derive(Debug)]
pub(super) struct NextHops {
    link: IfIndex,
    netlink: Netlink,
    route_changes: ChangeWatch,
    neighbour_changes: ChangeWatch,
    hops: Vec<Hop>,
    numbers: HashMap<IpAddr, u32>,
    /// The routes of prefixes, each with the address that it was looked up for.
    routes: HashMap<Prefix, (IpAddr, RouteKind)>,
    /// Whether each prefix is one address.
    is_exact: bool,
    /// Empty if each prefix is one address.
    narrow: NarrowRoutes,
    /// Prefixes whose routes are looked up again, the next one last, and whether all are to be looked up after that.
    recheck: Vec<Prefix>,
    is_recheck_due: bool,
    /// Where the search for unresolved hops continues.
    next_missing: usize,
}

impl NextHops {
    /// Looks up the routes of `targets`. Targets that are routed through another interface than `link` have no hop.
    pub fn look_up(targets: &Targets, link: IfIndex) -> Result<Self, NetlinkError> {
        let mut netlink = Netlink::open()?;
        let is_exact = targets.len() <= MAX_LOOKUPS;
        let mut hops = Self {
            link,
            // Before the first lookup, so that no change is missed.
            route_changes: ChangeWatch::routes()?,
            neighbour_changes: ChangeWatch::neighbours()?,
            hops: Vec::new(),
            numbers: HashMap::new(),
            routes: HashMap::new(),
            is_exact,
            narrow: if is_exact {
                NarrowRoutes::default()
            } else {
                NarrowRoutes::read(&mut netlink)?
            },
            netlink,
            recheck: Vec::new(),
            is_recheck_due: false,
            next_missing: 0,
        };
        hops.assign(targets, 0..targets.len(), |_, _| {});
        Ok(hops)
    }

    /// Calls `set` with the hop of each target in `numbers`; with none if the interface does not reach it.
    pub fn assign(
        &mut self,
        targets: &Targets,
        numbers: Range<u32>,
        mut set: impl FnMut(u32, Option<u32>),
    ) {
        // Neighbouring targets mostly share their hop.
        let mut latest = None;
        for target in numbers {
            let Some(address) = targets.address(target) else {
                continue;
            };
            let prefix = self.prefix(address);
            let hop = match latest {
                Some((known, hop)) if known == prefix => hop,
                _ => {
                    let kind = self.route_kind(prefix, address);
                    let hop = match kind {
                        RouteKind::Gateway(gateway) => Some(self.number(gateway)),
                        RouteKind::OnLink => Some(self.number(address)),
                        RouteKind::Local | RouteKind::None => None,
                    };
                    // On-link targets of a prefix have hops of their own.
                    latest = (kind != RouteKind::OnLink).then_some((prefix, hop));
                    hop
                }
            };
            set(target, hop);
        }
    }

    fn prefix(&self, address: IpAddr) -> Prefix {
        if self.is_exact || self.narrow.contain(address) {
            Prefix::host(address)
        } else {
            network(address)
        }
    }

    /// The way to `prefix`, where `address` is.
    fn route_kind(&mut self, prefix: Prefix, address: IpAddr) -> RouteKind {
        if let Some((_, kind)) = self.routes.get(&prefix) {
            return *kind;
        }
        let kind = self.look_up_route(address).unwrap_or(RouteKind::None);
        self.routes.insert(prefix, (address, kind));
        kind
    }

    /// Asks the kernel. `None` if it could not answer, and may later.
    ///
    /// Of several next hops of a route the kernel selects one by the addresses. If that is reached by another interface, a
    /// gateway on this one is used: of another next hop, or of another route.
    fn look_up_route(&mut self, address: IpAddr) -> Option<RouteKind> {
        let query = RouteQuery::address(address);
        match self.netlink.lookup(&query) {
            Ok(route) if route.is_local() => return Some(RouteKind::Local),
            Ok(route) if route.dev == Some(self.link) => {
                let gateway = gateway(&route);
                return Some(gateway.map_or(RouteKind::OnLink, RouteKind::Gateway));
            }
            Ok(_) => {}
            Err(error) => return is_answer(&error).then_some(RouteKind::None),
        }
        // Without a route by the interface, the kernel says that the address is on-link (`ip_route_output_key_hash_rcu`,
        // net/ipv4/route.c).
        match self.netlink.lookup(&query.oif(self.link)) {
            Ok(route) if route.dev == Some(self.link) => {
                Some(gateway(&route).map_or(RouteKind::None, RouteKind::Gateway))
            }
            Ok(_) => Some(RouteKind::None),
            Err(error) => is_answer(&error).then_some(RouteKind::None),
        }
    }

    /// Whether `address` is one of this host, as far as is known.
    pub fn is_local(&self, address: IpAddr) -> bool {
        let route = self.routes.get(&self.prefix(address));
        route.is_some_and(|(_, kind)| *kind == RouteKind::Local)
    }

    /// Whether the interface reaches `address`, as far as is known.
    pub fn reaches(&self, address: IpAddr) -> bool {
        let route = self.routes.get(&self.prefix(address));
        route.is_some_and(|(_, kind)| matches!(kind, RouteKind::Gateway(_) | RouteKind::OnLink))
    }

    /// The number of a hop, which is added if it is new.
    fn number(&mut self, hop: IpAddr) -> u32 {
        let hops = &mut self.hops;
        *self.numbers.entry(hop).or_insert_with(|| {
            hops.push(Hop {
                address: hop,
                mac: None,
                is_listed: false,
            });
            hops.len() as u32 - 1
        })
    }

    /// Number of hops.
    pub fn len(&self) -> u32 {
        self.hops.len() as u32
    }

    /// Whether no target is reached by the interface.
    pub fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    /// Whether frames to the hop can be addressed.
    #[inline]
    pub fn is_known(&self, hop: u32) -> bool {
        self.mac(hop).is_some()
    }

    /// The MAC address of the hop.
    #[inline]
    pub fn mac(&self, hop: u32) -> Option<MacAddress> {
        self.hops.get(hop as usize)?.mac
    }

    /// Descriptors that are readable when routes or neighbours may have changed.
    pub fn wakers(&self) -> [BorrowedFd<'_>; 2] {
        [self.route_changes.as_fd(), self.neighbour_changes.as_fd()]
    }

    /// Whether the table of neighbours may have changed since the last call.
    pub fn have_neighbours_changed(&mut self) -> bool {
        self.neighbour_changes.has_changed()
    }

    /// Whether there are hops without an entry in the kernel's table, which it is to be asked for.
    pub fn has_missing(&self) -> bool {
        self.hops.iter().any(|hop| !hop.is_listed)
    }

    /// Whether routes are left to be looked up again.
    pub fn is_recheck_pending(&self) -> bool {
        self.is_recheck_due || !self.recheck.is_empty()
    }

    /// If the kernel's routes may have changed, looks up the next ones again. Returns whether some have changed, and with
    /// them the hops of their targets.
    pub fn recheck_routes(&mut self) -> bool {
        self.is_recheck_due |= self.route_changes.has_changed();
        let mut has_changed = false;
        if self.recheck.is_empty() && self.is_recheck_due {
            self.is_recheck_due = false;
            self.recheck.extend(self.routes.keys());
            if !self.is_exact
                && let Ok(narrow) = NarrowRoutes::read(&mut self.netlink)
            {
                has_changed = narrow != self.narrow;
                self.narrow = narrow;
            }
        }
        for _ in 0..ROUTES_AT_ONCE {
            let Some(prefix) = self.recheck.pop() else {
                break;
            };
            let Some((address, before)) = self.routes.get(&prefix).copied() else {
                continue;
            };
            let kind = self.look_up_route(address).unwrap_or(before);
            has_changed |= kind != before;
            self.routes.insert(prefix, (address, kind));
        }
        has_changed
    }

    /// Each hop with its MAC address, if it has one.
    pub fn known(&self) -> impl Iterator<Item = (u32, MacAddress)> {
        let hops = (0..).zip(&self.hops);
        hops.filter_map(|(number, hop)| Some((number, hop.mac?)))
    }

    /// Resolves the hops before a run: asks the kernel, and waits up to a second for the answers.
    pub fn resolve(&mut self) -> Result<(), NetlinkError> {
        for attempt in 0..ATTEMPTS {
            self.refresh()?;
            if self.hops.iter().all(|hop| hop.mac.is_some()) {
                break;
            }
            if attempt > 0 {
                // A signal only shortens the pause.
                let _ = poll(&mut [], Some(&PAUSE));
            }
        }
        Ok(())
    }

    /// Reads the neighbour table, and asks the kernel to resolve some of the hops that are missing.
    pub fn refresh(&mut self) -> Result<(), NetlinkError> {
        let table = self.netlink.list(&Neigh::new().dev(self.link))?.items;
        // With the MAC address, unless nobody answers. What the kernel is still looking for is as it was.
        let known: HashMap<IpAddr, Option<MacAddress>> = table
            .iter()
            .filter(|neighbour| !is_pending(neighbour))
            .filter_map(|neighbour| {
                let mac = neighbour.lladdr.and_then(|mac| mac.ethernet());
                let is_failed = neighbour.state == Some(NeighState::Failed);
                Some((neighbour.dst?, mac.filter(|_| !is_failed)))
            })
            .collect();
        for hop in &mut self.hops {
            let entry = known.get(&hop.address);
            hop.is_listed = entry.is_some_and(Option::is_some);
            if let Some(mac) = entry {
                hop.mac = *mac;
            }
        }
        // Each in turn: many may never answer.
        let count = self.hops.len();
        let in_turn = (0..count).map(|at| (self.next_missing + at) % count);
        let missing = in_turn.filter(|at| !self.hops[*at].is_listed);
        let missing: Vec<usize> = missing.take(RESOLVED_AT_ONCE).collect();
        for at in missing {
            let request = Neigh::on(self.link, self.hops[at].address).resolve(true);
            // The table may be full; a later refresh asks again.
            let _ = self.netlink.replace(&request);
            self.next_missing = at + 1;
        }
        Ok(())
    }
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

/// Whether the kernel has not found out yet who answers.
fn is_pending(neighbour: &Neigh) -> bool {
    matches!(
        neighbour.state,
        Some(NeighState::None | NeighState::Incomplete)
    )
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

/// The error of a probe whose next hop is not known, or which is for this host.
pub(super) fn unreachable(is_local: bool) -> io::Error {
    let errno = if is_local {
        libc::EADDRNOTAVAIL
    } else {
        libc::EHOSTUNREACH
    };
    io::Error::from_raw_os_error(errno)
}
