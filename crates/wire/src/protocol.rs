//! Protocol numbers: `EtherType`s, IP protocols and link types.

/// `EtherType` values: the protocol after an Ethernet header or a VLAN tag.
///
/// # Source
/// IANA, IEEE 802 Numbers; include/uapi/linux/if_ether.h.
pub mod ethertype {
    /// IPv4.
    #[doc(alias = "ETH_P_IP")]
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    #[doc(alias = "ETH_P_ARP")]
    pub const ARP: u16 = 0x0806;
    /// A VLAN tag of IEEE 802.1Q.
    #[doc(alias = "ETH_P_8021Q")]
    pub const VLAN: u16 = 0x8100;
    /// A service VLAN tag of IEEE 802.1ad.
    #[doc(alias = "ETH_P_8021AD")]
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// A service VLAN tag as used before IEEE 802.1ad.
    #[doc(alias = "ETH_P_QINQ1")]
    pub const QINQ: u16 = 0x9100;
    /// IPv6.
    #[doc(alias = "ETH_P_IPV6")]
    pub const IPV6: u16 = 0x86dd;
    /// An Ethernet frame, in GRE and Geneve.
    #[doc(alias = "ETH_P_TEB")]
    pub const BRIDGED: u16 = 0x6558;
    /// MPLS, unicast.
    #[doc(alias = "ETH_P_MPLS_UC")]
    pub const MPLS: u16 = 0x8847;
    /// MPLS, multicast.
    #[doc(alias = "ETH_P_MPLS_MC")]
    pub const MPLS_MULTICAST: u16 = 0x8848;
    /// The discovery stage of PPPoE.
    #[doc(alias = "ETH_P_PPP_DISC")]
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    /// A PPPoE session.
    #[doc(alias = "ETH_P_PPP_SES")]
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// The smallest `EtherType`; a smaller value is the length of an IEEE 802.3 frame.
    pub const LEAST: u16 = 0x0600;

    /// Whether `ethertype` announces a VLAN tag.
    pub const fn is_vlan(ethertype: u16) -> bool {
        matches!(ethertype, VLAN | SERVICE_VLAN | QINQ)
    }

    /// The usual name of the protocol; empty if unknown.
    pub const fn name(ethertype: u16) -> &'static str {
        match ethertype {
            IPV4 => "IPv4",
            ARP => "ARP",
            VLAN | SERVICE_VLAN | QINQ => "VLAN",
            IPV6 => "IPv6",
            BRIDGED => "Ethernet",
            MPLS | MPLS_MULTICAST => "MPLS",
            0x0842 => "Wake-on-LAN",
            0x2000 => "CDP",
            0x22f0 => "AVTP",
            0x8035 => "RARP",
            0x809b => "AppleTalk",
            0x8137 => "IPX",
            0x8809 => "slow protocols",
            PPPOE_DISCOVERY => "PPPoE discovery",
            PPPOE_SESSION => "PPPoE",
            0x888e => "EAPOL",
            0x88cc => "LLDP",
            0x88e5 => "MACsec",
            0x88f7 => "PTP",
            0x8906 => "FCoE",
            0x8902 => "CFM",
            0x9000 => "loopback",
            _ => "",
        }
    }
}

/// IP protocol numbers: the protocol after an IPv4 header or an IPv6 extension header.
///
/// # Source
/// IANA, Assigned Internet Protocol Numbers; include/uapi/linux/in.h, in6.h.
pub mod ip {
    /// IPv4 in IP.
    #[doc(alias = "IPPROTO_IPIP")]
    pub const IPV4: u8 = 4;
    /// IPv6 in IP.
    #[doc(alias = "IPPROTO_IPV6")]
    pub const IPV6: u8 = 41;
    /// GRE.
    #[doc(alias = "IPPROTO_GRE")]
    pub const GRE: u8 = 47;
    /// MPLS in IP.
    #[doc(alias = "IPPROTO_MPLS")]
    pub const MPLS: u8 = 137;
    /// Hop-by-hop options of IPv6.
    #[doc(alias = "IPPROTO_HOPOPTS")]
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP.
    #[doc(alias = "IPPROTO_ICMP")]
    pub const ICMPV4: u8 = 1;
    /// TCP.
    #[doc(alias = "IPPROTO_TCP")]
    pub const TCP: u8 = 6;
    /// UDP.
    #[doc(alias = "IPPROTO_UDP")]
    pub const UDP: u8 = 17;
    /// Routing header of IPv6.
    #[doc(alias = "IPPROTO_ROUTING")]
    pub const ROUTING: u8 = 43;
    /// Fragment header of IPv6.
    #[doc(alias = "IPPROTO_FRAGMENT")]
    pub const FRAGMENT: u8 = 44;
    /// `ICMPv6`.
    #[doc(alias = "IPPROTO_ICMPV6")]
    pub const ICMPV6: u8 = 58;
    /// No next header.
    #[doc(alias = "IPPROTO_NONE")]
    pub const NO_NEXT_HEADER: u8 = 59;
    /// Destination options of IPv6.
    #[doc(alias = "IPPROTO_DSTOPTS")]
    pub const DESTINATION: u8 = 60;

    /// The usual name of the protocol; empty if unknown.
    pub const fn name(protocol: u8) -> &'static str {
        match protocol {
            HOP_BY_HOP => "hop-by-hop",
            ICMPV4 => "ICMP",
            2 => "IGMP",
            IPV4 => "IPv4",
            TCP => "TCP",
            8 => "EGP",
            UDP => "UDP",
            33 => "DCCP",
            IPV6 => "IPv6",
            ROUTING => "routing",
            FRAGMENT => "fragment",
            46 => "RSVP",
            GRE => "GRE",
            50 => "ESP",
            51 => "AH",
            ICMPV6 => "ICMPv6",
            NO_NEXT_HEADER => "no next header",
            DESTINATION => "destination",
            88 => "EIGRP",
            89 => "OSPF",
            94 => "IPIP",
            97 => "EtherIP",
            103 => "PIM",
            108 => "IPComp",
            112 => "VRRP",
            115 => "L2TP",
            132 => "SCTP",
            135 => "mobility",
            136 => "UDP-Lite",
            MPLS => "MPLS",
            _ => "",
        }
    }
}

/// Link-layer header types of capture files that [`dissect`](crate::dissect()) supports
/// (`LINKTYPE_*`).
///
/// # Source
/// <https://www.tcpdump.org/linktypes.html>.
pub mod link_type {
    /// BSD loopback, the address family in the byte order of the capturing host.
    pub const NULL: u16 = 0;
    /// Ethernet.
    pub const ETHERNET: u16 = 1;
    /// PPP, possibly with the address and control bytes of HDLC.
    pub const PPP: u16 = 9;
    /// PPP with the address and control bytes of HDLC, or Cisco HDLC.
    pub const PPP_HDLC: u16 = 50;
    /// IPv4 or IPv6 without a link-layer header.
    pub const RAW: u16 = 101;
    /// Cisco HDLC, or PPP with the address and control bytes of HDLC.
    pub const CISCO_HDLC: u16 = 104;
    /// BSD loopback, the address family big-endian.
    pub const LOOP: u16 = 108;
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: u16 = 113;
    /// PPP behind a byte for the direction.
    pub const PPP_WITH_DIRECTION: u16 = 204;
    /// IPv4 without a link-layer header.
    pub const IPV4: u16 = 228;
    /// IPv6 without a link-layer header.
    pub const IPV6: u16 = 229;
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: u16 = 276;
}
