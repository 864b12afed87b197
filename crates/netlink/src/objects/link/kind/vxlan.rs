//! Ethernet over UDP: VXLAN and Geneve.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::kinds::KindSettings;
use super::{DontFragment, Hops, PortRange, Tos};
use crate::schema::{Arguments, BigEndian, Flag, Parsed, attribute_set, number_enum};
use crate::values::interface::IfIndex;

attribute_set! {
    /// Ethernet over UDP (RFC 7348).
    ///
    /// Equals `ip link add NAME type vxlan id VNI remote ADDRESS dstport 4789 …`.
    ///
    /// # Source
    /// `vxlan_policy` and `vxlan_nl2conf`, drivers/net/vxlan/vxlan_core.c.
    pub struct Vxlan {
        /// Its VNI: 24 bits.
        "id" | "vni" [0..=16_777_215] id: u32 = IFLA_VXLAN_ID;
        /// The other end, or the group of all other ends.
        "remote" | "group" remote: Ipv4Addr = IFLA_VXLAN_GROUP;
        "remote" | "group" remote6: Ipv6Addr = IFLA_VXLAN_GROUP6;
        "local" local: Ipv4Addr = IFLA_VXLAN_LOCAL;
        "local" local6: Ipv6Addr = IFLA_VXLAN_LOCAL6;
        /// The link it sends and receives by.
        "dev" link: IfIndex = IFLA_VXLAN_LINK;
        /// The UDP source ports; 0 and 0 are the system's default.
        "srcport" | "port" port_range: PortRange as BigEndian = IFLA_VXLAN_PORT_RANGE;
        /// The UDP port to which it sends and on which it receives; the kernel's default is 8472.
        "dstport" port: u16 as BigEndian = IFLA_VXLAN_PORT;
        /// Whether it learns the remote endpoints of hardware addresses.
        "learning" learning: bool = IFLA_VXLAN_LEARNING;
        /// Whether it is an ARP proxy.
        "proxy" proxy: bool = IFLA_VXLAN_PROXY;
        /// Route short circuit.
        "rsc" rsc: bool = IFLA_VXLAN_RSC;
        /// Whether unknown hardware addresses cause notifications.
        "l2miss" l2miss: bool = IFLA_VXLAN_L2MISS;
        /// Whether unknown IP addresses cause notifications.
        "l3miss" l3miss: bool = IFLA_VXLAN_L3MISS;
        /// Type of service of outer packets.
        "tos" | "dsfield" tos: Tos = IFLA_VXLAN_TOS;
        /// TTL of outer packets.
        "ttl" | "hoplimit" ttl: Hops = IFLA_VXLAN_TTL;
        /// Whether the TTL is copied from the inner packet.
        ttl_inherit: bool as Flag = IFLA_VXLAN_TTL_INHERIT;
        /// The don't-fragment bit of outer packets.
        "df" df: DontFragment = IFLA_VXLAN_DF;
        /// Flow label of outer IPv6 packets.
        "flowlabel" | "label" label: u32 as BigEndian = IFLA_VXLAN_LABEL;
        /// The source of the flow label. Since Linux 6.7.
        "label_policy" label_policy: LabelPolicy = IFLA_VXLAN_LABEL_POLICY;
        /// Ageing time of learned addresses in seconds; 0 is infinite.
        "ageing" ageing: u32 = IFLA_VXLAN_AGEING, 1 per second;
        /// Maximum number of learned addresses; 0 is no limit.
        "maxaddress" limit: u32 = IFLA_VXLAN_LIMIT;
        /// Whether UDP over IPv4 has a checksum.
        "udpcsum" udp_csum: bool = IFLA_VXLAN_UDP_CSUM;
        /// Whether UDP over IPv6 is sent without a checksum.
        "udp6zerocsumtx" udp_zero_csum6_tx: bool = IFLA_VXLAN_UDP_ZERO_CSUM6_TX;
        /// Whether UDP over IPv6 is received without a checksum.
        "udp6zerocsumrx" udp_zero_csum6_rx: bool = IFLA_VXLAN_UDP_ZERO_CSUM6_RX;
        /// Remote checksum offload on transmit.
        "remcsumtx" remcsum_tx: bool = IFLA_VXLAN_REMCSUM_TX;
        /// Remote checksum offload on receive.
        "remcsumrx" remcsum_rx: bool = IFLA_VXLAN_REMCSUM_RX;
        /// Remote checksum offload without partial checksums.
        remcsum_nopartial: bool as Flag = IFLA_VXLAN_REMCSUM_NOPARTIAL;
        /// Group policy extension: packets carry the mark of the sender.
        "gbp" gbp: bool as Flag = IFLA_VXLAN_GBP;
        /// Whether it carries protocols other than Ethernet (generic protocol extension).
        "gpe" gpe: bool as Flag = IFLA_VXLAN_GPE;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool = IFLA_VXLAN_COLLECT_METADATA;
        /// Whether it accepts only configured VNIs, with `external`.
        "vnifilter" vnifilter: bool = IFLA_VXLAN_VNIFILTER;
        /// Whether packets to this host's own addresses go their shortest way. Since Linux 6.5.
        "localbypass" localbypass: bool = IFLA_VXLAN_LOCALBYPASS;
        /// Whether multicast packets are routed as forwarded ones. Since Linux 6.17.
        "mcroute" mcroute: bool = IFLA_VXLAN_MC_ROUTE;
    }
}

