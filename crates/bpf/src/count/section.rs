//! Where a program runs, and the kinds of packets that it tells apart.

use filter::ebpf::{Packet, Shape, Tag};
use filter::{At, LinkType};

/// Where a counting program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountingPlace {
    pub(super) at: At,
    pub(super) header: Header,
}

/// What packets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Ethernet,
    Ip,
    Other,
}

impl CountingPlace {
    /// `at` is [`At::Xdp`], [`At::TcIngress`] or [`At::TcEgress`].
    pub fn new(at: At, link: LinkType) -> Self {
        let header = match link {
            LinkType::Ethernet => Header::Ethernet,
            LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => Header::Ip,
            _ => Header::Other,
        };
        Self { at, header }
    }

    /// What filters for this place are to be compiled for ([`filter::Options::at`]): in XDP they are
    /// told of the outermost VLAN tag as at tc.
    pub fn filters_at(self) -> At {
        match (self.at, self.header) {
            (At::Xdp, Header::Ethernet) => At::TcIngress,
            (at, _) => at,
        }
    }

    pub(super) fn is_xdp(self) -> bool {
        self.at == At::Xdp
    }

    pub(super) fn is_egress(self) -> bool {
        self.at == At::TcEgress
    }

    /// Where the outermost tag can be.
    pub(super) fn tags(self) -> &'static [Tag] {
        match (self.at, self.header) {
            (At::Xdp, Header::Ethernet) => &[Tag::Absent, Tag::InBytes],
            // Beside the bytes, or in them where a program wrote the whole frame.
            (At::TcEgress, Header::Ethernet) => &[Tag::AsPlaced, Tag::InBytes],
            _ => &[Tag::AsPlaced],
        }
    }

    /// The kinds of packets that code is written for.
    pub(super) fn shapes(self) -> Vec<Shape> {
        let at = self.at;
        let packets: &[Packet] = match self.header {
            Header::Ethernet => &[
                Packet::Tcp4,
                Packet::Udp4,
                Packet::Tcp6,
                Packet::Udp6,
                Packet::Any,
            ],
            _ => &[Packet::Any],
        };
        let of = |&tag| packets.iter().map(move |&packet| Shape { at, tag, packet });
        self.tags().iter().flat_map(of).collect()
    }
}
