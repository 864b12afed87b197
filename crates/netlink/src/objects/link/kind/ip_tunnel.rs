//! IP tunnels without a GRE header: ipip, sit and ip6tnl.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::kinds::KindSettings;
use super::{EncapFlags, EncapPort, Tos, Ttl, TunnelEncap};
use crate::schema::{
    Arguments, BigEndian, BitField, Flag, InvalidValue, NonZero, Parsed, attribute_set,
    field_values, fixed_size, number_enum, switches,
};
use crate::values::interface::IfIndex;

/// The [`Ipv6TunnelFields`] of a tunnel.
macro_rules! ipv6_tunnel_fields {
    ($tunnel:expr) => {
        crate::objects::link::kind::ip_tunnel::Ipv6TunnelFields {
            encap_limit: &mut $tunnel.encap_limit,
            flowinfo: &mut $tunnel.flowinfo,
            flags: &mut $tunnel.flags,
            fwmark: &mut $tunnel.fwmark,
        }
    };
}
pub(super) use ipv6_tunnel_fields;

attribute_set! {
    /// IP in IPv4 (RFC 2003).
    ///
    /// Equals `ip link add NAME type ipip remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ipip_policy` and `ipip_netlink_parms`, net/ipv4/ipip.c.
    pub struct Ipip {
        /// The remote address; `0.0.0.0` for any.
        "remote" remote: Ipv4Addr = IFLA_IPTUN_REMOTE;
        "local" local: Ipv4Addr = IFLA_IPTUN_LOCAL;
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_IPTUN_LINK;
        /// TTL of outer packets.
        "ttl" | "hoplimit" | "hlim" ttl: Ttl = IFLA_IPTUN_TTL;
        /// Type of service of outer packets.
        "tos" | "dsfield" | "tclass" | "tc" tos: Tos = IFLA_IPTUN_TOS;
        /// The don't-fragment bit of outer packets.
        "pmtudisc" pmtudisc: bool = IFLA_IPTUN_PMTUDISC;
        /// The encapsulated protocol.
        "mode" proto: IpipMode = IFLA_IPTUN_PROTO;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool as Flag = IFLA_IPTUN_COLLECT_METADATA;
        /// The encapsulation after the outer IP header.
        "encap" encap: TunnelEncap = IFLA_IPTUN_ENCAP_TYPE;
        encap_flags: EncapFlags as BitField<u16> = IFLA_IPTUN_ENCAP_FLAGS, Flatten;
        "encap-sport" encap_sport: EncapPort as BigEndian = IFLA_IPTUN_ENCAP_SPORT;
        "encap-dport" encap_dport: u16 as BigEndian = IFLA_IPTUN_ENCAP_DPORT;
        /// Firewall mark of outer packets.
        "fwmark" fwmark: u32 = IFLA_IPTUN_FWMARK;
    }
}

impl KindSettings for Ipip {
    fn resets_omitted_fields(&self) -> bool {
        *self != Self::default()
    }
}

number_enum! {
    /// The protocol that an IPv4 tunnel carries.
    pub enum IpipMode: u8 {
        Any = 0, "any";
        /// IPv4.
        Ipip = 4, "ipip";
        /// MPLS.
        Mplsip = 137, "mplsip";
    }
}

