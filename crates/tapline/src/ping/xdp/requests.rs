//! The frames of requests, without what the programs write.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};

use netlink::{IfIndex, Link, LinkKind, MacAddress};
use wire::build::Frame;
use wire::protocol::ethertype;
use wire::{Ipv4, Ipv4Fields, Ipv6, Ipv6Fields, VlanFields};

use crate::ping::options::PingOptions;

/// Bytes of an ICMP header.
const ECHO_BYTES: usize = 8;
/// Least length of an Ethernet frame without its checksum.
const MIN_FRAME_BYTES: usize = 60;

/// The tag of a VLAN interface, whose requests leave through its lower interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VlanTag {
    pub lower: IfIndex,
    protocol: u16,
    id: u16,
}

impl VlanTag {
    /// Bytes of a tag.
    pub const BYTES: u8 = 4;

    /// The tag of the interface, if it is a VLAN.
    pub fn of(link: &Link) -> Option<Self> {
        let Some(LinkKind::Vlan(vlan)) = link.link_kind() else {
            return None;
        };
        Some(Self {
            lower: link.lower?,
            protocol: vlan.protocol.map_or(ethertype::VLAN, u16::from),
            id: vlan.id?,
        })
    }
}

/// Bytes of a request from its IP header on.
pub(super) fn request_bytes(is_ipv6: bool, payload_bytes: usize) -> usize {
    let header_bytes = if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN };
    header_bytes + ECHO_BYTES + payload_bytes
}

/// The request of a family that leaves by `link`, without IP addresses; `payload` begins with room for the cookie.
pub(super) fn request(
    link: &Link,
    mac: MacAddress,
    is_ipv6: bool,
    identifier: u16,
    payload: &[u8],
    options: &PingOptions,
) -> Vec<u8> {
    let (mac, tag) = (wire::MacAddress(mac.0), VlanTag::of(link));
    let mut frame = Frame::ethernet(mac, mac);
    if let Some(tag) = tag {
        let fields = VlanFields {
            id: tag.id,
            ..VlanFields::default()
        };
        frame = frame.tag(tag.protocol, fields);
    }
    let (dscp, ecn) = (options.tos >> 2, options.tos & 3);
    let packet = if is_ipv6 {
        let mut fields = Ipv6Fields::new(Ipv6Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        let of_link = || hops(&format!("ipv6/conf/{}/hop_limit", link.ifname()));
        fields.hop_limit = options.ttl.unwrap_or_else(of_link);
        fields.traffic_class = options.tos;
        frame.ipv6_with(fields, &[])
    } else {
        let mut fields = Ipv4Fields::new(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
        fields.ttl = options.ttl.unwrap_or_else(|| hops("ipv4/ip_default_ttl"));
        (fields.dscp, fields.ecn) = (dscp, ecn);
        fields.dont_fragment = true;
        frame.ipv4_with(fields)
    };
    let mut frame = packet.echo_request(identifier, 0).payload(payload);
    frame.resize(frame.len().max(MIN_FRAME_BYTES), 0);
    frame
}

/// The sysctl `net/NAME` as a number of hops.
fn hops(name: &str) -> u8 {
    let text = fs::read_to_string(format!("/proc/sys/net/{name}"));
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.unwrap_or(64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink::{Vlan, VlanProtocol};

    /// Bytes as in IEEE 802.1Q, 9.6: TPID, then priority and identifier, then the EtherType of the packet.
    #[test]
    fn an_interface_of_a_vlan_tags_its_frames() {
        let mac = MacAddress([2, 0, 0, 0, 0, 1]);
        let frame = |link: &Link| {
            let tag = VlanTag::of(link);
            let frame = request(link, mac, false, 1, &[0; 56], &PingOptions::default());
            (tag.map(|tag| tag.lower), frame)
        };
        let vlan = |vlan: Vlan| Link::new().lower(IfIndex(3)).kind(vlan.id(7));
        let (lower, tagged) = frame(&vlan(Vlan::new()));
        assert_eq!(
            (lower, tagged.len()),
            (Some(IfIndex(3)), 14 + 4 + 20 + 8 + 56)
        );
        assert_eq!(tagged[12..18], [0x81, 0, 0, 7, 8, 0]);
        let provider = Vlan::new().protocol(VlanProtocol::Dot1Ad);
        assert_eq!(frame(&vlan(provider)).1[12..18], [0x88, 0xa8, 0, 7, 8, 0]);
        let (lower, plain) = frame(&Link::new());
        assert_eq!((lower, &plain[12..14]), (None, &[8, 0][..]));
    }
}
