//! Routes.

use crate::header::RouteHeader;
use std::net::IpAddr;

use super::hop::Hops;
use super::{
    Encap, EncapCode, Hop, Metrics, Realms, RouteCacheFlags, RouteFlags, RoutePreference,
    RouteProtocol, RouteTable, RouteType, Via,
};
use crate::codec::{Attribute, KernelError, Malformed, Message, Request, attributes};
use crate::error::{InvalidRequest, RequestTarget, reject_if};
use crate::object::{Object, without};
use crate::objects::addr::Scope;
use crate::schema::{
    AttributeCodec, AttributeSet, AttributeType, Boxed, FieldMatcher, Native, attribute_set,
};
use crate::uapi::{
    AF_INET, AF_INET6, IFF_UP, RTA_CACHEINFO, RTA_DST, RTA_ENCAP_TYPE, RTA_GATEWAY, RTA_OIF,
    RTA_PRIORITY, RTA_SRC, RTA_TABLE, RTM_DELADDR, RTM_DELLINK, RTM_DELNEXTHOP, RTM_F_CLONED,
    RTM_GETROUTE, RTM_NEWLINK, RTM_NEWROUTE, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV6_ROUTE, RTNLGRP_LINK, RTNLGRP_NEXTHOP,
};
use crate::values::ds_field::DsField;
use crate::values::interface::IfIndex;
use crate::values::prefix::{Family, Prefix};
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A route: the desired state, or the state that the kernel reported.
    ///
    /// Fields that are not given or not reported are `None`. Defaults of a new route, as in `ip route`: main
    /// table, type unicast, protocol `boot`. Deletion removes the first route that matches the given fields; with
    /// a destination alone it removes any route there.
    ///
    /// # Source
    /// `rtm_to_fib_config` and `fib_table_delete`, net/ipv4; `rtm_to_fib6_config` and `ip6_route_del`,
    /// net/ipv6/route.c.
    pub struct Route {
        @header {
            /// Its type.
            #[serde(rename = "type")]
            kind: RouteType;
            /// Its family. Default: that of the destination.
            family: Family;
            /// Its destination.
            dst: Prefix;
            /// The source network to which it applies; IPv6 only.
            #[serde(rename = "from")]
            "from" src: Prefix;
            /// The type of service to which it applies.
            "tos" | "dsfield" tos: DsField;
            /// Its table.
            "table" table: RouteTable;
            /// Origin.
            "proto" | "protocol" protocol: RouteProtocol;
            /// Its scope; IPv4 only.
            "scope" scope: Scope;
            /// Its flags. Read-only.
            flags @reported: RouteFlags;
            /// Flags of an IPv4 lookup result. Read-only.
            cache @reported: RouteCacheFlags;
            /// Reference count. Reported by lookups only.
            users @reported: u32;
            /// Use count. Reported by lookups only.
            used @reported: u32;
            /// Seconds since it was last used. Reported by lookups only.
            age @reported: u32, 1 per second;
            /// The error returned to senders, as a negative 32-bit number. Reported by lookups only.
            error @reported: u32;
        }
        @flags {
            /// The next hop is on the link, regardless of the addresses there.
            "onlink" onlink = RTNH_F_ONLINK;
        }
        @parts {
            RTA_DST: AttributeType::Ip;
            RTA_SRC: AttributeType::Ip;
            RTA_TABLE: AttributeType::Number;
        }
        /// The next hop, if it belongs to the family of the route.
        gateway: IpAddr = RTA_GATEWAY;
        /// The next hop, if it belongs to another family: IPv4 via IPv6.
        via: Via = RTA_VIA;
        /// The interface through which packets leave.
        "dev" | "oif" dev: IfIndex = RTA_OIF;
        /// The nexthop object that it uses.
        "nhid" nhid: u32 = RTA_NH_ID;
        /// Its metric. The route with the lowest metric is used.
        "metric" | "priority" | "preference" metric: u32 = RTA_PRIORITY;
        /// The preferred source address.
        "src" prefsrc: IpAddr = RTA_PREFSRC;
        /// Metrics of the path.
        #[serde(with = "super::metrics::in_a_list")]
        metrics: Box<Metrics> as Boxed = RTA_METRICS;
        /// How packets are encapsulated on this route: in MPLS, SRv6 or an IP tunnel, for example.
        encap: Box<Encap> as EncapCode = RTA_ENCAP;
        /// Router preference; IPv6 only.
        "pref" pref: RoutePreference = RTA_PREF;
        /// Seconds until it expires; IPv6 only.
        "expires" expires: u32 = RTA_EXPIRES, 1 per second;
        /// Several next hops that share the traffic.
        nexthops: Vec<Hop> as Hops = RTA_MULTIPATH;
        /// The ingress link. Reported by lookups only.
        iif @reported: IfIndex = RTA_IIF;
        /// Its realms, for accounting; IPv4 only.
        #[serde(rename = "flow")]
        "realms" | "realm" realms: Realms = RTA_FLOW;
        /// The firewall mark. Reported by lookups only.
        mark @reported: u32 = RTA_MARK;
        /// The user id. Reported by lookups only.
        uid @reported: u32 = RTA_UID;
    }
}