attribute_set! {
    /// IPv6 in IPv4 (RFC 4213), 6rd (RFC 5969) and ISATAP (RFC 5214).
    ///
    /// Equals `ip link add NAME type sit remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ipip6_policy` and `ipip6_netlink_parms`, net/ipv6/sit.c.
    pub struct Sit {
        /// The remote address; `0.0.0.0` for any.
        "remote" remote: Ipv4Addr = IFLA_IPTUN_REMOTE;
        "local" local: Ipv4Addr = IFLA_IPTUN_LOCAL;
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_IPTUN_LINK;
        /// TTL of outer packets.
        "ttl" | "hoplimit" | "hlim" ttl: Ttl = IFLA_IPTUN_TTL;
        /// Type of service of outer packets.
        "tos" | "dsfield" | "tclass" | "tc" tos: Tos = IFLA_IPTUN_TOS;
        /// The don't-fragment bit of outer packets.
        "pmtudisc" pmtudisc: bool = IFLA_IPTUN_PMTUDISC;
        /// The encapsulated protocol.
        "mode" proto: SitMode = IFLA_IPTUN_PROTO;
        flags: SitFlags as BitField<u16> = IFLA_IPTUN_FLAGS, Flatten;
        /// The prefix of its 6rd domain.
        sixrd_prefix: Ipv6Addr = IFLA_IPTUN_6RD_PREFIX;
        /// Its length in bits.
        sixrd_prefixlen: u16 = IFLA_IPTUN_6RD_PREFIXLEN;
        /// The common IPv4 prefix of the 6rd domain.
        sixrd_relay_prefix: Ipv4Addr = IFLA_IPTUN_6RD_RELAY_PREFIX;
        /// Its length in bits.
        sixrd_relay_prefixlen: u16 = IFLA_IPTUN_6RD_RELAY_PREFIXLEN;
        /// The encapsulation after the outer IP header.
        "encap" encap: TunnelEncap = IFLA_IPTUN_ENCAP_TYPE;
        encap_flags: EncapFlags as BitField<u16> = IFLA_IPTUN_ENCAP_FLAGS, Flatten;
        "encap-sport" encap_sport: EncapPort as BigEndian = IFLA_IPTUN_ENCAP_SPORT;
        "encap-dport" encap_dport: u16 as BigEndian = IFLA_IPTUN_ENCAP_DPORT;
        /// Firewall mark of outer packets.
        "fwmark" fwmark: u32 = IFLA_IPTUN_FWMARK;
    }
}

impl KindSettings for Sit {
    fn resets_omitted_fields(&self) -> bool {
        *self != Self::default()
    }
}

number_enum! {
    /// The protocol that a sit tunnel carries.
    pub enum SitMode: u8 {
        Any = 0, "any";
        /// IPv4.
        Ipip = 4, "ipip";
        /// IPv6.
        Ip6ip = 41, "ip6ip";
        /// MPLS.
        Mplsip = 137, "mplsip";
    }
}

switches! {
    /// Switches of a sit tunnel.
    pub struct SitFlags {
        /// Whether it is an ISATAP tunnel.
        "isatap" isatap = 0x1;
    }
}

attribute_set! {
    /// IPv4 or IPv6 in IPv6 (RFC 2473).
    ///
    /// Equals `ip link add NAME type ip6tnl mode any remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ip6_tnl_policy` and `ip6_tnl_netlink_parms`, net/ipv6/ip6_tunnel.c.
    pub struct Ip6Tnl {
        /// The encapsulated protocol.
        "mode" proto: Ip6TnlMode = IFLA_IPTUN_PROTO;
        /// The remote address; `::` for any.
        "remote" remote: Ipv6Addr = IFLA_IPTUN_REMOTE;
        "local" local: Ipv6Addr = IFLA_IPTUN_LOCAL;
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_IPTUN_LINK;
        /// TTL of outer packets.
        "hoplimit" | "ttl" | "hlim" ttl: Ttl = IFLA_IPTUN_TTL;
        /// Maximum number of nested tunnels, unless `ignore_encap_limit` is set.
        encap_limit: u8 = IFLA_IPTUN_ENCAP_LIMIT;
        /// Traffic class and flow label of outer packets, as in the IPv6 header.
        flowinfo: FlowInfo as BigEndian = IFLA_IPTUN_FLOWINFO;
        flags: Ip6TunnelFlags as BitField<u32> = IFLA_IPTUN_FLAGS, Flatten;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool as Flag = IFLA_IPTUN_COLLECT_METADATA;
        /// The encapsulation after the outer IP header.
        "encap" encap: TunnelEncap = IFLA_IPTUN_ENCAP_TYPE;
        encap_flags: EncapFlags as BitField<u16> = IFLA_IPTUN_ENCAP_FLAGS, Flatten;
        "encap-sport" encap_sport: EncapPort as BigEndian = IFLA_IPTUN_ENCAP_SPORT;
        "encap-dport" encap_dport: u16 as BigEndian = IFLA_IPTUN_ENCAP_DPORT;
        /// Firewall mark of outer packets.
        fwmark: u32 = IFLA_IPTUN_FWMARK;
    }
}

impl KindSettings for Ip6Tnl {
    fn resets_omitted_fields(&self) -> bool {
        *self != Self::default()
    }

    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        ipv6_tunnel_fields!(self).parse_keyword(word, words)
    }
}

number_enum! {
    /// The protocol that an IPv6 tunnel carries.
    pub enum Ip6TnlMode: u8 {
        Any = 0, "any";
        /// IPv4.
        Ipip6 = 4, "ipip6";
        /// IPv6.
        Ip6ip6 = 41, "ip6ip6";
    }
}

