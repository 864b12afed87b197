//! The keys by which classes are split into groups.

use std::fmt;
use std::net::IpAddr;

/// The packet field by which a class is split into groups.
///
/// Addresses, ports and protocol are those of the outermost IP header, after at most two VLAN tags.
/// TCP, UDP, UDP-Lite, DCCP and SCTP have ports, except in later fragments; in IPv6 after at most
/// four extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GroupBy {
    /// IPv4 or IPv6 source address.
    Src,
    /// IPv4 or IPv6 destination address.
    Dst,
    /// Source port.
    SrcPort,
    /// Destination port.
    DstPort,
    /// IP protocol; in IPv6 after the extension headers.
    Protocol,
    /// Id of the outermost VLAN.
    Vlan,
    /// EtherType after the VLAN tags.
    EtherType,
    /// Ethernet source address.
    SrcMac,
    /// Ethernet destination address.
    DstMac,
}

impl GroupBy {
    /// All keys.
    pub const ALL: [Self; 9] = [
        Self::Src,
        Self::Dst,
        Self::SrcPort,
        Self::DstPort,
        Self::Protocol,
        Self::Vlan,
        Self::EtherType,
        Self::SrcMac,
        Self::DstMac,
    ];

    /// Its name on the command line and in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Src => "src",
            Self::Dst => "dst",
            Self::SrcPort => "sport",
            Self::DstPort => "dport",
            Self::Protocol => "proto",
            Self::Vlan => "vlan",
            Self::EtherType => "ethertype",
            Self::SrcMac => "smac",
            Self::DstMac => "dmac",
        }
    }
}

/// The key of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GroupKey {
    /// An address.
    Address(IpAddr),
    /// A port.
    Port(u16),
    /// An IP protocol.
    Protocol(u8),
    /// A VLAN.
    Vlan(u16),
    /// An EtherType.
    EtherType(u16),
    /// An Ethernet address.
    Mac([u8; 6]),
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Port(number) | Self::Vlan(number) => number.fmt(f),
            Self::Protocol(number) => number.fmt(f),
            Self::EtherType(number) => write!(f, "0x{number:04x}"),
            Self::Mac(bytes) => {
                let [first, rest @ ..] = bytes;
                write!(f, "{first:02x}")?;
                rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
            }
        }
    }
}
