//! The kinds of traffic, and which of them a packet is.

use wire::dissect::{Network, Transport};
use wire::{MacAddress, dissect, protocol::link_type};

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tcp4,
    Tcp6,
    Udp4,
    Udp6,
    Broadcast,
    Echo4,
    Echo6,
    Arp,
    Vlan,
    QinQ,
    /// What nobody meant to send.
    Other,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = Self::Other as usize + 1;

    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tcp4 => "tcp4",
            Self::Tcp6 => "tcp6",
            Self::Udp4 => "udp4",
            Self::Udp6 => "udp6",
            Self::Broadcast => "broadcast",
            Self::Echo4 => "echo4",
            Self::Echo6 => "echo6",
            Self::Arp => "arp",
            Self::Vlan => "vlan",
            Self::QinQ => "qinq",
            Self::Other => "other",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp4 => "TCP over IPv4",
            Self::Tcp6 => "TCP over IPv6",
            Self::Udp4 => "UDP over IPv4",
            Self::Udp6 => "UDP over IPv6",
            Self::Broadcast => "UDP broadcast",
            Self::Echo4 => "ICMP echo",
            Self::Echo6 => "ICMPv6 echo",
            Self::Arp => "ARP",
            Self::Vlan => "802.1Q VLAN",
            Self::QinQ => "802.1ad QinQ",
            Self::Other => "other",
        }
    }

    /// The kind of an Ethernet frame.
    pub fn of(frame: &[u8]) -> Self {
        let summary = dissect(link_type::ETHERNET, frame);
        let to_all = summary.destination_mac() == Some(MacAddress::BROADCAST);
        match (summary.vlans().count(), summary.network, summary.transport) {
            (1, ..) => Self::Vlan,
            (2.., ..) => Self::QinQ,
            (_, Network::Arp(_), _) => Self::Arp,
            (_, Network::Ipv4(_), Transport::Udp(_)) if to_all => Self::Broadcast,
            (_, Network::Ipv4(_), Transport::Udp(_)) => Self::Udp4,
            (_, Network::Ipv6(_), Transport::Udp(_)) => Self::Udp6,
            (_, Network::Ipv4(_), Transport::Tcp(_)) => Self::Tcp4,
            (_, Network::Ipv6(_), Transport::Tcp(_)) => Self::Tcp6,
            (_, _, Transport::Icmpv4(header)) if header.echo().is_some() => Self::Echo4,
            (_, _, Transport::Icmpv6(header)) if header.echo().is_some() => Self::Echo6,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use wire::build::Frame;
    use wire::{Icmpv4Fields, TcpFields};

    use super::*;

    #[test]
    fn a_frame_is_of_its_kind() {
        let [a, b] = [
            MacAddress([2, 0, 0, 0, 0, 1]),
            MacAddress([2, 0, 0, 0, 0, 2]),
        ];
        let frame = || Frame::ethernet(a, b);
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let unreachable = Icmpv4Fields {
            kind: 3,
            code: 3,
            checksum: 0,
            parameter: [0; 4],
        };
        let to_all = Frame::ethernet(a, MacAddress::BROADCAST);
        for (kind, bytes) in [
            (Kind::Udp4, frame().ipv4(v4, v4).udp(1, 2).payload(b"")),
            (Kind::Udp6, frame().ipv6(v6, v6).udp(1, 2).payload(b"")),
            (Kind::Broadcast, to_all.ipv4(v4, v4).udp(1, 2).payload(b"")),
            (
                Kind::Tcp4,
                frame().ipv4(v4, v4).tcp(TcpFields::default()).payload(b""),
            ),
            (
                Kind::Tcp6,
                frame().ipv6(v6, v6).tcp(TcpFields::default()).payload(b""),
            ),
            (
                Kind::Echo4,
                frame().ipv4(v4, v4).echo_request(1, 2).payload(b""),
            ),
            (
                Kind::Echo6,
                frame().ipv6(v6, v6).echo_request(1, 2).payload(b""),
            ),
            (
                Kind::Vlan,
                frame().vlan(5).ipv4(v4, v4).udp(1, 2).payload(b""),
            ),
            (
                Kind::QinQ,
                frame().service_vlan(5).vlan(6).payload(0x0806, b""),
            ),
            (
                Kind::Other,
                frame().ipv4(v4, v4).icmp(unreachable).payload(b""),
            ),
            (Kind::Other, vec![0; 3]),
        ] {
            assert_eq!(Kind::of(&bytes), kind);
        }
    }
}
