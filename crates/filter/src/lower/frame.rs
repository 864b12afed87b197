use crate::LinkType;
use crate::graph::values::Variable;

/// A place in the packet: `constant` bytes behind a variable's, or behind the packet's start.
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

/// A protocol that the rest of the filter looks inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tunnel {
    /// Every packet has an Ethernet header.
    Vxlan,
    /// A packet has an Ethernet header or none: then header and payload start at one place.
    Geneve,
}

/// Where the headers are that the next term of the filter asks about.
///
/// `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` change it for everything to their right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub link: LinkType,
    pub header: Offset,
    pub link_type: Option<Offset>,
    pub payload: Option<Offset>,
    /// From the payload's start to the network header behind EtherType or SNAP.
    pub network: u32,
    /// The same behind LLC without SNAP.
    pub network_nosnap: u32,
    pub labels: u32,
    pub vlans: u32,
    pub tunnel: Option<Tunnel>,
}

/// Variables of the headers in front of an 802.11 frame.
pub(super) const WLAN_HEADER: Variable = Variable(0);
pub(super) const WLAN_PAYLOAD: Variable = Variable(1);

impl Frame {
    /// Where the link header is, if that is known once variables are `known`.
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
