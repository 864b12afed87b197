//! Where headers are in a frame, and which tunnel the term is in.

use crate::graph::values::Variable;
use crate::link_type::LinkType;

/// An offset in the packet: `constant`, plus the value of `base` if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub base: Option<Variable>,
    pub constant: u32,
}

impl Offset {
    pub(super) fn fixed(constant: u32) -> Self {
        Self {
            base: None,
            constant,
        }
    }

    pub(super) fn plus(self, bytes: u32) -> Self {
        Self {
            constant: self.constant.wrapping_add(bytes),
            ..self
        }
    }
}

/// A tunnel whose inner packet the rest of the filter tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tunnel {
    /// Every inner packet has an Ethernet header.
    Vxlan,
    /// An inner packet has an Ethernet header or none. Without one, header and payload have the
    /// same offset.
    Geneve,
    /// Ethernet frames of an emulated LAN over ATM. Packets with a marker in place of the header are control packets.
    LanEmulation,
}

/// The offsets of the headers that the next term of the filter tests.
///
/// `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` change them for all terms to their right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub link: LinkType,
    pub header: Offset,
    pub link_type: Option<Offset>,
    pub payload: Option<Offset>,
    /// Distance from the payload to the network header, after an EtherType or SNAP.
    pub network: u32,
    /// The same distance after LLC without SNAP; `None` if the link type has no such packets.
    pub network_nosnap: Option<u32>,
    pub labels: u32,
    pub vlans: u32,
    pub tunnel: Option<Tunnel>,
}

/// Variables for the offsets of the link-layer header and its payload, if they depend on the packet.
pub(super) const HEADER_OFFSET: Variable = Variable(0);
pub(super) const PAYLOAD_OFFSET: Variable = Variable(1);

impl Frame {
    /// The offset of the link-layer header, if the `known` variables determine it.
    pub(crate) fn start(&self, known: &[Option<u32>; 16]) -> Option<u32> {
        let base = match self.header.base {
            Some(base) => known[base.0 as usize % known.len()]?,
            None => 0,
        };
        Some(base.wrapping_add(self.header.constant))
    }

    pub(crate) fn of(link: LinkType) -> Self {
        let layout = Layout::of(link);
        let constant = match link {
            LinkType::Netanalyzer => 4,
            LinkType::NetanalyzerTransparent => 12,
            _ => 0,
        };
        let base = matches!(
            link,
            LinkType::Radiotap | LinkType::Ppi | LinkType::Prism | LinkType::Avs
        );
        let payload = if link.has_variable_headers() {
            let base = Some(PAYLOAD_OFFSET);
            Some(Offset { base, constant: 0 })
        } else {
            layout.payload.map(Offset::fixed)
        };
        Self {
            link,
            header: Offset {
                base: base.then_some(HEADER_OFFSET),
                constant,
            },
            link_type: layout.link_type.map(Offset::fixed),
            payload,
            network: layout.network,
            network_nosnap: layout.network_nosnap,
            labels: 0,
            vlans: 0,
            tunnel: None,
        }
    }
}

/// Where the fields of a link-layer header are, in bytes from the start of the packet.
///
/// # Source
/// `init_linktype`, gencode.c of libpcap.
struct Layout {
    link_type: Option<u32>,
    payload: Option<u32>,
    network: u32,
    network_nosnap: Option<u32>,
}

