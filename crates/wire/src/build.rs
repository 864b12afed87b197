//! Whole frames, with lengths and checksums filled in.
//!
//! A frame is written from the outside in: [`Frame`] takes the link layer, [`IpFrame`] what IP
//! carries, [`TransportFrame`] the payload.
//!
//! ```
//! use tapline_wire::{MacAddress, build::Frame};
//!
//! let [a, b] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
//! let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
//! let frame = Frame::ethernet(a, b).vlan(7).ipv4(c, d).udp(1024, 53).payload(b"hello");
//! assert_eq!(frame.len(), 14 + 4 + 20 + 8 + 5);
//! ```
//!
//! A length that does not fit its field is written as 0, which is what Linux does with packets above
//! 64 KiB. Frames are not padded to Ethernet's 60 bytes.

mod ip;
mod transport;

pub use ip::{Extension, IpFrame};
pub use transport::TransportFrame;

use crate::protocol::ethertype;
use crate::{ArpFields, EthernetFields, Ipv4Fields, Ipv6Fields, MacAddress, VlanFields};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A frame whose link layer is being written.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    /// An Ethernet frame from `source` to `destination`.
    pub fn ethernet(source: MacAddress, destination: MacAddress) -> Self {
        let fields = EthernetFields {
            destination,
            source,
            ethertype: 0,
        };
        Self {
            bytes: fields.bytes().to_vec(),
        }
    }

    /// A packet without a link-layer header (`LINKTYPE_RAW`).
    pub const fn raw() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Adds a tag of IEEE 802.1Q for VLAN `id`, inside the tags there are.
    #[must_use]
    pub fn vlan(self, id: u16) -> Self {
        let fields = VlanFields {
            id,
            ..VlanFields::default()
        };
        self.tag(ethertype::VLAN, fields)
    }

    /// Adds a service tag of IEEE 802.1ad for VLAN `id`, inside the tags there are.
    #[must_use]
    pub fn service_vlan(self, id: u16) -> Self {
        let fields = VlanFields {
            id,
            ..VlanFields::default()
        };
        self.tag(ethertype::SERVICE_VLAN, fields)
    }

    /// Adds a tag that `protocol` announces; the `EtherType` in `fields` is replaced by what follows.
    #[must_use]
    pub fn tag(mut self, protocol: u16, fields: VlanFields) -> Self {
        self.announce(protocol);
        self.bytes.extend_from_slice(&fields.bytes());
        self
    }

    /// Ends the frame with an ARP message.
    pub fn arp(self, fields: &ArpFields) -> Vec<u8> {
        self.payload(ethertype::ARP, &fields.bytes())
    }

    /// Ends the frame with `payload` of the protocol `ethertype`.
    pub fn payload(mut self, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        self.announce(ethertype);
        self.bytes.extend_from_slice(payload);
        self.bytes
    }

    /// Adds an IPv4 header from `source` to `destination`.
    pub fn ipv4(self, source: Ipv4Addr, destination: Ipv4Addr) -> IpFrame {
        self.ipv4_with(Ipv4Fields::new(source, destination))
    }

    /// Adds an IPv4 header without options; header length, total length, protocol and checksum in
    /// `fields` are replaced by the right ones.
    pub fn ipv4_with(mut self, fields: Ipv4Fields) -> IpFrame {
        self.announce(ethertype::IPV4);
        IpFrame::ipv4(self.bytes, fields)
    }

    /// Adds an IPv6 header from `source` to `destination`.
    pub fn ipv6(self, source: Ipv6Addr, destination: Ipv6Addr) -> IpFrame {
        self.ipv6_with(Ipv6Fields::new(source, destination), &[])
    }

    /// Adds an IPv6 header and extension headers; payload length and next header in `fields` are
    /// replaced by the right ones.
    pub fn ipv6_with(mut self, fields: Ipv6Fields, extensions: &[Extension<'_>]) -> IpFrame {
        self.announce(ethertype::IPV6);
        IpFrame::ipv6(self.bytes, fields, extensions)
    }

    /// Writes what follows into the `EtherType` of the last header. Both headers that come before
    /// end with it.
    fn announce(&mut self, ethertype: u16) {
        if let Some(last) = self.bytes.last_chunk_mut() {
            *last = ethertype.to_be_bytes();
        }
    }
}

/// `length` as a 16-bit field, 0 where it does not fit.
fn length_field(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(0).to_be_bytes()
}