impl Route {
    /// A route to `dst`.
    pub fn to(dst: Prefix) -> Self {
        Self::new().dst(dst)
    }

    /// Whether it is a local route.
    #[doc(alias = "RTN_LOCAL")]
    pub fn is_local(&self) -> bool {
        self.kind == Some(RouteType::Local)
    }

    /// Its family, as far as it is known. A default destination may be parsed as IPv4 although the next hop is IPv6.
    pub(super) fn family_said(&self) -> Option<Family> {
        self.family.or_else(|| self.dst.map(Prefix::family))
    }

    /// The destination; a default destination has the family of the route.
    pub(super) fn destination(&self) -> Option<Prefix> {
        match (self.dst, self.family) {
            (Some(dst), Some(family)) if dst.is_everything() => Some(family.everything()),
            (dst, _) => dst,
        }
    }

    /// Decodes the body of a route message; false for families other than IPv4 and IPv6.
    ///
    /// # Source
    /// `fib_dump_info`, net/ipv4/fib\_semantics.c; `rt6_fill_node`, net/ipv6/route.c.
    #[inline]
    pub(super) fn fill(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        self.clear();
        let (header, rest) = RouteHeader::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        let family = Family::from(header.family);
        let (flags, cache) = flags(header.flags);
        self.kind = Some(header.kind.into());
        self.family = Some(family);
        self.tos = (header.tos != 0).then_some(DsField(header.tos));
        self.protocol = Some(header.protocol.into());
        self.scope = Some(header.scope.into());
        self.flags = Some(flags);
        self.cache = cache.filter(|_| family == Family::V4);
        self.set_flag_bits(flags.0, flags.0);
        let mut encap = 0;
        let mut attributes = attributes(rest, RouteHeader::BYTES);
        while let Some(attribute) = attributes.next_whole() {
            match attribute.kind {
                RTA_TABLE => self.table = Some(attribute.u32()?.into()),
                RTA_DST => read_prefix(&mut self.dst, family, header.dst_len, attribute)?,
                // The most frequent attributes first; the attribute set would decode them alike.
                RTA_GATEWAY => Native::decode_into(&mut self.gateway, attribute)?,
                RTA_OIF => Native::decode_into(&mut self.dev, attribute)?,
                RTA_PRIORITY => Native::decode_into(&mut self.metric, attribute)?,
                RTA_SRC => read_prefix(&mut self.src, family, header.src_len, attribute)?,
                RTA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                RTA_CACHEINFO => self.take_moments(attribute)?,
                _ => self.decode_attribute(attribute)?,
            }
        }
        attributes.end()?;
        if self.table.is_none() {
            self.table = Some(u32::from(header.table).into());
        }
        if self.dst.is_none() {
            self.dst = Some(Prefix {
                len: header.dst_len,
                ..family.everything()
            });
        }
        if let Some(hidden) = &mut self.encap {
            hidden.resolve(encap)?;
        }
        Ok(true)
    }

    /// Decodes `struct rta_cacheinfo`: reference count, last use, expiry, error and use count. Times are in hundredths
    /// of a second; 0 means unknown.
    fn take_moments(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        let bytes = attribute.array::<20>()?;
        let mut words = bytes.as_chunks().0.iter().copied().map(u32::from_ne_bytes);
        let mut next = || words.next().filter(|number| *number != 0);
        self.users = next();
        self.age = next().map(|moment| moment / 100);
        self.expires = next().map(|left| left.cast_signed().max(0).cast_unsigned() / 100);
        self.error = next();
        self.used = next();
        Ok(())
    }
}

/// Splits flags into those of a route and those of a lookup result, which uses the upper half.
#[inline]
fn flags(flags: u32) -> (RouteFlags, Option<RouteCacheFlags>) {
    if flags & RTM_F_CLONED == 0 {
        return (RouteFlags(flags), None);
    }
    let of_route = RouteFlags(flags & 0xffff & !RTM_F_CLONED);
    (of_route, Some(RouteCacheFlags(flags & !0xffff)))
}

