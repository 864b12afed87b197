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
    /// The smallest `EtherType`; a smaller value is the length of an IEEE 802.3 frame.
    pub const LEAST: u16 = 0x0600;

    /// Whether `ethertype` announces a VLAN tag.
    pub const fn is_vlan(ethertype: u16) -> bool {
        matches!(ethertype, VLAN | SERVICE_VLAN | QINQ)
    }
}

/// IP protocol numbers: the protocol after an IPv4 header or an IPv6 extension header.
///
/// # Source
/// IANA, Assigned Internet Protocol Numbers; include/uapi/linux/in.h, in6.h.
pub mod ip {
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
    /// IPv4 or IPv6 without a link-layer header.
    pub const RAW: u16 = 101;
    /// BSD loopback, the address family big-endian.
    pub const LOOP: u16 = 108;
    /// Linux "cooked" capture, version 1.
    pub const LINUX_SLL: u16 = 113;
    /// IPv4 without a link-layer header.
    pub const IPV4: u16 = 228;
    /// IPv6 without a link-layer header.
    pub const IPV6: u16 = 229;
    /// Linux "cooked" capture, version 2.
    pub const LINUX_SLL2: u16 = 276;
}
