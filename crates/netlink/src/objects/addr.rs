//! IP addresses of interfaces.

use crate::header::AddrHeader;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::error::{InvalidRequest, NetlinkError, RequestTarget, reject_if};
use crate::netlink::Netlink;
use crate::object::Object;
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeType, InvalidValue, NameLookup, Native,
    Parsed, TextValue, attribute_set, c_number, field_values, number_enum, parse_ip,
    text_field_values, text_form,
};
use crate::socket::Listing;
use crate::uapi::{
    AF_INET, AF_INET6, AF_UNSPEC, IFA_CACHEINFO, IFA_F_HOMEADDRESS, IFA_F_MANAGETEMPADDR,
    IFA_F_MCAUTOJOIN, IFA_F_NODAD, IFA_F_NOPREFIXROUTE, IFA_F_OPTIMISTIC, IFA_FLAGS, RTM_NEWADDR,
    RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
};
use crate::values::interface::IfIndex;
use crate::values::prefix::{Family, Prefix};
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// An IP address of an interface: the desired state, or the state that the kernel reported.
    ///
    /// Equals `ip address add LOCAL/PREFIXLEN [peer PEER] dev DEV …`. Fields that are not given or not reported
    /// are `None`. `dev`, `local`, `prefixlen` and `peer` are the key. Changing an address that does not exist
    /// creates it; flags and lifetimes that are not given are then cleared.
    ///
    /// # Source
    /// `rtm_to_ifaddr`, net/ipv4/devinet.c; `inet6_rtm_newaddr`, net/ipv6/addrconf.c.
    pub struct Addr {
        @header {
            /// Its interface.
            "dev" dev: IfIndex;
            /// Its family. Derived from `local` in changes; a filter in queries.
            family: Family;
            /// Prefix length. Default: all bits. With a peer it is the prefix length of the peer.
            prefixlen: u8;
            /// Its scope; IPv4 only. The scope of an IPv6 address follows from the address.
            "scope" scope: Scope;
            /// Valid lifetime.
            "valid_lft" valid_life_time: Lifetime, 1 per second;
            /// Preferred lifetime: how long new connections use it. At most the valid lifetime.
            "preferred_lft" preferred_life_time: Lifetime, 1 per second;
        }
        @flags {
            /// No duplicate address detection; IPv6.
            "nodad" nodad = IFA_F_NODAD;
            /// Usable during duplicate address detection; IPv6.
            "optimistic" optimistic = IFA_F_OPTIMISTIC;
            /// The home address of a mobile host (RFC 6275); IPv6.
            "home" home = IFA_F_HOMEADDRESS;
            /// A template of temporary addresses (RFC 8981); IPv6, prefix of 64 bits.
            "mngtmpaddr" mngtmpaddr = IFA_F_MANAGETEMPADDR;
            /// No route to its prefix.
            "noprefixroute" noprefixroute = IFA_F_NOPREFIXROUTE;
            /// The interface joins this multicast group.
            "autojoin" autojoin = IFA_F_MCAUTOJOIN;
            /// It has a finite lifetime; read-only.
            dynamic @reported = IFA_F_PERMANENT, inverse;
            /// Its preferred lifetime has expired: new connections do not use it. Read-only.
            deprecated @reported = IFA_F_DEPRECATED;
            /// Duplicate address detection is in progress: it cannot be a source address yet. Read-only.
            tentative @reported = IFA_F_TENTATIVE;
            /// Another host uses it. Read-only.
            dadfailed @reported = IFA_F_DADFAILED;
            /// It is not the first address of its network; IPv4; read-only.
            secondary @reported = IFA_F_SECONDARY;
            /// A temporary privacy address (RFC 8981); IPv6; read-only.
            temporary @reported = IFA_F_TEMPORARY;
            /// Generated from the prefix and a secret (RFC 7217); IPv6; read-only.
            #[serde(rename = "stable-privacy")]
            stable_privacy @reported = IFA_F_STABLE_PRIVACY;
        }
        @parts {
            IFA_CACHEINFO: AttributeType::Bytes;
            IFA_FLAGS: AttributeType::Number;
        }
        @own parse_special_keyword;
        /// The interface's own address.
        local: IpAddr = IFA_LOCAL;
        /// The peer address; the prefix then belongs to the peer.
        #[serde(rename = "address")]
        peer: IpAddr = IFA_ADDRESS;
        /// The broadcast address; IPv4. `+` and `-` stand for the prefix followed by ones and by zeros.
        "broadcast" | "brd" broadcast: Broadcast = IFA_BROADCAST;
        /// The anycast address; read-only.
        anycast @reported: IpAddr = IFA_ANYCAST;
        /// A label that begins with the name of the interface, at most 15 bytes; IPv4.
        "label" label: String = IFA_LABEL;
        /// Metric of the route to its prefix.
        "metric" | "priority" | "preference" metric: u32 = IFA_RT_PRIORITY;
        /// Origin.
        "proto" protocol: AddrProtocol = IFA_PROTO;
    }
}

