use std::net::IpAddr;

use super::header::Header;
use super::hop::Hops;
use super::{
    Encap, EncapCode, Hop, Metrics, Realms, RouteCacheFlags, RouteFlags, RoutePreference,
    RouteProtocol, RouteTable, RouteType, Via,
};
use crate::addr::Scope;
use crate::codec::{Attribute, Malformed, attributes as read_attributes};
use crate::interface::IfIndex;
use crate::prefix::{Family, Prefix};
use crate::table::{Boxed, Code, Native, Table, attributes};
use crate::uapi::{
    AF_INET, AF_INET6, RTA_CACHEINFO, RTA_DST, RTA_ENCAP_TYPE, RTA_GATEWAY, RTA_OIF, RTA_PRIORITY,
    RTA_SRC, RTA_TABLE, RTM_F_CLONED,
};

attributes! {
    /// A route: what is wanted of one, or what the kernel told of one.
    ///
    /// What is not given, or was not told, is `None`. A new one is, where nothing else is said, in the main
    /// table, of type unicast, made by `boot`, as `ip route` has it. A removal takes the first route that is
    /// as given and leaves open what is not: one with nothing but a destination removes any route there.
    ///
    /// # Source
    /// `rtm_to_fib_config` and `fib_table_delete`, net/ipv4; `rtm_to_fib6_config` and `ip6_route_del`,
    /// net/ipv6/route.c.
    pub struct Route {
        @header {
            /// What becomes of packets.
            #[serde(rename = "type")]
            kind: RouteType;
            /// Its family; that of the destination if not said.
            family: Family;
            /// Where it leads.
            dst: Prefix;
            /// Where packets come from that it is for; IPv6 only.
            #[serde(rename = "from")]
            "from" src: Prefix;
            /// Type of service of packets that it is for.
            "tos" tos: u8;
            /// Its table.
            "table" table: RouteTable;
            /// Who has made it.
            "proto" protocol: RouteProtocol;
            /// How far away the destination is; IPv4 only.
            "scope" scope: Scope;
            /// The next hop is reached on the link whatever the addresses there.
            onlink: bool;
            /// What the kernel tells beside. Told only.
            flags: RouteFlags;
            /// What it tells of the answer to a look-up in IPv4. Told only.
            cache: RouteCacheFlags;
            /// How many refer to it. Told by look-ups only.
            users: u32;
            /// How often it has been used. Told by look-ups only.
            used: u32;
            /// Seconds since it was last used. Told by look-ups only.
            age: u32;
            /// The error that senders get, negative, of 32 bits. Told by look-ups only.
            error: u32;
        }
        /// The next hop, where it is of the route's family.
        gateway: IpAddr = RTA_GATEWAY;
        /// The next hop, where it is of another family: IPv4 by way of IPv6.
        via: Via = RTA_VIA;
        /// The link that packets leave by.
        "dev" dev: IfIndex = RTA_OIF;
        /// The nexthop object that says where packets go.
        "nhid" nhid: u32 = RTA_NH_ID;
        /// Which of several routes to the same destination is best: the least.
        "metric" metric: u32 = RTA_PRIORITY;
        /// The source address of packets that have none yet.
        "src" prefsrc: IpAddr = RTA_PREFSRC;
        /// What TCP and IP assume of the way.
        #[serde(with = "super::metrics::in_a_list")]
        metrics: Box<Metrics> as Boxed = RTA_METRICS;
        /// What is put around each packet.
        encap: Box<Encap> as EncapCode = RTA_ENCAP;
        /// Which of several routers is preferred; IPv6 only.
        "pref" pref: RoutePreference = RTA_PREF;
        /// Seconds until it is removed; IPv6 only.
        "expires" expires: u32 = RTA_EXPIRES;
        /// Several next hops, which share the traffic.
        nexthops: Vec<Hop> as Hops = RTA_MULTIPATH;
        /// The link a packet came by. Told by look-ups only.
        iif: IfIndex = RTA_IIF;
        /// Its realms, by which traffic is counted; IPv4 only.
        #[serde(rename = "flow")]
        "realms" | "realm" realms: Realms = RTA_FLOW;
        /// The mark of a packet. Told by look-ups only.
        mark: u32 = RTA_MARK;
        /// The user a packet was of. Told by look-ups only.
        uid: u32 = RTA_UID;
    }
}

impl Route {
    /// A route to `dst`.
    pub fn to(dst: Prefix) -> Self {
        Self::new().dst(dst)
    }

    /// It leads to this host itself.
    #[doc(alias = "RTN_LOCAL")]
    pub fn is_local(&self) -> bool {
        self.kind == Some(RouteType::Local)
    }

    /// The family it is of, as far as that follows from what is given: a destination that is everything may be
    /// read as IPv4 while the next hop shows that IPv6 is meant.
    pub(super) fn family_said(&self) -> Option<Family> {
        self.family.or_else(|| self.dst.map(Prefix::family))
    }

    /// The destination, of the route's family where it is everything.
    pub(super) fn destination(&self) -> Option<Prefix> {
        match (self.dst, self.family) {
            (Some(dst), Some(family)) if dst.is_everything() => Some(family.everything()),
            (dst, _) => dst,
        }
    }

    /// Reads the body of a message about a route; false for a family other than IPv4 and IPv6.
    ///
    /// # Source
    /// `fib_dump_info`, net/ipv4/fib\_semantics.c; `rt6_fill_node`, net/ipv6/route.c.
    #[inline]
    pub(super) fn fill(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        self.clear();
        let (header, rest) = Header::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        let family = Family::from(header.family);
        let (flags, cache) = flags(header.flags);
        self.kind = Some(header.kind.into());
        self.family = Some(family);
        self.tos = (header.tos != 0).then_some(header.tos);
        self.protocol = Some(header.protocol.into());
        self.scope = Some(header.scope.into());
        self.flags = Some(flags);
        self.cache = cache.filter(|_| family == Family::V4);
        self.onlink = flags.has(RouteFlags::ONLINK).then_some(true);
        let mut encap = 0;
        let mut attributes = read_attributes(rest, Header::BYTES);
        while let Some(attribute) = attributes.next_whole() {
            match attribute.kind {
                RTA_TABLE => self.table = Some(attribute.u32()?.into()),
                RTA_DST => read_prefix(&mut self.dst, family, header.dst_len, attribute)?,
                // As the table has them; here since nearly every route has them.
                RTA_GATEWAY => Native::take_into(&mut self.gateway, attribute)?,
                RTA_OIF => Native::take_into(&mut self.dev, attribute)?,
                RTA_PRIORITY => Native::take_into(&mut self.metric, attribute)?,
                RTA_SRC => read_prefix(&mut self.src, family, header.src_len, attribute)?,
                RTA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                RTA_CACHEINFO => self.take_moments(attribute)?,
                _ => self.take(attribute)?,
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

    /// Reads `struct rta_cacheinfo`: references, the last use, what is left, the error and uses; times in hundredths
    /// of a second, and 0 for what there is nothing to tell of.
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

/// The flags of a route, and those of the answer to a look-up, which has others in the upper half.
#[inline]
fn flags(flags: u32) -> (RouteFlags, Option<RouteCacheFlags>) {
    if flags & RTM_F_CLONED == 0 {
        return (RouteFlags(flags), None);
    }
    let of_route = RouteFlags(flags & 0xffff & !RTM_F_CLONED);
    (of_route, Some(RouteCacheFlags(flags & !0xffff)))
}

/// Reads a network into its place; each family by itself, as one of either would be put together elsewhere and
/// then moved.
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
