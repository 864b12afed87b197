//! What a generated packet is, and the tunnel around it.

use std::net::IpAddr;

/// What a generated packet is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketKind {
    /// A UDP datagram with a payload of zeros.
    Udp,
    /// A TCP segment that opens a connection, without options. Its sequence number follows from the flow.
    TcpSyn,
    /// An echo request: ICMP over IPv4, `ICMPv6` over IPv6. Its sequence number is the packet's number, modulo 65536.
    Icmp,
    /// An ARP request.
    Arp,
    /// This frame, from the Ethernet header on, without FCS.
    Raw(Vec<u8>),
}

impl PacketKind {
    /// Its name: `UDP`, `TCP`, `ICMP`, `ARP` or `raw`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::TcpSyn => "TCP",
            Self::Icmp => "ICMP",
            Self::Arp => "ARP",
            Self::Raw(_) => "raw",
        }
    }

    pub(super) fn has_ports(&self) -> bool {
        matches!(self, Self::Udp | Self::TcpSyn)
    }

    pub(super) fn has_payload(&self) -> bool {
        matches!(self, Self::Udp | Self::TcpSyn | Self::Icmp)
    }
}

/// A VXLAN tunnel around each packet.
///
/// The outer source port follows from the flow. The outer UDP checksum is 0 over IPv4 and correct over IPv6. The MAC
/// addresses inside are 02:00:00:00:00:01 and 02:00:00:00:00:02.
///
/// # Source
/// RFC 7348, 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VxlanTunnel {
    /// Network identifier, 24 bits.
    pub vni: u32,
    /// Outer source address.
    pub source: IpAddr,
    /// Outer destination address, of the same family.
    pub destination: IpAddr,
}