number_enum! {
    /// The origin of an address.
    ///
    /// # Kernel
    /// Linux 5.18.
    pub enum AddrProtocol: u8 {
        Unspecified = IFAPROT_UNSPEC, "unspec";
        KernelLoopback = IFAPROT_KERNEL_LO, "kernel_lo";
        /// The kernel, from a router advertisement.
        KernelRouter = IFAPROT_KERNEL_RA, "kernel_ra";
        KernelLinkLocal = IFAPROT_KERNEL_LL, "kernel_ll";
    }
}

impl Addr {
    /// The address `local` of interface `dev`.
    pub fn on(dev: IfIndex, local: Prefix) -> Self {
        let Prefix { ip, len } = local;
        Self::new().dev(dev).local(ip).prefixlen(len)
    }

    /// Its interface; 0 if none is given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }

    /// The address with its prefix length, if both are given.
    pub fn prefix(&self) -> Option<Prefix> {
        Some(Prefix::new(self.local?, self.prefixlen?))
    }

    /// Whether duplicate address detection is in progress: it cannot be a source address yet.
    #[doc(alias = "IFA_F_TENTATIVE")]
    pub fn is_tentative(&self) -> bool {
        self.tentative == Some(true)
    }
}

number_enum! {
    /// The scope of an address, or the distance to the destination of a route (`RT_SCOPE_*`).
    pub enum Scope: u8 as Scope {
        /// Everywhere.
        Global = RT_SCOPE_UNIVERSE, "global";
        /// Within the site.
        Site = RT_SCOPE_SITE, "site";
        Link = RT_SCOPE_LINK, "link";
        Host = RT_SCOPE_HOST, "host";
        Nowhere = RT_SCOPE_NOWHERE, "nowhere";
    }
}

/// A lifetime in seconds; `u32::MAX` is infinite.
#[doc(alias = "INFINITY_LIFE_TIME")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lifetime(pub u32);

impl Lifetime {
    /// Infinite.
    pub const FOREVER: Self = Self(u32::MAX);
}

field_values! {
    Lifetime: Unsigned(4), |it| it.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

impl fmt::Display for Lifetime {
    /// `forever`, or seconds: `100sec`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FOREVER => f.pad("forever"),
            Self(seconds) => f.pad(&format!("{seconds}sec")),
        }
    }
}

impl TextValue for Lifetime {
    /// `forever`, or seconds with or without their unit.
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        match text {
            "forever" => Some(Self::FOREVER),
            _ => c_number(text.strip_suffix("sec").unwrap_or(text)).map(Self),
        }
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.to_string()
    }
}

/// The broadcast address of an IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Broadcast {
    /// This address. The kernel always reports one.
    At(Ipv4Addr),
    /// The prefix followed by ones (`brd +`).
    Ones,
    /// The prefix followed by zeros (`brd -`).
    Zeros,
}

