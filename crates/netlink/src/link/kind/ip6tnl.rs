use std::net::Ipv6Addr;

use super::data::Data;
use super::{EncapFlags, EncapPort, Ttl, TunnelEncap};
use crate::interface::IfIndex;
use crate::table::{BadWord, Be, Flag, Plain, Words, attributes, bits, names};

attributes! {
    /// IPv4 or IPv6 in IPv6 (RFC 2473).
    ///
    /// Equals `ip link add NAME type ip6tnl mode any remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ip6_tnl_policy` and `ip6_tnl_netlink_parms`, net/ipv6/ip6_tunnel.c.
    pub struct Ip6Tnl {
        /// What it carries.
        "mode" proto: Ip6TnlMode = IFLA_IPTUN_PROTO;
        /// The other end; `::` for any.
        "remote" remote: Ipv6Addr = IFLA_IPTUN_REMOTE;
        /// Its own address.
        "local" local: Ipv6Addr = IFLA_IPTUN_LOCAL;
        /// The link it sends by.
        "dev" link: IfIndex = IFLA_IPTUN_LINK;
        /// Hops of its packets.
        "hoplimit" | "ttl" ttl: Ttl = IFLA_IPTUN_TTL;
        /// How many tunnels its packets may go into, unless `ignore_encap_limit` is set.
        encap_limit: u8 = IFLA_IPTUN_ENCAP_LIMIT;
        /// Traffic class and flow label of its packets, as in the IPv6 header.
        flowinfo: FlowInfo as Be = IFLA_IPTUN_FLOWINFO;
        /// Its switches.
        flags: Ip6TunnelFlags as Plain<u32> = IFLA_IPTUN_FLAGS, Spread;
        /// Whether routes and filters say where each packet goes.
        "external" external: bool as Flag = IFLA_IPTUN_COLLECT_METADATA;
        /// What stands behind the outer IP header.
        "encap" encap: TunnelEncap = IFLA_IPTUN_ENCAP_TYPE;
        /// Switches of that.
        encap_flags: EncapFlags as Plain<u16> = IFLA_IPTUN_ENCAP_FLAGS, Spread;
        /// Its source port.
        "encap-sport" encap_sport: EncapPort as Be = IFLA_IPTUN_ENCAP_SPORT;
        /// Its destination port.
        "encap-dport" encap_dport: u16 as Be = IFLA_IPTUN_ENCAP_DPORT;
        /// Mark of its packets, for routing.
        fwmark: u32 = IFLA_IPTUN_FWMARK;
    }
}

impl Data for Ip6Tnl {
    const IS_SAID_WHOLE: bool = true;

    fn tidy(&mut self) {
        self.link = self.link.filter(|link| link.0 != 0);
    }

    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        let Self {
            encap_limit,
            flowinfo,
            flags,
            fwmark,
            ..
        } = self;
        let mut parts = Parts {
            encap_limit,
            flowinfo,
            flags,
            fwmark,
        };
        more_words(word, words, &mut parts)
    }
}

names! {
    /// What an IPv6 tunnel carries: an IP protocol.
    pub enum Ip6TnlMode: u8 {
        /// Anything.
        Any = 0, "any";
        /// IPv4.
        Ipip6 = 4, "ipip6";
        /// IPv6.
        Ip6ip6 = 41, "ip6ip6";
    }
}

bits! {
    /// Switches of a tunnel over IPv6.
    ///
    /// # Source
    /// `IP6_TNL_F_…`, include/uapi/linux/ip6_tunnel.h.
    pub struct Ip6TunnelFlags {
        /// Whether its packets carry no limit of tunnels.
        ignore_encap_limit = 0x1;
        /// Whether the traffic class is that of the packet inside.
        use_orig_tclass = 0x2;
        /// Whether the flow label is.
        use_orig_flowlabel = 0x4;
        /// Whether it serves mobile IPv6.
        "mip6" mip6 = 0x8;
        /// Whether what arrives gets the DSCP of the outer packet.
        rcv_dscp_copy = 0x10;
        /// Whether the mark is that of the packet inside.
        use_orig_fwmark = 0x20;
        /// Whether the other end may be an address of this host.
        "allow-localremote" allow_local_remote = 0x40;
    }
}

/// Traffic class and flow label, as they stand in an IPv6 header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FlowInfo(pub u32);

impl FlowInfo {
    /// Of this traffic class and this flow label, which has 20 bits.
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

impl crate::table::Code<FlowInfo> for Be {
    const SHAPE: crate::table::Shape = crate::table::Shape::NumberBe;

    fn put(value: &FlowInfo, kind: u16, request: &mut crate::codec::Request) {
        Self::put(&value.0, kind, request);
    }

    fn take(attribute: crate::codec::Attribute<'_>) -> Result<FlowInfo, crate::codec::Malformed> {
        Self::take(attribute).map(FlowInfo)
    }

    fn matches(value: &FlowInfo, wanted: &FlowInfo) -> bool {
        value == wanted
    }

    fn merge(value: &mut FlowInfo, change: FlowInfo) {
        *value = change;
    }
}

/// The fields that words of all tunnels over IPv6 mean together.
pub(super) struct Parts<'a> {
    pub(super) encap_limit: &'a mut Option<u8>,
    pub(super) flowinfo: &'a mut Option<FlowInfo>,
    pub(super) flags: &'a mut Option<Ip6TunnelFlags>,
    pub(super) fwmark: &'a mut Option<u32>,
}

/// `encaplimit`, `tclass`, `flowlabel`, `dscp`, `fwmark`: a value, or `none` or `inherit` which are switches.
pub(super) fn more_words(
    word: &str,
    words: &mut Words<'_>,
    parts: &mut Parts<'_>,
) -> Result<bool, BadWord> {
    let inherits = matches!(words.peek(), Some("inherit" | "none"));
    let flags = parts.flags.unwrap_or_default();
    let flow = parts.flowinfo.unwrap_or_default();
    let flags = match word {
        "encaplimit" => flags.ignore_encap_limit(inherits),
        "tclass" | "tos" | "dsfield" => flags.use_orig_tclass(inherits),
        "flowlabel" => flags.use_orig_flowlabel(inherits),
        "dscp" => flags.rcv_dscp_copy(inherits),
        "fwmark" => flags.use_orig_fwmark(inherits),
        _ => return Ok(false),
    };
    if inherits {
        words.next();
    } else {
        match word {
            "encaplimit" => *parts.encap_limit = Some(words.value(word)?),
            "flowlabel" => {
                let label = words.value(word)?;
                *parts.flowinfo = Some(FlowInfo::new(flow.traffic_class(), label));
            }
            "fwmark" => *parts.fwmark = Some(words.value(word)?),
            "dscp" => {
                return Err(BadWord {
                    wanted: word.to_owned(),
                    found: words.next().map(str::to_owned),
                });
            }
            _ => *parts.flowinfo = Some(FlowInfo::new(words.value(word)?, flow.flow_label())),
        }
    }
    *parts.flags = Some(flags);
    Ok(true)
}
