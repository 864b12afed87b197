//! Hooks of counting programs, and the packet kinds for which each hook generates code.

use filter::ebpf::{KnownProtocol, PacketAssumptions, TagLocation};
use filter::{FilterTarget, LinkType};

/// Where a counting program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountingHook {
    pub(super) at: FilterTarget,
    pub(super) header: Header,
}

/// The first header of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Header {
    Ethernet,
    Ip,
    Other,
}

impl CountingHook {
    /// `at` is [`FilterTarget::Xdp`], [`FilterTarget::TcIngress`] or [`FilterTarget::TcEgress`].
    pub fn new(at: FilterTarget, link: LinkType) -> Self {
        let header = match link {
            LinkType::Ethernet => Header::Ethernet,
            LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => Header::Ip,
            _ => Header::Other,
        };
        Self { at, header }
    }

    /// The target to compile filters for. At XDP, the program passes them the outermost VLAN tag as the kernel does
    /// at tc.
    pub fn filters_at(self) -> FilterTarget {
        match (self.at, self.header) {
            (FilterTarget::Xdp, Header::Ethernet) => FilterTarget::TcIngress,
            (at, _) => at,
        }
    }

    pub(super) fn is_xdp(self) -> bool {
        self.at == FilterTarget::Xdp
    }

    pub(super) fn is_egress(self) -> bool {
        self.at == FilterTarget::TcEgress
    }

    /// Where the outermost tag can be.
    pub(super) fn tags(self) -> &'static [TagLocation] {
        match (self.at, self.header) {
            (FilterTarget::Xdp, Header::Ethernet) => &[TagLocation::Absent, TagLocation::InBytes],
            // In metadata, or in the packet bytes if a program wrote the whole frame.
            (FilterTarget::TcEgress, Header::Ethernet) => {
                &[TagLocation::TargetDefault, TagLocation::InBytes]
            }
            _ => &[TagLocation::TargetDefault],
        }
    }

    /// The kinds of packets for which code is generated.
    pub(super) fn shapes(self) -> Vec<PacketAssumptions> {
        let target = self.at;
        let packets: &[KnownProtocol] = match self.header {
            Header::Ethernet => &[
                KnownProtocol::Tcp4,
                KnownProtocol::Udp4,
                KnownProtocol::Tcp6,
                KnownProtocol::Udp6,
                KnownProtocol::Any,
            ],
            _ => &[KnownProtocol::Any],
        };
        let of = |&tag| {
            packets.iter().map(move |&protocol| PacketAssumptions {
                target,
                tag,
                protocol,
            })
        };
        self.tags().iter().flat_map(of).collect()
    }
}
