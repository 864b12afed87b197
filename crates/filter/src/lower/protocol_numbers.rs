//! EtherTypes, LLC service access points, IP protocol numbers and IS-IS packet types.

use crate::language::tree::Protocol;

pub(super) const IPV4: u32 = libc::ETH_P_IP.cast_unsigned();
pub(super) const IPV6: u32 = libc::ETH_P_IPV6.cast_unsigned();
pub(super) const ARP: u32 = libc::ETH_P_ARP.cast_unsigned();
pub(super) const RARP: u32 = libc::ETH_P_RARP.cast_unsigned();
pub(super) const APPLETALK: u32 = libc::ETH_P_ATALK.cast_unsigned();
pub(super) const AARP: u32 = libc::ETH_P_AARP.cast_unsigned();
pub(super) const DECNET: u32 = libc::ETH_P_DNA_RT.cast_unsigned();
pub(super) const IPX: u32 = libc::ETH_P_IPX.cast_unsigned();
pub(super) const VLAN: u32 = libc::ETH_P_8021Q.cast_unsigned();
pub(super) const VLAN_8021AD: u32 = libc::ETH_P_8021AD.cast_unsigned();
pub(super) const VLAN_QINQ: u32 = libc::ETH_P_QINQ1.cast_unsigned();
pub(super) const MPLS: u32 = libc::ETH_P_MPLS_UC.cast_unsigned();
pub(super) const PPPOE_DISCOVERY: u32 = libc::ETH_P_PPP_DISC.cast_unsigned();
pub(super) const PPPOE_SESSION: u32 = libc::ETH_P_PPP_SES.cast_unsigned();
pub(super) const ETHERNET_IN_GENEVE: u32 = libc::ETH_P_TEB.cast_unsigned();
pub(super) const MPLS_UPSTREAM: u32 = libc::ETH_P_MPLS_MC.cast_unsigned();
pub(super) const PPP_IPV4: u32 = 0x0021;
pub(super) const PPP_IPV6: u32 = 0x0057;
pub(super) const PPP_MPLS: u32 = 0x0281;

/// EtherType fields with values up to this are lengths of 802.3 frames.
pub(super) const MAX_LENGTH: u32 = 1500;

pub(super) const SAP_IP: u32 = 0x06;
pub(super) const SAP_STP: u32 = 0x42;
pub(super) const SAP_IPX: u32 = 0xe0;
pub(super) const SAP_NETBEUI: u32 = 0xf0;
pub(super) const SAP_ISO: u32 = 0xfe;

pub(super) const NLPID_CLNP: u32 = 0x81;
pub(super) const NLPID_ESIS: u32 = 0x82;
pub(super) const NLPID_ISIS: u32 = 0x83;
pub(super) const NLPID_IPV6: u32 = 0x8e;
pub(super) const NLPID_IPV4: u32 = 0xcc;

pub(super) const TCP: u32 = libc::IPPROTO_TCP.cast_unsigned();
pub(super) const UDP: u32 = libc::IPPROTO_UDP.cast_unsigned();
pub(super) const SCTP: u32 = libc::IPPROTO_SCTP.cast_unsigned();
pub(super) const IPV4_IN_IP: u32 = libc::IPPROTO_IPIP.cast_unsigned();
pub(super) const IPV6_IN_IP: u32 = libc::IPPROTO_IPV6.cast_unsigned();
pub(super) const GRE: u32 = libc::IPPROTO_GRE.cast_unsigned();
pub(super) const HOP_BY_HOP: u32 = libc::IPPROTO_HOPOPTS.cast_unsigned();
pub(super) const ROUTING: u32 = libc::IPPROTO_ROUTING.cast_unsigned();
pub(super) const DESTINATION_OPTIONS: u32 = libc::IPPROTO_DSTOPTS.cast_unsigned();
pub(super) const FRAGMENT: u32 = libc::IPPROTO_FRAGMENT.cast_unsigned();
pub(super) const AH: u32 = libc::IPPROTO_AH.cast_unsigned();
pub(super) const ICMP6: u32 = libc::IPPROTO_ICMPV6.cast_unsigned();

/// UDP ports of tunnels.
pub(super) const GTP_PORT: u32 = 2152;
pub(super) const VXLAN_PORT: u32 = 4789;
pub(super) const GENEVE_PORT: u32 = 6081;

/// The EtherType or LLC service access point of a protocol.
pub(super) fn link_number(protocol: Protocol) -> Option<u32> {
    Some(match protocol {
        Protocol::Ip => IPV4,
        Protocol::Ip6 => IPV6,
        Protocol::Arp => ARP,
        Protocol::Rarp => RARP,
        Protocol::AppleTalk => APPLETALK,
        Protocol::Aarp => AARP,
        Protocol::Decnet => DECNET,
        Protocol::Sca => 0x6007,
        Protocol::Lat => 0x6004,
        Protocol::Mopdl => 0x6001,
        Protocol::Moprc => 0x6002,
        Protocol::Iso => SAP_ISO,
        Protocol::Stp => SAP_STP,
        Protocol::Ipx => SAP_IPX,
        Protocol::Netbeui => SAP_NETBEUI,
        _ => return None,
    })
}

/// The EtherType or service access point of `link proto \name`.
pub(super) fn link_number_of(name: &str) -> Option<u32> {
    Some(match name {
        "ip" => IPV4,
        "ip6" => IPV6,
        "arp" => ARP,
        "rarp" => RARP,
        "atalk" => APPLETALK,
        "aarp" => AARP,
        "decnet" => DECNET,
        "sca" => 0x6007,
        "lat" => 0x6004,
        "mopdl" => 0x6001,
        "moprc" => 0x6002,
        "lldp" => 0x88cc,
        "loopback" => 0x9000,
        "slow" => 0x8809,
        "iso" => SAP_ISO,
        "stp" => SAP_STP,
        "ipx" => SAP_IPX,
        "netbeui" => SAP_NETBEUI,
        _ => return None,
    })
}

/// The IP protocol number of a protocol.
pub(super) fn internet_number(protocol: Protocol) -> Option<u32> {
    Some(match protocol {
        Protocol::Tcp => TCP,
        Protocol::Udp => UDP,
        Protocol::Sctp => SCTP,
        Protocol::Icmp => 1,
        Protocol::Icmp6 => ICMP6,
        Protocol::Igmp => 2,
        Protocol::Igrp => 9,
        Protocol::Pim => 103,
        Protocol::Vrrp | Protocol::Carp => 112,
        Protocol::Ah => AH,
        Protocol::Esp => 50,
        _ => return None,
    })
}

/// The IS-IS packet types of an abbreviation.
pub(super) fn isis_types(protocol: Protocol) -> Option<&'static [u32]> {
    Some(match protocol {
        Protocol::IsisL1 => &[15, 17, 18, 24, 26],
        Protocol::IsisL2 => &[16, 17, 20, 25, 27],
        Protocol::IsisHello => &[15, 16, 17],
        Protocol::IsisLsp => &[18, 20],
        Protocol::IsisSnp => &[24, 25, 26, 27],
        Protocol::IsisCsnp => &[24, 25],
        Protocol::IsisPsnp => &[26, 27],
        _ => return None,
    })
}
