//! Where the headers of a frame are.

use wire::dissect::{Network, Transport};
use wire::protocol::link_type;
use wire::{Ipv6, dissect};

/// The outermost network header, behind at most four VLAN tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderOffsets {
    pub network: NetworkKind,
    pub network_at: usize,
    pub transport: Option<TransportHeader>,
    pub is_fragment: bool,
    /// The end of the IP packet, if all of it is there.
    pub end: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkKind {
    Arp,
    Ipv4 { header_len: usize },
    Ipv6,
}

/// A transport header that is there as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransportHeader {
    pub at: usize,
    pub kind: TransportKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransportKind {
    Tcp,
    Udp { length: usize },
    Icmpv4,
    Icmpv6 { kind: u8 },
}

impl TransportHeader {
    pub fn checksum_at(self) -> usize {
        let offset = match self.kind {
            TransportKind::Tcp => 16,
            TransportKind::Udp { .. } => 6,
            TransportKind::Icmpv4 | TransportKind::Icmpv6 { .. } => 2,
        };
        self.at + offset
    }
}

impl HeaderOffsets {
    /// `None` if the frame has neither an IP header nor an ARP message.
    pub fn find(frame: &[u8]) -> Option<Self> {
        let summary = dissect(link_type::ETHERNET, frame);
        let network_at = summary.network_at()?;
        let (network, length) = match summary.network {
            Network::Arp(_) => (NetworkKind::Arp, 0),
            Network::Ipv4(header) => {
                let header_len = header.header_len();
                (
                    NetworkKind::Ipv4 { header_len },
                    header.total_length().into(),
                )
            }
            Network::Ipv6(header) => {
                let payload: usize = header.payload_length().into();
                // A jumbogram has length 0.
                let length = if payload == 0 { 0 } else { Ipv6::LEN + payload };
                (NetworkKind::Ipv6, length)
            }
            _ => return None,
        };
        let kind = match summary.transport {
            Transport::Tcp(_) => Some(TransportKind::Tcp),
            Transport::Udp(header) => Some(TransportKind::Udp {
                length: header.length().into(),
            }),
            Transport::Icmpv4(_) => Some(TransportKind::Icmpv4),
            Transport::Icmpv6(header) => Some(TransportKind::Icmpv6 {
                kind: header.kind(),
            }),
            _ => None,
        };
        let end = network_at + length;
        Some(Self {
            network,
            network_at,
            transport: summary
                .transport_at()
                .zip(kind)
                .map(|(at, kind)| TransportHeader { at, kind }),
            is_fragment: summary.fragment.is_some(),
            end: (length > 0 && end <= frame.len()).then_some(end),
        })
    }
}