impl Broadcast {
    /// The broadcast address of the network of `local`.
    pub fn of(self, local: Ipv4Addr, prefix_len: u8) -> Ipv4Addr {
        let hosts = u32::MAX.checked_shr(prefix_len.into()).unwrap_or(0);
        match self {
            Self::At(ip) => ip,
            Self::Ones => Ipv4Addr::from_bits(local.to_bits() | hosts),
            Self::Zeros => Ipv4Addr::from_bits(local.to_bits() & !hosts),
        }
    }
}

impl fmt::Display for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(ip) => ip.fmt(f),
            Self::Ones => f.pad("+"),
            Self::Zeros => f.pad("-"),
        }
    }
}

impl FromStr for Broadcast {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "+" => Ok(Self::Ones),
            "-" => Ok(Self::Zeros),
            _ => match parse_ip(text) {
                Some(IpAddr::V4(ip)) => Ok(Self::At(ip)),
                _ => Err(InvalidValue::new("broadcast", Some(text))),
            },
        }
    }
}

text_form!(Broadcast);
text_field_values!(Broadcast);

impl AttributeCodec<Broadcast> for Native {
    const TYPE: AttributeType = AttributeType::Ip;

    /// Encodes an address only; the other variants are resolved before.
    fn encode(value: &Broadcast, kind: u16, request: &mut Request) {
        if let Broadcast::At(ip) = value {
            request.attribute(kind, &ip.octets());
        }
    }

    fn decode(attribute: Attribute<'_>) -> Result<Broadcast, Malformed> {
        attribute.array::<4>().map(|ip| Broadcast::At(ip.into()))
    }
}

impl Addr {
    /// Parses `local IP/LENGTH`, whose keyword is optional, and `peer IP/LENGTH`.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        match keyword {
            "local" => {
                let local: String = args.value(keyword)?;
                self.parse_local(&local)?;
            }
            "peer" | "remote" => {
                let peer: Prefix = args.value(keyword)?;
                self.peer = Some(peer.ip);
                // As in ip(8), 0 means all bits.
                self.prefixlen = Some(peer.len).filter(|len| *len > 0);
            }
            _ if self.local.is_none()
                && (keyword.contains(['.', ':', '/']) || parse_ip(keyword).is_some()) =>
            {
                self.parse_local(keyword)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Keeps the prefix length of a peer that was given before. Without a length, deletion matches any length.
    fn parse_local(&mut self, text: &str) -> Parsed<()> {
        let local: Prefix = text
            .parse()
            .map_err(|_| InvalidValue::new("an address", Some(text)))?;
        self.local = Some(local.ip);
        if self.peer.is_none() && text.contains('/') {
            self.prefixlen = Some(local.len);
        }
        Ok(())
    }

    /// Appends the attributes that hold several fields.
    fn put_parts(&self, request: &mut Request) {
        let (on, given) = self.flag_bits();
        if given & SETTABLE_FLAGS != 0 {
            request.u32(IFA_FLAGS, on & SETTABLE_FLAGS);
        }
        if self.valid_life_time.is_some() || self.preferred_life_time.is_some() {
            let valid = self.valid_life_time.unwrap_or(Lifetime::FOREVER);
            let preferred = self.preferred_life_time.unwrap_or(valid);
            // `struct ifa_cacheinfo`; its last two fields are read-only.
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&preferred.0.to_ne_bytes());
            bytes[4..8].copy_from_slice(&valid.0.to_ne_bytes());
            request.attribute(IFA_CACHEINFO, &bytes);
        }
    }

    fn take_lifetimes(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        let [p0, p1, p2, p3, v0, v1, v2, v3] = attribute.array()?;
        self.preferred_life_time = Some(Lifetime(u32::from_ne_bytes([p0, p1, p2, p3])));
        self.valid_life_time = Some(Lifetime(u32::from_ne_bytes([v0, v1, v2, v3])));
        Ok(())
    }
}

