//! Addresses in a fake kernel, with the routes that it keeps for them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::io::Errno;

use super::storable::{Existing, StorableObject};
use crate::codec::{HEADER_BYTES, Request};
use crate::object::Object;
use crate::objects::addr::{Addr, Broadcast, Lifetime, Scope};
use crate::objects::route::{Route, RouteProtocol, RouteTable, RouteType};
use crate::uapi::IFA_FLAGS;
use crate::values::interface::IfIndex;
use crate::values::prefix::{Family, Prefix};
use crate::verb::Verb;

/// The metric of the IPv6 routes that the kernel adds (`IP6_RT_PRIO_ADDRCONF`).
const IP6_RT_PRIO_ADDRCONF: u32 = 256;

impl StorableObject for Addr {
    const ABSENT: Errno = Errno::ADDRNOTAVAIL;
    const IS_CREATED_BY_CHANGE: bool = true;

    /// The first address of an IPv4 network is the primary one.
    fn created(mut self, held: &[Self], _: &mut Existing) -> Vec<Self> {
        self.metric = self.metric.filter(|metric| *metric != 0);
        let is_secondary = self.primary(held).is_some();
        self.secondary = Some(is_secondary).filter(|_| self.family_of() == Some(Family::V4));
        self.complete();
        vec![self]
    }

    /// An interface has an IPv6 address once, whatever its prefix length (`ipv6_get_ifaddr`, net/ipv6/addrconf.c).
    fn is_identified_by(&self, said: &Self) -> bool {
        match (self.local, said.local) {
            (Some(IpAddr::V6(own)), Some(IpAddr::V6(said_ip))) => {
                own == said_ip && self.dev == said.dev
            }
            _ => self.has_key_of(said),
        }
    }

    fn is_deleted_by(&self, said: &Self) -> bool {
        self.has_key_of(said)
    }

    /// A change resets the lifetimes, and the flags and the metric in part.
    ///
    /// # Source
    /// `inet_rtm_newaddr`, net/ipv4/devinet.c; `inet6_addr_modify`, net/ipv6/addrconf.c.
    fn apply(&mut self, change: Self) {
        self.valid_life_time = change.valid_life_time;
        self.preferred_life_time = change.preferred_life_time;
        self.protocol = change.protocol;
        let metric = change.metric.filter(|metric| *metric != 0);
        if self.family_of() == Some(Family::V6) {
            self.metric = metric.or(self.metric);
            self.peer = change.peer.or(self.peer);
            self.nodad = change.nodad;
            self.home = change.home;
            self.mngtmpaddr = change.mngtmpaddr;
            self.noprefixroute = change.noprefixroute;
        } else {
            self.metric = metric;
        }
        self.complete();
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }

    /// The secondary addresses of a network are deleted with the primary one (`__inet_del_ifa`, net/ipv4/devinet.c).
    fn goes_with(&self, other: &Self) -> bool {
        self.secondary == Some(true) && other.secondary == Some(false) && self.is_beside(other)
    }

    /// # Source
    /// `fib_add_ifaddr`, net/ipv4/fib\_frontend.c; `inet6_addr_add`, net/ipv6/addrconf.c.
    fn routes(&self, held: &[Self], is_up: bool) -> Vec<Route> {
        let (Some(local), Some(prefix)) = (self.local, self.network()) else {
            return Vec::new();
        };
        match local {
            IpAddr::V4(local) => self.v4_routes(local, prefix, held, is_up),
            IpAddr::V6(_) => self.v6_routes(local, prefix, is_up),
        }
    }

    /// With the flags that the kernel only reports.
    fn body(&self) -> Vec<u8> {
        let mut request = Request::default();
        if self.encode(Verb::Add, &mut request).is_err() {
            return Vec::new();
        }
        request.u32(IFA_FLAGS, self.flag_bits().0);
        request.bytes()[HEADER_BYTES..].to_vec()
    }
}

impl Addr {
    fn family_of(&self) -> Option<Family> {
        self.local.map(Family::of)
    }

