//! Whole frames, with lengths and checksums filled in.
//!
//! A frame is built from the outside in: [`Frame`] adds link-layer headers, [`IpFrame`] the
//! transport header, [`TransportFrame`] the payload.
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
//! A length that does not fit its field is encoded as 0, as Linux does for packets above 64 KiB.
//! Frames are not padded to Ethernet's minimum of 60 bytes.

use crate::checksum::{self, Sum};
use crate::protocol::{ethertype, ip};
use crate::{
    ArpFields, EthernetFields, FragmentFields, Icmpv4, Icmpv4Fields, Icmpv6, Ipv4, Ipv4Fields,
    Ipv6, Ipv6Fields, MacAddress, Tcp, TcpFields, TcpFlags, UdpFields, VlanFields, VxlanFields,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A frame under construction, with link-layer headers only.
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

    /// Adds a tag of IEEE 802.1Q for VLAN `id`, inside existing tags.
    #[must_use]
    pub fn vlan(self, id: u16) -> Self {
        let fields = VlanFields {
            id,
            ..VlanFields::default()
        };
        self.tag(ethertype::VLAN, fields)
    }

    /// Adds a service tag of IEEE 802.1ad for VLAN `id`, inside existing tags.
    #[must_use]
    pub fn service_vlan(self, id: u16) -> Self {
        let fields = VlanFields {
            id,
            ..VlanFields::default()
        };
        self.tag(ethertype::SERVICE_VLAN, fields)
    }

    /// Adds a tag with the TPID `protocol`. The `EtherType` in `fields` is replaced.
    #[must_use]
    pub fn tag(mut self, protocol: u16, fields: VlanFields) -> Self {
        self.announce(protocol);
        self.bytes.extend_from_slice(&fields.bytes());
        self
    }

    /// Finishes the frame with an ARP message.
    pub fn arp(self, fields: &ArpFields) -> Vec<u8> {
        self.payload(ethertype::ARP, &fields.bytes())
    }

    /// Finishes the frame with `payload` of the protocol `ethertype`.
    pub fn payload(mut self, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        self.announce(ethertype);
        self.bytes.extend_from_slice(payload);
        self.bytes
    }

    /// Adds an IPv4 header from `source` to `destination`.
    pub fn ipv4(self, source: Ipv4Addr, destination: Ipv4Addr) -> IpFrame {
        self.ipv4_with(Ipv4Fields::new(source, destination))
    }

    /// Adds an IPv4 header without options. Header length, total length, protocol and checksum in
    /// `fields` are replaced.
    pub fn ipv4_with(mut self, fields: Ipv4Fields) -> IpFrame {
        self.announce(ethertype::IPV4);
        IpFrame::ipv4(self.bytes, fields)
    }

    /// Adds an IPv6 header from `source` to `destination`.
    pub fn ipv6(self, source: Ipv6Addr, destination: Ipv6Addr) -> IpFrame {
        self.ipv6_with(Ipv6Fields::new(source, destination), &[])
    }

    /// Adds an IPv6 header and extension headers; payload length and next header in `fields` are
    /// computed.
    pub fn ipv6_with(mut self, fields: Ipv6Fields, extensions: &[Extension<'_>]) -> IpFrame {
        self.announce(ethertype::IPV6);
        IpFrame::ipv6(self.bytes, fields, extensions)
    }

    /// Sets the `EtherType` of the last header. Both possible headers end with it.
    fn announce(&mut self, ethertype: u16) {
        if let Some(last) = self.bytes.last_chunk_mut() {
            *last = ethertype.to_be_bytes();
        }
    }
}

/// `length` as a 16-bit field; 0 if it does not fit.
fn length_field(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(0).to_be_bytes()
}

/// An IPv6 extension header. Bodies are padded with zeros to a multiple of 8 bytes, and truncated
/// to the maximum of 2046 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Extension<'a> {
    /// Hop-by-hop options; a zero is a Pad1 option.
    HopByHop(&'a [u8]),
    /// A routing header, starting with the routing type.
    Routing(&'a [u8]),
    /// A fragment header; its next header is replaced.
    Fragment(FragmentFields),
    /// Destination options; a zero is a Pad1 option.
    Destination(&'a [u8]),
}

/// A frame under construction, with an IP header.
#[derive(Clone, Debug)]
pub struct IpFrame {
    bytes: Vec<u8>,
    header: IpHeader,
    /// Offset of the IP header in `bytes`.
    ip_at: usize,
    /// Offset of the next-header field of the last header.
    next_at: usize,
}

#[derive(Clone, Copy, Debug)]
enum IpHeader {
    V4(Ipv4Fields),
    V6(Ipv6Fields),
}

impl IpFrame {
    fn ipv4(mut bytes: Vec<u8>, mut fields: Ipv4Fields) -> Self {
        fields.header_len = Ipv4::LEN;
        let ip_at = bytes.len();
        bytes.extend_from_slice(&fields.bytes());
        let next_at = ip_at + 9;
        let header = IpHeader::V4(fields);
        Self {
            bytes,
            header,
            ip_at,
            next_at,
        }
    }

    fn ipv6(mut bytes: Vec<u8>, fields: Ipv6Fields, extensions: &[Extension<'_>]) -> Self {
        let ip_at = bytes.len();
        bytes.extend_from_slice(&fields.bytes());
        let mut frame = Self {
            bytes,
            header: IpHeader::V6(fields),
            ip_at,
            next_at: ip_at + 6,
        };
        for extension in extensions {
            match *extension {
                Extension::HopByHop(body) => frame.extend(ip::HOP_BY_HOP, body),
                Extension::Routing(body) => frame.extend(ip::ROUTING, body),
                Extension::Destination(body) => frame.extend(ip::DESTINATION, body),
                Extension::Fragment(fields) => {
                    frame.announce(ip::FRAGMENT);
                    frame.next_at = frame.bytes.len();
                    frame.bytes.extend_from_slice(&fields.bytes());
                }
            }
        }
        frame
    }

    /// Adds a UDP header.
    pub fn udp(self, source_port: u16, destination_port: u16) -> TransportFrame {
        let fields = UdpFields {
            source_port,
            destination_port,
            ..UdpFields::default()
        };
        self.transport(ip::UDP, TransportKind::Udp, &fields.bytes())
    }

    /// Adds a TCP header without options. Header length and checksum in `fields` are replaced.
    pub fn tcp(self, fields: TcpFields) -> TransportFrame {
        self.tcp_with(fields, &[])
    }

    /// Adds a TCP header with `options`, padded with zeros to a multiple of 4 bytes and truncated
    /// to 40 bytes.
    pub fn tcp_with(self, mut fields: TcpFields, options: &[u8]) -> TransportFrame {
        let options = &options[..options.len().min(40)];
        let mut padded = [0; 40];
        padded[..options.len()].copy_from_slice(options);
        let padded = &padded[..options.len().next_multiple_of(4)];
        fields.header_len = Tcp::LEN + padded.len();
        fields.checksum = 0;
        let mut frame = self.transport(ip::TCP, TransportKind::Tcp, &fields.bytes());
        frame.extend(padded);
        frame
    }

    /// Adds the header of a TCP segment that opens a connection: SYN, the largest window, no options.
    pub fn tcp_syn(self, source_port: u16, destination_port: u16, sequence: u32) -> TransportFrame {
        self.tcp(TcpFields {
            source_port,
            destination_port,
            sequence,
            flags: TcpFlags::SYN,
            window: u16::MAX,
            ..TcpFields::default()
        })
    }

    /// Adds the header of an echo request: ICMP for IPv4, `ICMPv6` for IPv6.
    pub fn echo_request(self, identifier: u16, sequence: u16) -> TransportFrame {
        let parameter = Icmpv4Fields::echo_request(identifier, sequence).parameter;
        let kind = match self.header {
            IpHeader::V4(_) => Icmpv4::ECHO_REQUEST,
            IpHeader::V6(_) => Icmpv6::ECHO_REQUEST,
        };
        self.icmp(Icmpv4Fields {
            kind,
            code: 0,
            checksum: 0,
            parameter,
        })
    }

    /// Adds a header of ICMP (for IPv4) or `ICMPv6` (for IPv6), which have the same layout. The
    /// checksum in `fields` is replaced.
    pub fn icmp(self, mut fields: Icmpv4Fields) -> TransportFrame {
        fields.checksum = 0;
        match self.header {
            IpHeader::V4(_) => self.transport(ip::ICMPV4, TransportKind::Icmpv4, &fields.bytes()),
            IpHeader::V6(_) => self.transport(ip::ICMPV6, TransportKind::Icmpv6, &fields.bytes()),
        }
    }

    /// Finishes the frame with `payload` of the IP protocol `protocol`, such as a fragment.
    pub fn payload(mut self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        self.announce(protocol);
        self.bytes.extend_from_slice(payload);
        self.finish()
    }

    const fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The checksum of the pseudo header for `length` bytes of `protocol`.
    fn pseudo_header(&self, protocol: u8, length: usize) -> Sum {
        let length = length as u32;
        match self.header {
            IpHeader::V4(h) => Sum::new().pseudo_ipv4(h.source, h.destination, protocol, length),
            IpHeader::V6(h) => Sum::new().pseudo_ipv6(h.source, h.destination, protocol, length),
        }
    }

    /// Sets the length, and in IPv4 the checksum.
    fn finish(mut self) -> Vec<u8> {
        let packet = &mut self.bytes[self.ip_at..];
        match self.header {
            IpHeader::V4(_) => {
                let length = length_field(packet.len());
                packet[2..4].copy_from_slice(&length);
                packet[10..12].fill(0);
                let checksum = checksum::internet(&packet[..Ipv4::LEN]);
                packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            IpHeader::V6(_) => {
                let length = length_field(packet.len() - Ipv6::LEN);
                packet[4..6].copy_from_slice(&length);
            }
        }
        self.bytes
    }

    fn transport(mut self, protocol: u8, kind: TransportKind, header: &[u8]) -> TransportFrame {
        self.announce(protocol);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(header);
        TransportFrame::new(self, kind, at)
    }

    /// Adds an extension header of type `protocol` with `body` after its first two bytes.
    fn extend(&mut self, protocol: u8, body: &[u8]) {
        let body = &body[..body.len().min(256 * 8 - 2)];
        let len = (2 + body.len()).next_multiple_of(8);
        self.announce(protocol);
        let at = self.bytes.len();
        self.next_at = at;
        self.bytes
            .extend_from_slice(&[ip::NO_NEXT_HEADER, (len / 8 - 1) as u8]);
        self.bytes.extend_from_slice(body);
        self.bytes.resize(at + len, 0);
    }

    fn announce(&mut self, protocol: u8) {
        self.bytes[self.next_at] = protocol;
    }
}

/// A frame under construction, with a transport header.
#[derive(Clone, Debug)]
pub struct TransportFrame {
    frame: IpFrame,
    kind: TransportKind,
    /// Offset of the transport header in the frame.
    at: usize,
}

/// The type of the transport header: it decides where the checksum is and what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransportKind {
    Tcp,
    Udp,
    Icmpv4,
    Icmpv6,
}

impl TransportFrame {
    const fn new(frame: IpFrame, kind: TransportKind, at: usize) -> Self {
        Self { frame, kind, at }
    }

    fn extend(&mut self, options: &[u8]) {
        self.frame.bytes_mut().extend_from_slice(options);
    }

    /// Finishes a UDP datagram with a VXLAN header and the Ethernet frame `inner`.
    pub fn vxlan(mut self, vni: u32, inner: &[u8]) -> Vec<u8> {
        self.extend(&VxlanFields { vni }.bytes());
        self.payload(inner)
    }

    /// Finishes the frame with `payload` and returns its bytes.
    pub fn payload(mut self, payload: &[u8]) -> Vec<u8> {
        self.extend(payload);
        let at = self.at;
        let length = self.frame.bytes_mut().len() - at;
        let (pseudo_header, checksum_at) = match self.kind {
            TransportKind::Tcp => (self.frame.pseudo_header(ip::TCP, length), 16),
            TransportKind::Udp => (self.frame.pseudo_header(ip::UDP, length), 6),
            TransportKind::Icmpv4 => (checksum::Sum::new(), 2),
            TransportKind::Icmpv6 => (self.frame.pseudo_header(ip::ICMPV6, length), 2),
        };
        let segment = &mut self.frame.bytes_mut()[at..];
        if self.kind == TransportKind::Udp {
            segment[4..6].copy_from_slice(&length_field(length));
        }
        let mut checksum = pseudo_header.bytes(segment).finish();
        if self.kind == TransportKind::Udp {
            checksum = checksum::udp_field(checksum);
        }
        segment[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        self.frame.finish()
    }
}