/// Flags that apply to both families.
const COMMON_FLAGS: u32 = IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN;
/// Flags of IPv6 that a request can have.
const IPV6_FLAGS: u32 = IFA_F_NODAD | IFA_F_OPTIMISTIC | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR;
const SETTABLE_FLAGS: u32 = COMMON_FLAGS | IPV6_FLAGS;

/// Maximum length of a label in bytes.
const MAX_LABEL: usize = 15;

impl Object for Addr {
    /// Interface, address, prefix length, peer.
    type Key = (IfIndex, IpAddr, u8, Option<IpAddr>);

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWADDR);
    const HEADER_BYTES: usize = AddrHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR];
    const HAS_GET: bool = false;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let kind = Self::MESSAGES.of(verb);
        match verb {
            Verb::Append | Verb::Prepend => {
                return Err(InvalidRequest::new("an address cannot be appended; add it"));
            }
            Verb::Get | Verb::List => {
                let header = AddrHeader {
                    family: self.query_family(),
                    index: self.ifindex().0,
                    ..AddrHeader::default()
                };
                request.begin(kind, verb.flags(), &header.emit());
                return Ok(());
            }
            _ => {}
        }
        let (local, prefix_len) = self.validate()?;
        let header = AddrHeader {
            family: Family::of(local).into(),
            prefix_len,
            scope: self.scope.unwrap_or_else(|| default_scope(local)).into(),
            index: self.ifindex().0,
            flags: 0,
        };
        request.begin(kind, verb.flags(), &header.emit());
        if verb == Verb::Del {
            AttributeSet::encode_attributes(&self.key_only(local), request);
            return Ok(());
        }
        self.put_parts(request);
        AttributeSet::encode_attributes(&self.resolved(local, prefix_len), request);
        Ok(())
    }

    /// False for families other than IPv4 and IPv6.
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = AddrHeader::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        self.clear();
        self.dev = Some(IfIndex(header.index));
        self.family = Some(Family::from(header.family));
        self.prefixlen = Some(header.prefix_len);
        self.scope = Some(header.scope.into());
        let mut flags = u32::from(header.flags);
        for attribute in attributes(rest, AddrHeader::BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                IFA_FLAGS => flags = attribute.u32()?,
                IFA_CACHEINFO => self.take_lifetimes(attribute)?,
                _ => self.decode_attribute(attribute)?,
            }
        }
        self.set_flag_bits(flags, u32::MAX);
        // The bit has another meaning in each family.
        if header.family == AF_INET {
            self.temporary = None;
        } else {
            self.secondary = None;
        }
        // IFA_ADDRESS is the peer address, or repeats the local one if there is no peer.
        self.local = self.local.or(self.peer);
        self.peer = self.peer.filter(|peer| Some(*peer) != self.local);
        Ok(true)
    }

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.local?, self.prefixlen?, self.peer))
    }

    fn check_key(&self) -> Result<(), InvalidRequest> {
        self.given_address().map(|_| ())
    }

    fn matches(&self, wanted: &Self) -> bool {
        match (wanted.broadcast, self.local, self.prefixlen) {
            (Some(broadcast), Some(IpAddr::V4(local)), Some(prefix_len)) => {
                let wanted = Self {
                    broadcast: Some(Broadcast::At(broadcast.of(local, prefix_len))),
                    ..wanted.clone()
                };
                AttributeSet::fields_match(self, &wanted)
            }
            _ => AttributeSet::fields_match(self, wanted),
        }
    }

    fn target(&self) -> RequestTarget {
        match self.local {
            Some(local) => RequestTarget::Address(local, self.ifindex()),
            None => RequestTarget::Addresses,
        }
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                valid_life_time: self.valid_life_time,
                preferred_life_time: self.preferred_life_time,
                ..other.clone()
            }
    }

    /// All of it: a change clears the flags and lifetimes that it does not give.
    fn reduced_to(self, _: &Self) -> Self {
        self.settable()
    }
}

