//! How routes are spoken of.

use std::net::IpAddr;

use super::header::Header;
use super::{Route, RouteKey, RouteProtocol, RouteTable, RouteType};
use crate::addr::Scope;
use crate::codec::{Malformed, Message, Refusal, Request};
use crate::error::Subject;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::{Family, Prefix};
use crate::table::{Entry, Question, Shape, Table};
use crate::uapi::{
    IFF_UP, RTA_DST, RTA_OIF, RTA_SRC, RTA_TABLE, RTM_DELADDR, RTM_DELLINK, RTM_DELNEXTHOP,
    RTM_DELROUTE, RTM_GETROUTE, RTM_NEWLINK, RTM_NEWROUTE, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE, RTNLGRP_LINK, RTNLGRP_NEXTHOP,
};

/// Bytes of next hops in a message; an attribute has at most 65,535.
const MOST_HOP_BYTES: usize = 60_000;

impl Object for Route {
    type Key = RouteKey;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWROUTE,
        del: RTM_DELROUTE,
        get: RTM_GETROUTE,
    };
    const HEADER_BYTES: usize = Header::BYTES;
    /// Beside those of routes: the kernel does not tell of IPv4 routes that go with a link, an address or a
    /// nexthop object.
    const GROUPS: &'static [u32] = &[
        RTNLGRP_IPV4_ROUTE,
        RTNLGRP_IPV6_ROUTE,
        RTNLGRP_LINK,
        RTNLGRP_IPV4_IFADDR,
        RTNLGRP_NEXTHOP,
    ];
    /// The kernel can be asked where a packet goes ([`Netlink::lookup`](crate::Netlink::lookup)), not for
    /// a route.
    const HAS_GET: bool = false;

    fn entries() -> &'static [Entry] {
        static ENTRIES: std::sync::LazyLock<Vec<Entry>> = std::sync::LazyLock::new(|| {
            let entry = |kind, constant, shape| Entry {
                kind,
                constant,
                shape,
            };
            let mut entries = vec![
                entry(RTA_DST, "RTA_DST", Shape::Ip),
                entry(RTA_SRC, "RTA_SRC", Shape::Ip),
                entry(RTA_TABLE, "RTA_TABLE", Shape::Number),
            ];
            entries.extend(<Route as Table>::entries());
            entries
        });
        &ENTRIES
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        if matches!(verb, Verb::List | Verb::Get) {
            self.put_choice(verb, request);
            return Ok(());
        }
        if self.nhid.is_some() && (self.dev.is_some() || self.nexthops.is_some()) {
            return Object::put(&self.clone().settable(), verb, request);
        }
        let dst = self.check()?;
        let family = dst.family();
        let (table, table_attribute) = self.table_for(verb);
        let header = Header {
            family: family.into(),
            dst_len: dst.len,
            src_len: self.src.map_or(0, |src| src.len),
            tos: self.tos.unwrap_or_default(),
            table,
            protocol: self.protocol_for(verb).into(),
            scope: self.scope_for(verb, family).into(),
            kind: self.kind_for(verb).into(),
            flags: if self.onlink == Some(true) {
                super::RouteFlags::ONLINK.0
            } else {
                0
            },
        };
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        if !dst.is_everything() {
            put_ip(RTA_DST, dst, request);
        }
        if let Some(src) = self.src {
            put_ip(RTA_SRC, src, request);
        }
        if let Some(table) = table_attribute {
            request.u32(RTA_TABLE, table);
        }
        Table::put(self, request);
        Ok(())
    }

    #[inline]
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        self.fill(body)
    }

    fn key(&self) -> Option<RouteKey> {
        self.route_key()
    }

    fn matches(&self, wanted: &Self) -> bool {
        Table::matches(self, wanted)
    }

    fn questions(&self) -> Vec<Question<Self>> {
        Table::questions(self)
    }

    fn is_chosen_by_kernel(&self) -> bool {
        // A 0 is no choice to the kernel. A link is another question there: whether any next hop has it.
        let Self {
            kind,
            family,
            table,
            protocol,
            ..
        } = *self;
        let chosen = Self {
            kind,
            family,
            table,
            protocol,
            ..Self::default()
        };
        let protocol = protocol.map(u8::from);
        let numbers = [
            table.map(u32::from),
            protocol.map(u32::from),
            kind.map(u8::from).map(u32::from),
        ];
        *self == chosen && family.is_some() && !numbers.contains(&Some(0))
    }

    /// Time that passes is no difference.
    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                expires: self.expires,
                users: self.users,
                used: self.used,
                age: self.age,
                ..other.clone()
            }
    }

    /// Where a nexthop object says where packets go, the kernel tells that too, and takes it no more.
    fn settable(self) -> Self {
        let route = Self {
            flags: None,
            cache: None,
            users: None,
            used: None,
            age: None,
            error: None,
            iif: None,
            mark: None,
            uid: None,
            ..self
        };
        if route.nhid.is_none() {
            return route;
        }
        Self {
            gateway: None,
            via: None,
            dev: None,
            nexthops: None,
            encap: None,
            ..route
        }
    }

    fn restricted(mut self, to: &Self) -> Self {
        let (dst, family, table) = (self.dst, self.family, self.table);
        let (src, tos, metric) = (self.src, self.tos, self.metric);
        Table::restrict(&mut self, to);
        Self {
            family,
            dst,
            src,
            tos,
            table,
            metric,
            ..self
        }
    }

    /// One hop of several may go, and one route of several that share a key.
    fn outlives(&self, gone: &Self) -> bool {
        (self.gateway, self.via, self.dev) != (gone.gateway, gone.via, gone.dev)
            || self.nexthops != gone.nexthops
    }

    /// A link that goes or is set down, an address and a nexthop object take routes along
    /// (`fib_sync_down_dev`, `fib_sync_down_addr`, net/ipv4/fib\_semantics.c).
    fn is_upset_by(message: Message<'_>) -> bool {
        match message.kind {
            RTM_DELLINK | RTM_DELADDR | RTM_DELNEXTHOP => true,
            // `ifi_flags` and `ifi_change` of `struct ifinfomsg`.
            RTM_NEWLINK => match message.body.get(8..16) {
                Some([f0, f1, f2, f3, c0, c1, c2, c3]) => {
                    let flags = u32::from_ne_bytes([*f0, *f1, *f2, *f3]);
                    let change = u32::from_ne_bytes([*c0, *c1, *c2, *c3]);
                    change & !flags & IFF_UP != 0
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// A table that has had no route yet is not there.
    fn is_none(refusal: &Refusal) -> bool {
        refusal.source.kind() == std::io::ErrorKind::NotFound
    }

    fn subject(&self) -> Subject {
        self.destination().map_or(Subject::Routes, Subject::Route)
    }
}

/// Adds the address of `prefix`.
pub(crate) fn put_ip(kind: u16, prefix: Prefix, request: &mut Request) {
    match prefix.ip {
        IpAddr::V4(ip) => request.attribute(kind, &ip.octets()),
        IpAddr::V6(ip) => request.attribute(kind, &ip.octets()),
    }
}

impl Route {
    /// What the kernel chooses routes by: table, protocol, type, link.
    fn put_choice(&self, verb: Verb, request: &mut Request) {
        let header = Header {
            family: self.family_said().map_or(0, u8::from),
            protocol: self.protocol.map_or(0, u8::from),
            kind: self.kind.map_or(0, u8::from),
            ..Header::default()
        };
        let flags = Verb::List.flags() | verb.flags();
        request.begin(RTM_GETROUTE, flags, &header.emit());
        if let Some(table) = self.table {
            request.u32(RTA_TABLE, table.into());
        }
        if let Some(dev) = self.dev {
            request.u32(RTA_OIF, dev.0);
        }
    }

    /// The destination, if all that is said fits together.
    fn check(&self) -> Result<Prefix, Unfit> {
        let dst = self.destination();
        let dst =
            dst.ok_or_else(|| Unfit::new("a route leads somewhere: no destination is given"))?;
        let family = dst.family();
        if self.family.is_some_and(|said| said != family) {
            return Err(Unfit::new(format!(
                "destination {dst} is not of the family given"
            )));
        }
        if dst.len > family.bits() {
            return Err(Unfit::new(format!(
                "a prefix of {family} has at most {} bits",
                family.bits()
            )));
        }
        let is_strange = |ip: &IpAddr| Family::of(*ip) != family;
        let strange = |ip: Option<IpAddr>| ip.filter(is_strange);
        let hops = self.nexthops.as_deref().unwrap_or_default();
        let of_hops = || hops.iter().find_map(|hop| strange(hop.gateway));
        let stranger = strange(self.gateway).or_else(|| strange(self.prefsrc));
        if let Some(ip) = stranger.or_else(of_hops) {
            return Err(Unfit::new(format!(
                "{ip} is of another family than destination {dst}"
            )));
        }
        if self
            .src
            .is_some_and(|src| src.family() != family || src.len > family.bits())
        {
            return Err(Unfit::new(format!(
                "the source does not go with destination {dst}"
            )));
        }
        if hops.iter().any(|hop| !(1..=256).contains(&hop.share())) {
            return Err(Unfit::new("the weight of a next hop is 1 to 256"));
        }
        if hops.iter().map(super::Hop::most_bytes).sum::<usize>() > MOST_HOP_BYTES {
            return Err(Unfit::new("more next hops than a message has room for"));
        }
        Ok(dst)
    }

    /// As `ip route` has it: local ones go to the table of those.
    fn table_for(&self, verb: Verb) -> (u8, Option<u32>) {
        let table =
            self.table.unwrap_or(match self.kind {
                Some(
                    RouteType::Local | RouteType::Broadcast | RouteType::Anycast | RouteType::Nat,
                ) if verb != Verb::List => RouteTable::Local,
                _ => RouteTable::Main,
            });
        let table = u32::from(table);
        u8::try_from(table).map_or((0, Some(table)), |table| (table, None))
    }

    fn protocol_for(&self, verb: Verb) -> RouteProtocol {
        self.protocol.unwrap_or(if verb == Verb::Del {
            RouteProtocol::Unspec
        } else {
            RouteProtocol::Boot
        })
    }

    fn kind_for(&self, verb: Verb) -> RouteType {
        self.kind.unwrap_or(if verb == Verb::Del {
            RouteType::None
        } else {
            RouteType::Unicast
        })
    }

    /// As `ip route` has it: what has no next hop is on the link.
    fn scope_for(&self, verb: Verb, family: Family) -> Scope {
        if let Some(scope) = self.scope {
            return scope;
        }
        let has_hop = self.gateway.is_some()
            || self.via.is_some()
            || self.nexthops.is_some()
            || self.nhid.is_some();
        match self.kind.unwrap_or(RouteType::Unicast) {
            _ if family == Family::V6 => Scope::Global,
            _ if verb == Verb::Del => Scope::Nowhere,
            RouteType::Local | RouteType::Nat => Scope::Host,
            RouteType::Broadcast | RouteType::Multicast | RouteType::Anycast => Scope::Link,
            RouteType::Unicast | RouteType::None if !has_hop => Scope::Link,
            _ => Scope::Global,
        }
    }
}