number_enum! {
    /// Where a flow label comes from.
    pub enum LabelPolicy: u32 {
        /// It is that of the link.
        Fixed = 0, "fixed";
        /// It is that of the packet inside.
        Inherit = 1, "inherit";
    }
}

attribute_set! {
    /// Ethernet over UDP with options (RFC 8926).
    ///
    /// Equals `ip link add NAME type geneve id VNI remote ADDRESS …`.
    ///
    /// # Source
    /// `geneve_policy` and `geneve_nl2info`, drivers/net/geneve.c.
    pub struct Geneve {
        /// Its VNI: 24 bits.
        "id" | "vni" [0..=16_777_215] id: u32 = IFLA_GENEVE_ID;
        "remote" remote: Ipv4Addr = IFLA_GENEVE_REMOTE;
        "remote" remote6: Ipv6Addr = IFLA_GENEVE_REMOTE6;
        /// TTL of outer packets.
        "ttl" | "hoplimit" ttl: Hops = IFLA_GENEVE_TTL;
        /// Whether the TTL is copied from the inner packet.
        ttl_inherit: bool = IFLA_GENEVE_TTL_INHERIT;
        /// Type of service of outer packets.
        "tos" | "dsfield" tos: Tos = IFLA_GENEVE_TOS;
        /// The don't-fragment bit of outer packets.
        "df" df: DontFragment = IFLA_GENEVE_DF;
        /// Flow label of outer IPv6 packets.
        "flowlabel" | "label" label: u32 as BigEndian = IFLA_GENEVE_LABEL;
        /// The UDP port to which it sends and on which it receives.
        "dstport" port: u16 as BigEndian = IFLA_GENEVE_PORT;
        /// The UDP source ports. Since Linux 6.15.
        "srcport" port_range: PortRange as BigEndian = IFLA_GENEVE_PORT_RANGE;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool as Flag = IFLA_GENEVE_COLLECT_METADATA;
        /// Whether UDP over IPv4 has a checksum.
        "udpcsum" udp_csum: bool = IFLA_GENEVE_UDP_CSUM;
        /// Whether UDP over IPv6 is sent without a checksum.
        "udp6zerocsumtx" udp_zero_csum6_tx: bool = IFLA_GENEVE_UDP_ZERO_CSUM6_TX;
        /// Whether UDP over IPv6 is received without a checksum.
        "udp6zerocsumrx" udp_zero_csum6_rx: bool = IFLA_GENEVE_UDP_ZERO_CSUM6_RX;
        /// Whether it carries protocols other than Ethernet.
        "innerprotoinherit" inner_proto_inherit: bool as Flag = IFLA_GENEVE_INNER_PROTO_INHERIT;
    }
}

impl KindSettings for Vxlan {
    /// `ttl inherit`, `ageing none` and `maxaddress unlimited`.
    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        match word {
            "ttl" | "hoplimit" if words.skip(&["inherit"]) => self.ttl_inherit = Some(true),
            "ageing" if words.skip(&["none"]) => self.ageing = Some(0),
            "maxaddress" if words.skip(&["unlimited"]) => self.limit = Some(0),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl KindSettings for Geneve {
    /// `ttl inherit`.
    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let inherits = matches!(word, "ttl" | "hoplimit") && words.skip(&["inherit"]);
        if inherits {
            self.ttl_inherit = Some(true);
        }
        Ok(inherits)
    }
}
