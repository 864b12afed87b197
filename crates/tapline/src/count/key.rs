//! What classes can be split by.

use std::fmt;
use std::net::IpAddr;

/// By what the packets of a class are told apart.
///
/// Addresses, ports and protocol are those of the outermost IP header, behind at most two VLAN tags;
/// ports are there for TCP, UDP, UDP-Lite, DCCP and SCTP, in the first fragment, and with IPv6 behind
/// at most four extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Key {
    /// IPv4 or IPv6 source address.
    Src,
    /// IPv4 or IPv6 destination address.
    Dst,
    /// Source port.
    SrcPort,
    /// Destination port.
    DstPort,
    /// IP protocol; with IPv6 that behind the extension headers.
    Protocol,
    /// Number of the outermost VLAN.
    Vlan,
    /// EtherType behind the VLAN tags.
    EtherType,
    /// Ethernet source address.
    SrcMac,
    /// Ethernet destination address.
    DstMac,
}

impl Key {
    /// All of them.
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

/// What the packets of a group have in common.
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
