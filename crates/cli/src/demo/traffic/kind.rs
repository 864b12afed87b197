//! The kinds of traffic that the demo sends, and recognises in a file.

use tapline::packet::dissect::{Network, Transport};
use tapline::packet::protocol::link_type;
use tapline::packet::{MacAddress, dissect};

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
    /// Packets that the demo did not send.
    Other,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = Self::Other as usize + 1;

    /// The kinds that the demo sends, in order.
    pub const SENT: [Self; 10] = [
        Self::Tcp4,
        Self::Tcp6,
        Self::Udp4,
        Self::Udp6,
        Self::Broadcast,
        Self::Echo4,
        Self::Echo6,
        Self::Arp,
        Self::Vlan,
        Self::QinQ,
    ];

    /// Its names in JSON and in text.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Tcp4 => ("tcp4", "TCP over IPv4"),
            Self::Tcp6 => ("tcp6", "TCP over IPv6"),
            Self::Udp4 => ("udp4", "UDP over IPv4"),
            Self::Udp6 => ("udp6", "UDP over IPv6"),
            Self::Broadcast => ("broadcast", "UDP broadcast"),
            Self::Echo4 => ("echo4", "ICMP echo"),
            Self::Echo6 => ("echo6", "ICMPv6 echo"),
            Self::Arp => ("arp", "ARP"),
            Self::Vlan => ("vlan", "802.1Q VLAN"),
            Self::QinQ => ("qinq", "802.1ad QinQ"),
            Self::Other => ("other", "other"),
        }
    }

    /// The kind of an Ethernet frame.
    pub fn of(frame: &[u8]) -> Self {
        let summary = dissect(link_type::ETHERNET, frame);
        let is_broadcast = summary.destination_mac() == Some(MacAddress::BROADCAST);
        match (summary.vlans().count(), summary.network, summary.transport) {
            (1, ..) => Self::Vlan,
            (2.., ..) => Self::QinQ,
            (_, Network::Arp(_), _) => Self::Arp,
            (_, Network::Ipv4(_), Transport::Udp(_)) if is_broadcast => Self::Broadcast,
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

    use tapline::packet::build::Frame;
    use tapline::packet::{Icmpv4Fields, TcpFields};

    use super::*;

    #[test]
    fn the_kind_of_a_frame_is_recognised() {
        let [a, b] = [1, 2].map(|last| MacAddress([2, 0, 0, 0, 0, last]));
        let frame = || Frame::ethernet(a, b);
        let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let ipv4 = || frame().ipv4(v4, v4);
        let ipv6 = || frame().ipv6(v6, v6);
        let broadcast = Frame::ethernet(a, MacAddress::BROADCAST).ipv4(v4, v4);
        let unreachable = Icmpv4Fields {
            kind: 3,
            code: 3,
            checksum: 0,
            parameter: [0; 4],
        };
        for (kind, bytes) in [
            (Kind::Udp4, ipv4().udp(1, 2).payload(b"")),
            (Kind::Udp6, ipv6().udp(1, 2).payload(b"")),
            (Kind::Broadcast, broadcast.udp(1, 2).payload(b"")),
            (Kind::Tcp4, ipv4().tcp(TcpFields::default()).payload(b"")),
            (Kind::Tcp6, ipv6().tcp(TcpFields::default()).payload(b"")),
            (Kind::Echo4, ipv4().echo_request(1, 2).payload(b"")),
            (Kind::Echo6, ipv6().echo_request(1, 2).payload(b"")),
            (
                Kind::Vlan,
                frame().vlan(5).ipv4(v4, v4).udp(1, 2).payload(b""),
            ),
            (
                Kind::QinQ,
                frame().service_vlan(5).vlan(6).payload(0x0806, b""),
            ),
            (Kind::Other, ipv4().icmp(unreachable).payload(b"")),
            (Kind::Other, vec![0; 3]),
        ] {
            assert_eq!(Kind::of(&bytes), kind);
        }
    }
}
