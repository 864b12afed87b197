use std::net::{Ipv4Addr, Ipv6Addr};

use super::data::Data;
use super::{DontFragment, Hops, PortRange, Tos};
use crate::table::{BadWord, Be, Flag, Words, attributes};

attributes! {
    /// Ethernet over UDP with options (RFC 8926).
    ///
    /// Equals `ip link add NAME type geneve id VNI remote ADDRESS …`.
    ///
    /// # Source
    /// `geneve_policy` and `geneve_nl2info`, drivers/net/geneve.c.
    pub struct Geneve {
        /// Its number (VNI): 24 bits.
        "id" | "vni" [0..=16_777_215] id: u32 = IFLA_GENEVE_ID;
        /// The other end.
        "remote" remote: Ipv4Addr = IFLA_GENEVE_REMOTE;
        /// The same in IPv6.
        "remote" remote6: Ipv6Addr = IFLA_GENEVE_REMOTE6;
        /// Hops of its packets.
        "ttl" | "hoplimit" ttl: Hops = IFLA_GENEVE_TTL;
        /// Whether they are those of the packet inside.
        ttl_inherit: bool = IFLA_GENEVE_TTL_INHERIT;
        /// Type of service of its packets.
        "tos" | "dsfield" tos: Tos = IFLA_GENEVE_TOS;
        /// Whether its packets must not be fragmented.
        "df" df: DontFragment = IFLA_GENEVE_DF;
        /// Flow label of its IPv6 packets.
        "flowlabel" label: u32 as Be = IFLA_GENEVE_LABEL;
        /// The UDP port it sends to and receives at.
        "dstport" port: u16 as Be = IFLA_GENEVE_PORT;
        /// The UDP ports it sends from. Since Linux 6.15.
        "srcport" port_range: PortRange as Be = IFLA_GENEVE_PORT_RANGE;
        /// Whether routes and filters say where each packet goes.
        "external" external: bool as Flag = IFLA_GENEVE_COLLECT_METADATA;
        /// Whether UDP over IPv4 has a checksum.
        "udpcsum" udp_csum: bool = IFLA_GENEVE_UDP_CSUM;
        /// Whether UDP over IPv6 is sent without one.
        "udp6zerocsumtx" udp_zero_csum6_tx: bool = IFLA_GENEVE_UDP_ZERO_CSUM6_TX;
        /// Whether UDP over IPv6 is received without one.
        "udp6zerocsumrx" udp_zero_csum6_rx: bool = IFLA_GENEVE_UDP_ZERO_CSUM6_RX;
        /// Whether it carries other than Ethernet.
        "innerprotoinherit" inner_proto_inherit: bool as Flag = IFLA_GENEVE_INNER_PROTO_INHERIT;
    }
}

impl Data for Geneve {
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