/// Decodes a prefix in place. Each family is assigned directly, which avoids a copy.
#[inline]
fn read_prefix(
    place: &mut Option<Prefix>,
    family: Family,
    len: u8,
    attribute: Attribute<'_>,
) -> Result<(), Malformed> {
    if family == Family::V4 {
        let ip = IpAddr::V4(attribute.array::<4>()?.into());
        *place = Some(Prefix { ip, len });
    } else {
        let ip = IpAddr::V6(attribute.array::<16>()?.into());
        *place = Some(Prefix { ip, len });
    }
    Ok(())
}

/// The default metric of IPv6 routes (include/uapi/linux/ipv6_route.h).
const IP6_RT_PRIO_USER: u32 = 1024;

/// Identifies a route: the kernel replaces a route by one with the same key.
///
/// [`append`](crate::Netlink::append) creates several routes with the same key. A watch knows one of them, except
/// for next hops of IPv6, which form one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RouteKey {
    /// Its table.
    pub table: RouteTable,
    /// Its destination.
    pub dst: Prefix,
    /// The source network to which it applies.
    pub src: Option<Prefix>,
    /// The type of service to which it applies; 0 is any.
    pub tos: DsField,
    /// Its metric; 0 is preferred.
    pub metric: u32,
    /// The link of a route without a next hop, if routes of several links can coexist: all in IPv6, those of the
    /// kernel in IPv4.
    pub dev: Option<IfIndex>,
}

impl Route {
    /// Its key; `None` without a destination.
    pub fn route_key(&self) -> Option<RouteKey> {
        let dst = self.destination()?;
        let has_hop = self.gateway.is_some() || self.nexthops.is_some() || self.nhid.is_some();
        let is_beside = dst.family() == Family::V6 || self.protocol == Some(RouteProtocol::Kernel);
        Some(RouteKey {
            table: self.table.unwrap_or(RouteTable::Main),
            dst,
            src: self.src,
            tos: self.tos.unwrap_or_default(),
            metric: match self.metric.unwrap_or_default() {
                0 if dst.family() == Family::V6 => IP6_RT_PRIO_USER,
                metric => metric,
            },
            dev: self.dev.filter(|_| is_beside && !has_hop),
        })
    }
}

/// Maximum size of the next hops in bytes. An attribute has at most 65,535 bytes.
const MAX_HOP_BYTES: usize = 60_000;

