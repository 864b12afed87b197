//! One link type for packets of all interfaces: the Linux "cooked" header, version 2, with the interface of each packet.
//!
//! ```text
//! ┌──────────┬──────────┬───────────────┬────────┬──────┬────────┬─────────────────┐
//! │ protocol │ reserved │ interface     │ ARPHRD │ type │ length │ sender's address│ payload …
//! │ 2 bytes  │ 2        │ index, 4      │ 2      │ 1    │ 1      │ 8, padded       │
//! └──────────┴──────────┴───────────────┴────────┴──────┴────────┴─────────────────┘
//! ```
//!
//! All numbers are big-endian.
//!
//! # Source
//! <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>.

use ring::InterfaceInfo;
use store::model::{Interface, LinkType, Packet};
use wire::metadata::{Direction, Reception};

const HEADER_BYTES: usize = 20;
const ETHERNET_BYTES: usize = 14;

// `ARPHRD_*`, linux/if_arp.h.
const ARPHRD_ETHER: u16 = 1;
const ARPHRD_LOOPBACK: u16 = 772;
const ARPHRD_NONE: u16 = 0xfffe;

// Pseudo protocols, linux/if_ether.h.
const ETH_P_802_3: u16 = 1;
const ETH_P_802_2: u16 = 4;

/// Smaller values of the type field are lengths (IEEE 802.3).
const MIN_TYPE: u16 = 0x0600;

/// Replaces link-layer headers by cooked ones, in a buffer that each packet reuses.
#[derive(Debug, Default)]
pub struct CookedWriter(Vec<u8>);

/// Whether packets of this link type can be cooked.
pub fn supports(link_type: u16) -> bool {
    link_type == LinkType::ETHERNET.0 || link_type == LinkType::RAW.0
}

/// Describes an interface whose packets are cooked.
pub fn describe(interface: &mut Interface) {
    interface.link_type = LinkType::LINUX_SLL2;
    if interface.snaplen != 0 {
        interface.snaplen = interface.snaplen.saturating_add(HEADER_BYTES as u32);
    }
}

impl CookedWriter {
    /// `packet` of `link`, with the cooked header instead of its own. A VLAN tag becomes part of the payload.
    pub fn cook<'p>(&'p mut self, packet: &Packet<'p>, link: &InterfaceInfo) -> Packet<'p> {
        let is_ethernet = link.link_type == LinkType::ETHERNET.0;
        let link_bytes = if is_ethernet { ETHERNET_BYTES } else { 0 };
        let (header, payload) = packet.bytes.split_at(link_bytes.min(packet.bytes.len()));
        let (protocol, hardware) = match (is_ethernet, link.loopback) {
            (true, false) => (ethernet_protocol(header, payload), ARPHRD_ETHER),
            (true, true) => (ethernet_protocol(header, payload), ARPHRD_LOOPBACK),
            (false, _) => (raw_protocol(payload), ARPHRD_NONE),
        };
        let sender = header.get(6..12).unwrap_or_default();
        let bytes = &mut self.0;
        bytes.clear();
        bytes.extend(protocol.to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(link.index.to_be_bytes());
        bytes.extend(hardware.to_be_bytes());
        bytes.extend([packet_type(packet), sender.len() as u8]);
        bytes.extend(sender);
        bytes.resize(HEADER_BYTES, 0);
        bytes.extend(payload);
        let without = packet.original_len.saturating_sub(link_bytes as u32);
        Packet {
            bytes,
            original_len: without.saturating_add(HEADER_BYTES as u32),
            ..*packet
        }
    }
}

/// As `eth_type_trans`, net/ethernet/eth.c. A header that is cut off has none.
fn ethernet_protocol(header: &[u8], payload: &[u8]) -> u16 {
    let Some(&[high, low]) = header.get(12..14) else {
        return 0;
    };
    match u16::from_be_bytes([high, low]) {
        protocol @ MIN_TYPE.. => protocol,
        _ if payload.starts_with(&[0xff, 0xff]) => ETH_P_802_3,
        _ => ETH_P_802_2,
    }
}

fn raw_protocol(payload: &[u8]) -> u16 {
    match payload.first().map(|first| first >> 4) {
        Some(4) => wire::protocol::ethertype::IPV4,
        Some(6) => wire::protocol::ethertype::IPV6,
        _ => 0,
    }
}

/// `PACKET_*`, linux/if_packet.h.
fn packet_type(packet: &Packet<'_>) -> u8 {
    match (packet.direction, packet.reception) {
        (Some(Direction::Out), _) => 4,
        (_, Some(Reception::Broadcast)) => 1,
        (_, Some(Reception::Multicast)) => 2,
        (_, Some(Reception::Promiscuous)) => 3,
        _ => 0,
    }
}