switches! {
    /// Switches of a tunnel over IPv6.
    ///
    /// # Source
    /// `IP6_TNL_F_…`, include/uapi/linux/ip6_tunnel.h.
    pub struct Ip6TunnelFlags {
        /// Whether outer packets carry no encapsulation limit.
        ignore_encap_limit = 0x1;
        /// Whether the traffic class is copied from the inner packet.
        use_orig_tclass = 0x2;
        /// Whether the flow label is copied from the inner packet.
        use_orig_flowlabel = 0x4;
        /// Mobile IPv6.
        "mip6" mip6 = 0x8;
        /// Whether the DSCP of received outer packets is copied to the inner packet.
        rcv_dscp_copy = 0x10;
        /// Whether the firewall mark is copied from the inner packet.
        use_orig_fwmark = 0x20;
        /// Whether the remote address may be local.
        "allow-localremote" allow_local_remote = 0x40;
    }
}

/// Traffic class and flow label, as they stand in an IPv6 header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FlowInfo(pub u32);

impl FlowInfo {
    /// From a traffic class and a flow label of 20 bits.
    pub fn new(traffic_class: u8, flow_label: u32) -> Self {
        Self(u32::from(traffic_class) << 20 | flow_label & 0x000f_ffff)
    }

    /// Its traffic class.
    pub fn traffic_class(self) -> u8 {
        (self.0 >> 20) as u8
    }

    /// Its flow label.
    pub fn flow_label(self) -> u32 {
        self.0 & 0x000f_ffff
    }
}

fixed_size! {
    BigEndian: FlowInfo = BigEndianNumber, |flow| flow.0.to_be_bytes(), |bytes| FlowInfo(u32::from_be_bytes(bytes));
}

field_values! {
    FlowInfo: Unsigned(4), |it| it.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

/// The fields that the special keywords of IPv6 tunnels set.
pub(super) struct Ipv6TunnelFields<'a> {
    pub(super) encap_limit: &'a mut Option<u8>,
    pub(super) flowinfo: &'a mut Option<FlowInfo>,
    pub(super) flags: &'a mut Option<Ip6TunnelFlags>,
    pub(super) fwmark: &'a mut Option<u32>,
}

impl Ipv6TunnelFields<'_> {
    /// `encaplimit`, `tclass`, `flowlabel`, `dscp`, `fwmark`: a value, or `none` or `inherit`. As in `ip(8)`, the traffic
    /// class and the flow label are hexadecimal with or without `0x`.
    pub(super) fn parse_keyword(self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let inherits = matches!(words.peek(), Some("inherit" | "none"));
        let flags = self.flags.unwrap_or_default();
        let flow = self.flowinfo.unwrap_or_default();
        let flags = match word {
            "encaplimit" => flags.ignore_encap_limit(inherits),
            "tclass" | "tc" | "tos" | "dsfield" => flags.use_orig_tclass(inherits),
            "flowlabel" | "fl" => flags.use_orig_flowlabel(inherits),
            "dscp" => flags.rcv_dscp_copy(inherits),
            "fwmark" => flags.use_orig_fwmark(inherits),
            _ => return Ok(false),
        };
        match word {
            _ if inherits => _ = words.next(),
            "encaplimit" => *self.encap_limit = Some(words.value(word)?),
            "flowlabel" | "fl" => {
                let label = hexadecimal(word, 0xf_ffff, words)?;
                *self.flowinfo = Some(FlowInfo::new(flow.traffic_class(), label));
            }
            "fwmark" => *self.fwmark = Some(words.value(word)?),
            "dscp" => return Err(InvalidValue::new(word, words.next())),
            _ => {
                let class = hexadecimal(word, 0xff, words)?;
                *self.flowinfo = Some(FlowInfo::new(class as u8, flow.flow_label()));
            }
        }
        *self.flags = Some(flags);
        Ok(true)
    }
}

/// The value of `word`: a hexadecimal number of at most `max`.
fn hexadecimal(word: &str, max: u32, words: &mut Arguments<'_>) -> Parsed<u32> {
    let found = words.next();
    let digits = found.map(|text| text.strip_prefix("0x").unwrap_or(text));
    // A sign would be accepted here.
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let number = number.filter(|number| *number <= max);
    number.ok_or_else(|| InvalidValue::new(word, found))
}
