use std::net::Ipv4Addr;

use super::data::Data;
use super::{EncapFlags, EncapPort, Tos, Ttl, TunnelEncap};
use crate::interface::IfIndex;
use crate::table::{Be, Flag, Plain, attributes, names};

attributes! {
    /// IP in IPv4 (RFC 2003).
    ///
    /// Equals `ip link add NAME type ipip remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ipip_policy` and `ipip_netlink_parms`, net/ipv4/ipip.c.
    pub struct Ipip {
        /// The other end; `0.0.0.0` for any.
        "remote" remote: Ipv4Addr = IFLA_IPTUN_REMOTE;
        /// Its own address.
        "local" local: Ipv4Addr = IFLA_IPTUN_LOCAL;
        /// The link it sends by.
        "dev" link: IfIndex = IFLA_IPTUN_LINK;
        /// Hops of its packets.
        "ttl" | "hoplimit" ttl: Ttl = IFLA_IPTUN_TTL;
        /// Type of service of its packets.
        "tos" | "dsfield" tos: Tos = IFLA_IPTUN_TOS;
        /// Whether its packets must not be fragmented.
        "pmtudisc" pmtudisc: bool = IFLA_IPTUN_PMTUDISC;
        /// What it carries.
        "mode" proto: IpipMode = IFLA_IPTUN_PROTO;
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
        "fwmark" fwmark: u32 = IFLA_IPTUN_FWMARK;
    }
}

impl Data for Ipip {
    const IS_SAID_WHOLE: bool = true;

    fn tidy(&mut self) {
        self.link = self.link.filter(|link| link.0 != 0);
    }
}

names! {
    /// What an IPv4 tunnel carries: an IP protocol.
    pub enum IpipMode: u8 {
        /// Anything.
        Any = 0, "any";
        /// IPv4.
        Ipip = 4, "ipip";
        /// MPLS.
        Mplsip = 137, "mplsip";
    }
}