impl Object for Route {
    type Key = RouteKey;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWROUTE);
    const HEADER_BYTES: usize = RouteHeader::BYTES;

    /// Includes links, addresses and nexthops: the kernel does not report IPv4 routes that are deleted with them.
    const GROUPS: &'static [u32] = &[
        RTNLGRP_IPV4_ROUTE,
        RTNLGRP_IPV6_ROUTE,
        RTNLGRP_LINK,
        RTNLGRP_IPV4_IFADDR,
        RTNLGRP_NEXTHOP,
    ];

    /// The kernel has a lookup by packet ([`Netlink::lookup`](crate::Netlink::lookup)), but none by key.
    const HAS_GET: bool = false;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        if matches!(verb, Verb::List | Verb::Get) {
            self.encode_list(verb, request);
            return Ok(());
        }
        if self.nhid.is_some() && (self.dev.is_some() || self.nexthops.is_some()) {
            return Object::encode(&self.clone().settable(), verb, request);
        }
        let dst = self.check()?;
        let family = dst.family();
        let (table, table_attribute) = self.table_for(verb);
        let header = RouteHeader {
            family: family.into(),
            dst_len: dst.len,
            src_len: self.src.map_or(0, |src| src.len),
            tos: self.tos.unwrap_or_default().0,
            table,
            protocol: self.protocol_for(verb).into(),
            scope: self.scope_for(verb, family).into(),
            kind: self.kind_for(verb).into(),
            flags: self.flag_bits().0,
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
        AttributeSet::encode_attributes(self, request);
        Ok(())
    }

    #[inline]
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        self.fill(body)
    }

    fn key(&self) -> Option<RouteKey> {
        self.route_key()
    }

    fn check_key(&self) -> Result<(), InvalidRequest> {
        self.given_destination().map(|_| ())
    }

    /// The kernel reports the next hops of a nexthop object and rejects them in requests.
    fn settable(mut self) -> Self {
        self.remove_reported();
        if self.nhid.is_none() {
            return self;
        }
        without!(self, gateway, via, dev, nexthops, encap)
    }

    fn target(&self) -> RequestTarget {
        self.destination()
            .map_or(RequestTarget::Routes, RequestTarget::Route)
    }

    fn matchers(&self) -> Vec<FieldMatcher<Self>> {
        AttributeSet::field_matchers(self)
    }

    fn is_filtered_by_kernel(&self) -> bool {
        // The kernel ignores a filter value of 0, and matches a link against any next hop.
        let Self {
            kind,
            family,
            table,
            protocol,
            ..
        } = *self;
        let kernel_filter = Self {
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
        *self == kernel_filter && family.is_some() && !numbers.contains(&Some(0))
    }

    /// A routing table does not exist before its first route.
    fn means_empty_list(refusal: &KernelError) -> bool {
        refusal.source.kind() == std::io::ErrorKind::NotFound
    }

    /// Ages and counters may differ.
    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                expires: self.expires,
                users: self.users,
                used: self.used,
                age: self.age,
                ..other.clone()
            }
    }

    /// The kernel may have deleted one of several next hops, or one of several routes with the same key.
    fn may_survive(&self, gone: &Self) -> bool {
        (self.gateway, self.via, self.dev) != (gone.gateway, gone.via, gone.dev)
            || self.nexthops != gone.nexthops
    }

    /// Routes are deleted with links, addresses and nexthop objects, and when a link goes down
    /// (`fib_sync_down_dev`, `fib_sync_down_addr`, net/ipv4/fib\_semantics.c). They are `linkdown` while their
    /// link has no carrier: the kernel reports the carrier, with nothing in `ifi_change`
    /// (`netdev_state_change`, net/core/dev.c), and not the routes.
    fn requires_relist(message: Message<'_>) -> bool {
        match message.kind {
            RTM_DELLINK | RTM_DELADDR | RTM_DELNEXTHOP => true,
            // `ifi_flags` and `ifi_change` of `struct ifinfomsg`.
            RTM_NEWLINK => match message.body.get(8..16) {
                Some([f0, f1, f2, f3, c0, c1, c2, c3]) => {
                    let flags = u32::from_ne_bytes([*f0, *f1, *f2, *f3]);
                    let change = u32::from_ne_bytes([*c0, *c1, *c2, *c3]);
                    change == 0 || change & !flags & IFF_UP != 0
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn reduced_to(mut self, to: &Self) -> Self {
        let (dst, family, table) = (self.dst, self.family, self.table);
        let (src, tos, metric) = (self.src, self.tos, self.metric);
        AttributeSet::retain_fields(&mut self, to);
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
}

/// Appends the address of `prefix`.
pub(crate) fn put_ip(kind: u16, prefix: Prefix, request: &mut Request) {
    match prefix.ip {
        IpAddr::V4(ip) => request.attribute(kind, &ip.octets()),
        IpAddr::V6(ip) => request.attribute(kind, &ip.octets()),
    }
}

impl Route {
    /// Encodes a list request. The kernel filters by table, protocol, type and link.
    fn encode_list(&self, verb: Verb, request: &mut Request) {
        let header = RouteHeader {
            family: self.family_said().map_or(0, u8::from),
            protocol: self.protocol.map_or(0, u8::from),
            kind: self.kind.map_or(0, u8::from),
            ..RouteHeader::default()
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

    fn given_destination(&self) -> Result<Prefix, InvalidRequest> {
        self.destination()
            .ok_or_else(|| InvalidRequest::new("no destination is given"))
    }

    /// The destination, if the request is valid.
    fn check(&self) -> Result<Prefix, InvalidRequest> {
        let dst = self.given_destination()?;
        let family = dst.family();
        reject_if!(
            self.family.is_some_and(|said| said != family),
            "destination {dst} does not belong to the given family"
        );
        reject_if!(
            dst.len > family.bits(),
            "the prefix length of {family} is at most {}",
            family.bits()
        );
        let is_strange = |ip: &IpAddr| Family::of(*ip) != family;
        let strange = |ip: Option<IpAddr>| ip.filter(is_strange);
        let hops = self.nexthops.as_deref().unwrap_or_default();
        let of_hops = || hops.iter().find_map(|hop| strange(hop.gateway));
        let stranger = strange(self.gateway).or_else(|| strange(self.prefsrc));
        if let Some(ip) = stranger.or_else(of_hops) {
            return Err(InvalidRequest::new(format!(
                "{ip} and destination {dst} belong to different families"
            )));
        }
        reject_if!(
            self.src
                .is_some_and(|src| src.family() != family || src.len > family.bits()),
            "the source and destination {dst} belong to different families"
        );
        reject_if!(
            hops.iter().any(|hop| !(1..=256).contains(&hop.share())),
            "the weight of a next hop must be between 1 and 256"
        );
        reject_if!(
            hops.iter().map(Hop::max_encoded_bytes).sum::<usize>() > MAX_HOP_BYTES,
            "too many next hops for one message"
        );
        Ok(dst)
    }

    /// The default table, as in `ip route`: local routes belong to the local table.
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

    /// The default scope, as in `ip route`: a route without a next hop has link scope.
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
