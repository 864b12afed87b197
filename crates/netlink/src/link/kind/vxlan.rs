use std::net::{Ipv4Addr, Ipv6Addr};

use super::data::Data;
use super::{DontFragment, Hops, PortRange, Tos};
use crate::interface::IfIndex;
use crate::table::{BadWord, Be, Flag, Words, attributes, names};

attributes! {
    /// Ethernet over UDP (RFC 7348).
    ///
    /// Equals `ip link add NAME type vxlan id VNI remote ADDRESS dstport 4789 …`.
    ///
    /// # Source
    /// `vxlan_policy` and `vxlan_nl2conf`, drivers/net/vxlan/vxlan_core.c.
    pub struct Vxlan {
        /// Its number (VNI): 24 bits.
        "id" | "vni" [0..=16_777_215] id: u32 = IFLA_VXLAN_ID;
        /// The other end, or the group of all other ends.
        "remote" | "group" remote: Ipv4Addr = IFLA_VXLAN_GROUP;
        /// The same in IPv6.
        "remote" | "group" remote6: Ipv6Addr = IFLA_VXLAN_GROUP6;
        /// Its own address.
        "local" local: Ipv4Addr = IFLA_VXLAN_LOCAL;
        /// The same in IPv6.
        "local" local6: Ipv6Addr = IFLA_VXLAN_LOCAL6;
        /// The link it sends and receives by.
        "dev" link: IfIndex = IFLA_VXLAN_LINK;
        /// The UDP ports it sends from; 0 and 0 are the system's.
        "srcport" | "port" port_range: PortRange as Be = IFLA_VXLAN_PORT_RANGE;
        /// The UDP port it sends to and receives at; the kernel's default is 8472.
        "dstport" port: u16 as Be = IFLA_VXLAN_PORT;
        /// Whether it learns which address is behind which end.
        "learning" learning: bool = IFLA_VXLAN_LEARNING;
        /// Whether it answers ARP requests itself.
        "proxy" proxy: bool = IFLA_VXLAN_PROXY;
        /// Whether it routes what can be.
        "rsc" rsc: bool = IFLA_VXLAN_RSC;
        /// Whether it tells of hardware addresses it does not know.
        "l2miss" l2miss: bool = IFLA_VXLAN_L2MISS;
        /// Whether it tells of IP addresses it does not know.
        "l3miss" l3miss: bool = IFLA_VXLAN_L3MISS;
        /// Type of service of its packets.
        "tos" | "dsfield" tos: Tos = IFLA_VXLAN_TOS;
        /// Hops of its packets.
        "ttl" | "hoplimit" ttl: Hops = IFLA_VXLAN_TTL;
        /// Whether they are those of the packet inside.
        ttl_inherit: bool as Flag = IFLA_VXLAN_TTL_INHERIT;
        /// Whether its packets must not be fragmented.
        "df" df: DontFragment = IFLA_VXLAN_DF;
        /// Flow label of its IPv6 packets.
        "flowlabel" label: u32 as Be = IFLA_VXLAN_LABEL;
        /// Where the flow label comes from. Since Linux 6.7.
        "label_policy" label_policy: LabelPolicy = IFLA_VXLAN_LABEL_POLICY;
        /// Seconds an address is remembered that is silent; 0 for ever.
        "ageing" ageing: u32 = IFLA_VXLAN_AGEING;
        /// Most addresses it remembers; 0 for no limit.
        "maxaddress" limit: u32 = IFLA_VXLAN_LIMIT;
        /// Whether UDP over IPv4 has a checksum.
        "udpcsum" udp_csum: bool = IFLA_VXLAN_UDP_CSUM;
        /// Whether UDP over IPv6 is sent without one.
        "udp6zerocsumtx" udp_zero_csum6_tx: bool = IFLA_VXLAN_UDP_ZERO_CSUM6_TX;
        /// Whether UDP over IPv6 is received without one.
        "udp6zerocsumrx" udp_zero_csum6_rx: bool = IFLA_VXLAN_UDP_ZERO_CSUM6_RX;
        /// Whether the inner checksum is left to the receiver.
        "remcsumtx" remcsum_tx: bool = IFLA_VXLAN_REMCSUM_TX;
        /// Whether it is made here for senders that leave it.
        "remcsumrx" remcsum_rx: bool = IFLA_VXLAN_REMCSUM_RX;
        /// Whether that is never partial.
        remcsum_nopartial: bool as Flag = IFLA_VXLAN_REMCSUM_NOPARTIAL;
        /// Whether packets carry the mark of their sender (group policy).
        "gbp" gbp: bool as Flag = IFLA_VXLAN_GBP;
        /// Whether it carries other than Ethernet (generic protocol extension).
        "gpe" gpe: bool as Flag = IFLA_VXLAN_GPE;
        /// Whether routes and filters say where each packet goes.
        "external" external: bool = IFLA_VXLAN_COLLECT_METADATA;
        /// Whether it takes only numbers of its list, with `external`.
        "vnifilter" vnifilter: bool = IFLA_VXLAN_VNIFILTER;
        /// Whether packets to this host's own addresses go their shortest way. Since Linux 6.5.
        "localbypass" localbypass: bool = IFLA_VXLAN_LOCALBYPASS;
        /// Whether multicast packets are routed as forwarded ones. Since Linux 6.17.
        "mcroute" mcroute: bool = IFLA_VXLAN_MC_ROUTE;
    }
}

impl Data for Vxlan {
    /// `ttl inherit`.
    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        let inherits = matches!(word, "ttl" | "hoplimit") && words.peek() == Some("inherit");
        if inherits {
            words.next();
            self.ttl_inherit = Some(true);
        }
        Ok(inherits)
    }
}

names! {
    /// Where a flow label comes from.
    pub enum LabelPolicy: u32 {
        /// It is that of the link.
        Fixed = 0, "fixed";
        /// It is that of the packet inside.
        Inherit = 1, "inherit";
    }
}
