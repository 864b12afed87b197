use std::net::{Ipv4Addr, Ipv6Addr};

use super::data::Data;
use super::{EncapFlags, EncapPort, Tos, Ttl, TunnelEncap};
use crate::interface::IfIndex;
use crate::table::{Be, Plain, attributes, bits, names};

attributes! {
    /// IPv6 in IPv4 (RFC 4213), 6rd (RFC 5969) and ISATAP (RFC 5214).
    ///
    /// Equals `ip link add NAME type sit remote ADDRESS local ADDRESS …`.
    ///
    /// # Source
    /// `ipip6_policy` and `ipip6_netlink_parms`, net/ipv6/sit.c.
    pub struct Sit {
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
        "mode" proto: SitMode = IFLA_IPTUN_PROTO;
        /// Its switches.
        flags: SitFlags as Plain<u16> = IFLA_IPTUN_FLAGS, Spread;
        /// The prefix of its 6rd domain.
        sixrd_prefix: Ipv6Addr = IFLA_IPTUN_6RD_PREFIX;
        /// Length of that, in bits.
        sixrd_prefixlen: u16 = IFLA_IPTUN_6RD_PREFIXLEN;
        /// The part that all IPv4 addresses of the domain begin with.
        sixrd_relay_prefix: Ipv4Addr = IFLA_IPTUN_6RD_RELAY_PREFIX;
        /// Length of that, in bits.
        sixrd_relay_prefixlen: u16 = IFLA_IPTUN_6RD_RELAY_PREFIXLEN;
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

impl Data for Sit {
    const IS_SAID_WHOLE: bool = true;

    fn tidy(&mut self) {
        self.link = self.link.filter(|link| link.0 != 0);
    }
}

names! {
    /// What a sit tunnel carries: an IP protocol.
    pub enum SitMode: u8 {
        /// Anything.
        Any = 0, "any";
        /// IPv4.
        Ipip = 4, "ipip";
        /// IPv6.
        Ip6ip = 41, "ip6ip";
        /// MPLS.
        Mplsip = 137, "mplsip";
    }
}

bits! {
    /// Switches of a sit tunnel.
    pub struct SitFlags {
        /// Whether it is an ISATAP tunnel.
        "isatap" isatap = 0x1;
    }
}
