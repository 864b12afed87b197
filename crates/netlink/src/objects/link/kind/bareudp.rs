//! Packets of layer 3 over UDP.

use super::kinds::KindSettings;
use crate::schema::{Arguments, BigEndian, Flag, Parsed, attribute_set, number_enum};

attribute_set! {
    /// Packets of layer 3 over UDP, without a header between them: MPLS over UDP (RFC 7510), or IP.
    ///
    /// Equals `ip link add NAME type bareudp dstport PORT ethertype PROTOCOL`.
    ///
    /// # Source
    /// `bareudp_policy` and `bareudp2info`, drivers/net/bareudp.c.
    pub struct Bareudp {
        /// The UDP port to which it sends and on which it receives. Required at creation.
        "dstport" dstport: u16 as BigEndian = IFLA_BAREUDP_PORT;
        /// The protocol of the packets. Required at creation.
        "ethertype" ethertype: BareudpProtocol as BigEndian = IFLA_BAREUDP_ETHERTYPE;
        /// The lowest UDP source port.
        "srcportmin" srcportmin: u16 = IFLA_BAREUDP_SRCPORT_MIN;
        /// Whether it carries MPLS multicast beside MPLS unicast, or IPv6 beside IPv4.
        "multiproto" multiproto: bool as Flag = IFLA_BAREUDP_MULTIPROTO_MODE;
    }
}

impl KindSettings for Bareudp {
    /// `ethertype ipv4`, another name of `ip`.
    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let is_ipv4 = word == "ethertype" && words.skip(&["ipv4"]);
        if is_ipv4 {
            self.ethertype = Some(BareudpProtocol::Ip);
        }
        Ok(is_ipv4)
    }
}

number_enum! {
    /// The protocol that a bareudp link carries: an EtherType, by its name in `ip(8)`.
    pub enum BareudpProtocol: u16 {
        /// IPv4.
        Ip = 0x0800, "ip";
        /// IPv6.
        Ipv6 = 0x86dd, "ipv6";
        /// MPLS unicast.
        MplsUc = 0x8847, "mpls_uc";
        /// MPLS multicast.
        MplsMc = 0x8848, "mpls_mc";
    }
}
