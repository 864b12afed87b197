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
    /// The same distance after LLC without SNAP.
    pub network_nosnap: u32,
    pub labels: u32,
    pub vlans: u32,
    pub tunnel: Option<Tunnel>,
}

/// Variables for the offsets of an 802.11 frame and its payload.
pub(super) const WLAN_HEADER: Variable = Variable(0);
pub(super) const WLAN_PAYLOAD: Variable = Variable(1);

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
        let fixed = |at| Some(Offset::fixed(at));
        let (link_type, payload, network, network_nosnap) = match link {
            LinkType::Ethernet => (fixed(12), fixed(14), 0, 3),
            LinkType::DsaBroadcom | LinkType::DsaMarvell => (fixed(16), fixed(18), 0, 3),
            LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => (None, fixed(0), 0, 0),
            LinkType::Null | LinkType::Loop => (fixed(0), fixed(4), 0, 0),
            LinkType::LinuxSll => (fixed(14), fixed(16), 0, 0),
            LinkType::LinuxSll2 => (fixed(0), fixed(20), 0, 0),
            LinkType::Ppp | LinkType::CiscoHdlc => (fixed(2), fixed(4), 0, 0),
            LinkType::Slip => (None, fixed(16), 0, 0),
            LinkType::ArcnetLinux => (fixed(4), fixed(8), 0, 0),
            LinkType::BacnetMsTp | LinkType::Mtp2 => (None, None, 0, 0),
            LinkType::Wlan | LinkType::Radiotap | LinkType::Ppi => {
                let payload = Offset {
                    base: Some(WLAN_PAYLOAD),
                    constant: 0,
                };
                (fixed(24), Some(payload), 8, 3)
            }
        };
        let base = matches!(link, LinkType::Radiotap | LinkType::Ppi).then_some(WLAN_HEADER);
        Self {
            link,
            header: Offset { base, constant: 0 },
            link_type,
            payload,
            network,
            network_nosnap,
            labels: 0,
            vlans: 0,
            tunnel: None,
        }
    }
}