    fn has_key_of(&self, said: &Self) -> bool {
        said.key().is_some() && said.key() == self.key()
    }

    /// Fills in what follows from the lifetimes.
    fn complete(&mut self) {
        let valid = *self.valid_life_time.get_or_insert(Lifetime::FOREVER);
        let preferred = *self.preferred_life_time.get_or_insert(valid);
        self.dynamic = Some(valid != Lifetime::FOREVER);
        self.deprecated = Some(preferred.0 == 0);
    }

    /// The network of the address, or of its peer.
    fn network(&self) -> Option<Prefix> {
        let len = self.prefixlen?;
        Some(match self.peer.or(self.local)? {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                Prefix::new(Ipv4Addr::from_bits(ip.to_bits() & mask), len)
            }
            IpAddr::V6(ip) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                Prefix::new(Ipv6Addr::from_bits(ip.to_bits() & mask), len)
            }
        })
    }

    /// Whether `other` is in the same network of the same interface.
    fn is_beside(&self, other: &Self) -> bool {
        self.dev == other.dev && self.network() == other.network()
    }

    /// The primary address of its network, if it is another one.
    fn primary<'a>(&self, held: &'a [Self]) -> Option<&'a Self> {
        let mut held = held.iter();
        held.find(|other| other.secondary == Some(false) && other.is_beside(self))
            .filter(|primary| primary.local != self.local)
    }

    fn v4_routes(&self, local: Ipv4Addr, net: Prefix, held: &[Self], is_up: bool) -> Vec<Route> {
        let is_secondary = self.secondary == Some(true);
        let primary = self.primary(held).filter(|_| is_secondary);
        let source = primary.and_then(|primary| primary.local);
        let source = source.unwrap_or(IpAddr::V4(local));
        let route = |kind, dst, table, scope| {
            Route::to(dst)
                .family(Family::V4)
                .dev(self.dev.unwrap_or_default())
                .kind(kind)
                .table(table)
                .protocol(RouteProtocol::Kernel)
                .scope(scope)
                .prefsrc(source)
        };
        let broadcast = |ip| {
            let dst = Prefix::host(ip);
            route(RouteType::Broadcast, dst, RouteTable::Local, Scope::Link)
        };
        let host = Prefix::host(local);
        let mut routes = vec![route(
            RouteType::Local,
            host,
            RouteTable::Local,
            Scope::Host,
        )];
        if !is_up {
            return routes;
        }
        let explicit = match self.broadcast {
            Some(Broadcast::At(ip)) if ip != Ipv4Addr::BROADCAST => Some(ip),
            _ => None,
        };
        routes.extend(explicit.map(broadcast));
        if !is_secondary && net != host {
            if self.noprefixroute != Some(true) {
                let mut prefix = route(RouteType::Unicast, net, RouteTable::Main, Scope::Link);
                prefix.metric = self.metric;
                routes.push(prefix);
            }
            let IpAddr::V4(first) = net.ip else {
                return routes;
            };
            let last = Broadcast::Ones.of(first, net.len);
            if net.len < 31 && explicit != Some(last) {
                routes.push(broadcast(last));
            }
        }
        routes
    }

    fn v6_routes(&self, local: IpAddr, net: Prefix, is_up: bool) -> Vec<Route> {
        let route = |kind, dst, table, metric| {
            Route::to(dst)
                .family(Family::V6)
                .dev(self.dev.unwrap_or_default())
                .kind(kind)
                .table(table)
                .protocol(RouteProtocol::Kernel)
                .metric(metric)
        };
        let host = Prefix::host(local);
        let mut routes = vec![route(RouteType::Local, host, RouteTable::Local, 0)];
        if is_up && self.noprefixroute != Some(true) {
            let metric = self.metric.unwrap_or(IP6_RT_PRIO_ADDRCONF);
            routes.push(route(RouteType::Unicast, net, RouteTable::Main, metric));
        }
        routes
    }
}
