//! Numbers that protocols are known by.

use crate::language::tree::Protocol;

pub(super) const IPV4: u32 = 0x0800;
pub(super) const IPV6: u32 = 0x86dd;
pub(super) const ARP: u32 = 0x0806;
pub(super) const RARP: u32 = 0x8035;
pub(super) const APPLETALK: u32 = 0x809b;
pub(super) const AARP: u32 = 0x80f3;
pub(super) const DECNET: u32 = 0x6003;
pub(super) const IPX: u32 = 0x8137;
pub(super) const VLAN: u32 = 0x8100;
pub(super) const VLAN_SERVICE: u32 = 0x88a8;
pub(super) const VLAN_OLD_SERVICE: u32 = 0x9100;
pub(super) const MPLS: u32 = 0x8847;
pub(super) const PPPOE_DISCOVERY: u32 = 0x8863;
pub(super) const PPPOE_SESSION: u32 = 0x8864;
pub(super) const ETHERNET_IN_GENEVE: u32 = 0x6558;
pub(super) const PPP_MPLS: u32 = 0x0281;

/// Values up to this in an EtherType field are lengths of 802.3 frames.
pub(super) const MAX_LENGTH: u32 = 1500;

pub(super) const SAP_IP: u32 = 0x06;
pub(super) const SAP_STP: u32 = 0x42;
pub(super) const SAP_IPX: u32 = 0xe0;
pub(super) const SAP_NETBEUI: u32 = 0xf0;
pub(super) const SAP_ISO: u32 = 0xfe;

pub(super) const NLPID_CLNP: u32 = 0x81;
pub(super) const NLPID_ESIS: u32 = 0x82;
pub(super) const NLPID_ISIS: u32 = 0x83;

pub(super) const TCP: u32 = 6;
pub(super) const UDP: u32 = 17;
pub(super) const SCTP: u32 = 132;
pub(super) const FRAGMENT: u32 = 44;
pub(super) const AH: u32 = 51;
pub(super) const ICMP6: u32 = 58;

/// The EtherType of a protocol that has one, or its LLC service access point.
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

/// The number, of EtherTypes and service access points, that `link proto \name` stands for.
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

/// The number of a protocol over IPv4 or IPv6.
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

/// The IS-IS packet types that an abbreviation stands for.
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