impl Layout {
    fn of(link: LinkType) -> Self {
        match link {
            LinkType::Ethernet => Self::typed(12, 14).without_snap(3),
            LinkType::DsaBroadcom | LinkType::DsaMarvell | LinkType::Netanalyzer => {
                Self::typed(16, 18).without_snap(3)
            }
            LinkType::NetanalyzerTransparent => Self::typed(24, 26).without_snap(3),
            LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 | LinkType::LocalTalk => {
                Self::untyped(0)
            }
            LinkType::FrameRelay | LinkType::Pflog => Self::untyped(0),
            LinkType::Null | LinkType::Loop => Self::typed(0, 4),
            LinkType::Enc => Self::typed(0, 12),
            LinkType::LinuxSll => Self::typed(14, 16),
            LinkType::LinuxSll2 => Self::typed(0, 20),
            LinkType::Ppp | LinkType::PppPppd | LinkType::PppSerial | LinkType::CiscoHdlc => {
                Self::typed(2, 4)
            }
            LinkType::PppEther => Self::typed(6, 8),
            LinkType::PppBsdos => Self::typed(5, 24),
            LinkType::Slip => Self::untyped(16),
            LinkType::SlipBsdos => Self::untyped(24),
            LinkType::Arcnet => Self::typed(2, 6),
            LinkType::ArcnetLinux => Self::typed(4, 8),
            LinkType::AppleIpOver1394 => Self::typed(16, 18),
            LinkType::SymantecFirewall => Self::typed(6, 44),
            LinkType::Fddi => Self::llc(13),
            LinkType::TokenRing => Self::llc(14),
            LinkType::AtmRfc1483 | LinkType::AtmClip => Self::llc(0),
            LinkType::SunAtm => Self::llc(4),
            LinkType::IpOverFc => Self::llc(16),
            LinkType::Wlan
            | LinkType::Radiotap
            | LinkType::Ppi
            | LinkType::Prism
            | LinkType::Avs => Self::llc(24),
            LinkType::Ipnet => Self::typed(1, 24).only_typed(),
            LinkType::Juniper(number) => Self::juniper(number),
            LinkType::BacnetMsTp
            | LinkType::Mtp2
            | LinkType::Mtp2WithHeader
            | LinkType::Erf
            | LinkType::Other(_) => Self {
                link_type: None,
                payload: None,
                network: 0,
                network_nosnap: None,
            },
        }
    }

    fn juniper(number: u16) -> Self {
        match number {
            // ATM1 and ATM2.
            137 => Self::typed(4, 4).without_snap(10),
            135 => Self::typed(8, 8).without_snap(10),
            // PPPOE and ETHER.
            167 | 178 => Self {
                network: 18,
                ..Self::typed(16, 14).without_snap(21)
            },
            // PPPOE_ATM, GGSN, MONITOR.
            168 => Self::typed(4, 6).only_typed(),
            133 => Self::typed(6, 12).only_typed(),
            164 => Self::typed(12, 12).only_typed(),
            // MLPPP, MLFR, MFR, PPP, FRELAY, CHDLC.
            130 | 131 | 134 | 179..=181 => Self::typed(4, 4).only_typed(),
            // The position of the network header is not known.
            _ => Self {
                payload: None,
                ..Self::typed(0, 0).only_typed()
            },
        }
    }

    /// A header with a type at `link_type`, before the network header at `payload`.
    fn typed(link_type: u32, payload: u32) -> Self {
        Self {
            link_type: Some(link_type),
            ..Self::untyped(payload)
        }
    }

    fn untyped(payload: u32) -> Self {
        Self {
            link_type: None,
            payload: Some(payload),
            network: 0,
            network_nosnap: Some(0),
        }
    }

    /// Every packet has an LLC header at `payload`.
    fn llc(payload: u32) -> Self {
        Self {
            network: 8,
            ..Self::typed(payload, payload).without_snap(3)
        }
    }

    fn without_snap(self, bytes: u32) -> Self {
        Self {
            network_nosnap: Some(bytes),
            ..self
        }
    }

    fn only_typed(self) -> Self {
        Self {
            network_nosnap: None,
            ..self
        }
    }
}

/// Offsets of the source and the destination address in a header with addresses of six bytes, other than that of 802.11.
pub(super) fn mac_offsets(link: LinkType) -> Option<(u32, u32)> {
    match link {
        link if link.is_ethernet() => Some((6, 0)),
        LinkType::Fddi => Some((7, 1)),
        LinkType::TokenRing => Some((8, 2)),
        LinkType::IpOverFc => Some((10, 2)),
        _ => None,
    }
}