impl Addr {
    /// The family to query.
    fn query_family(&self) -> u8 {
        let family = self.family.or_else(|| self.local.map(Family::of));
        family.map_or(AF_UNSPEC, Into::into)
    }

    fn given_address(&self) -> Result<IpAddr, InvalidRequest> {
        self.local
            .ok_or_else(|| InvalidRequest::new("no address is given"))
    }

    /// The address and its prefix length, if the request is valid.
    fn validate(&self) -> Result<(IpAddr, u8), InvalidRequest> {
        let local = self.given_address()?;
        reject_if!(
            self.ifindex() == IfIndex(0),
            "no interface is given for the address"
        );
        let family = Family::of(local);
        reject_if!(
            self.family.is_some_and(|given| given != family),
            "{local} does not belong to the given family"
        );
        if let Some(peer) = self.peer.filter(|peer| Family::of(*peer) != family) {
            return Err(InvalidRequest::new(format!(
                "the peer {peer} and the address {local} belong to different families"
            )));
        }
        let bits = if local.is_ipv4() { 32 } else { 128 };
        let prefix_len = self.prefixlen.unwrap_or(bits);
        reject_if!(
            prefix_len > bits,
            "prefix length {prefix_len} is too long for {local}"
        );
        self.check_family(local)?;
        Ok((local, prefix_len))
    }

    /// Rejects fields of the other family, which the kernel would ignore.
    fn check_family(&self, local: IpAddr) -> Result<(), InvalidRequest> {
        reject_if!(
            local.is_ipv4() && self.flag_bits().0 & IPV6_FLAGS != 0,
            "nodad, optimistic, home and mngtmpaddr apply to IPv6 addresses only"
        );
        reject_if!(
            local.is_ipv6() && (self.label.is_some() || self.broadcast.is_some()),
            "label and broadcast apply to IPv4 addresses only"
        );
        match &self.label {
            Some(label) if label.len() > MAX_LABEL => Err(InvalidRequest::new(format!(
                "the label {label:?} is longer than {MAX_LABEL} bytes"
            ))),
            _ => Ok(()),
        }
    }

    /// The fields to encode, with derived values filled in.
    fn resolved(&self, local: IpAddr, prefix_len: u8) -> Self {
        let broadcast = match (self.broadcast, local) {
            (Some(Broadcast::At(ip)), _) => Some(Broadcast::At(ip)),
            // As in ip(8): networks of two addresses and of one have none.
            (Some(broadcast), IpAddr::V4(local)) if prefix_len <= 30 => {
                let peer = self.peer.and_then(ipv4);
                let ip = broadcast.of(peer.unwrap_or(local), prefix_len);
                Some(Broadcast::At(ip))
            }
            _ => None,
        };
        Self {
            peer: self.peer.or(self.local),
            broadcast,
            ..self.clone()
        }
    }

    /// Only the fields of the key. An IPv4 address without a prefix length matches any prefix length.
    fn key_only(&self, local: IpAddr) -> Self {
        let any = local.is_ipv4() && self.prefixlen.is_none();
        Self {
            local: self.local,
            peer: self
                .peer
                .or(self.local)
                .filter(|_| !any || self.peer.is_some()),
            label: self.label.clone(),
            ..Self::default()
        }
    }
}

fn ipv4(ip: IpAddr) -> Option<Ipv4Addr> {
    match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

/// The default scope of an address, as in `ip(8)`.
fn default_scope(local: IpAddr) -> Scope {
    match local {
        IpAddr::V4(ip) if ip.is_loopback() => Scope::Host,
        _ => Scope::Global,
    }
}

impl Netlink {
    /// All IPv4 and IPv6 addresses of the namespace. Equals `ip address show`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn addresses(&mut self) -> Result<Listing<Addr>, NetlinkError> {
        self.list(&Addr::new())
    }
}
