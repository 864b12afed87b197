//! One frame from which all others are made: what varies is 0 in it, and is written into each copy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::build::{Frame, IpFrame};
use wire::checksum::{Sum, udp_field};
use wire::protocol::ip as protocol;
use wire::stamp::{Stamp, StampOffsets};
use wire::{ArpFields, ArpOperation, Ethernet, Ipv4, Ipv4Fields, Ipv6, MacAddress, Vlan, Vxlan};

use super::flows::Flow;
use super::kind::{PacketKind, VxlanTunnel};
use super::values::Random;

/// The identifier of generated echo requests.
const ECHO_IDENTIFIER: u16 = 0x7461;

/// MAC addresses inside a tunnel.
const INNER_MACS: [MacAddress; 2] = [
    MacAddress([2, 0, 0, 0, 0, 1]),
    MacAddress([2, 0, 0, 0, 0, 2]),
];

/// The first of the ports from which tunnels are sent, a power of two with as many ports as are above it.
///
/// # Source
/// RFC 7348, 5.
const TUNNEL_PORTS: u16 = 0xc000;

/// Random numbers that follow from a flow's number; fields and lengths use others.
const SEQUENCE_STREAM: u64 = 5;
const TUNNEL_STREAM: u64 = 6;

/// What differs from frame to frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variables {
    pub flow: Flow,
    pub flow_number: u64,
    pub packet_number: u64,
    pub stream: Option<u16>,
}

/// The link-layer header and the tunnel of each frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct OuterHeaders {
    pub source: MacAddress,
    pub destination: MacAddress,
    pub vlan: Option<u16>,
    pub tunnel: Option<VxlanTunnel>,
}

/// The longest frame with all variable fields 0, and the places of those.
#[derive(Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    /// Length of all headers.
    headers: usize,
    /// The longest frame whose length fits its fields.
    most: usize,
    tunnel: Option<Tunnel>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Transport(Segment),
    /// An ARP message at this offset.
    Arp(usize),
    /// Nothing varies.
    Fixed,
}

/// An IP header.
#[derive(Clone, Copy, Debug)]
struct IpHeader {
    at: usize,
    is_ipv6: bool,
    /// Of the fields that do not vary.
    sum: Sum,
}

/// A transport header behind an IP header.
#[derive(Debug)]
struct Segment {
    ip: IpHeader,
    at: usize,
    checksum_at: usize,
    kind: SegmentKind,
    /// Of the fields that do not vary and of the protocol in the pseudo header.
    sum: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentKind {
    Udp,
    Tcp,
    Icmpv4,
    Icmpv6,
}

/// The outer headers of a VXLAN packet.
#[derive(Debug)]
struct Tunnel {
    ip: IpHeader,
    udp_at: usize,
    source: u128,
    destination: u128,
}

impl Template {
    /// The template of packets of `kind` in this family.
    pub fn new(kind: &PacketKind, is_ipv6: bool, outer: &OuterHeaders) -> Self {
        let link = Frame::ethernet(outer.source, outer.destination);
        let link = match outer.vlan {
            Some(id) => link.vlan(id),
            None => link,
        };
        let link_len = Ethernet::LEN + outer.vlan.map_or(0, |_| Vlan::LEN);
        if let PacketKind::Raw(frame) = kind {
            return Self::raw(frame, outer);
        }
        let Some(tunnel) = outer.tunnel else {
            let bytes = packet(link, kind, is_ipv6, outer.source);
            return Self::of(bytes, kind, is_ipv6, link_len, None);
        };
        let [source, destination] = INNER_MACS;
        let inner = packet(
            Frame::ethernet(source, destination),
            kind,
            is_ipv6,
            INNER_MACS[0],
        );
        let outer = headers(link, tunnel.source.is_ipv6());
        let bytes = outer.udp(0, Vxlan::PORT).vxlan(tunnel.vni, &inner);
        let inner_at = bytes.len() - inner.len();
        Self::of(
            bytes,
            kind,
            is_ipv6,
            inner_at + Ethernet::LEN,
            Some((tunnel, link_len)),
        )
    }

    fn raw(frame: &[u8], outer: &OuterHeaders) -> Self {
        let mut bytes = frame.to_vec();
        if let Some(addresses) = bytes.first_chunk_mut::<12>() {
            addresses[..6].copy_from_slice(&outer.destination.0);
            addresses[6..].copy_from_slice(&outer.source.0);
        }
        if let Some(id) = outer.vlan {
            let [high, low] = id.to_be_bytes();
            bytes.splice(12..12, [0x81, 0x00, high, low]);
        }
        Self {
            headers: bytes.len(),
            most: bytes.len(),
            bytes,
            tunnel: None,
            body: Body::Fixed,
        }
    }

    /// The template of a frame whose innermost network header is at `ip_at`.
    fn of(
        mut bytes: Vec<u8>,
        kind: &PacketKind,
        is_ipv6: bool,
        ip_at: usize,
        tunnel: Option<(VxlanTunnel, usize)>,
    ) -> Self {
        let body = match kind {
            PacketKind::Arp => Body::Arp(ip_at),
            _ => Body::Transport(Segment::new(&mut bytes, kind, is_ipv6, ip_at)),
        };
        let tunnel = tunnel.map(|(tunnel, at)| Tunnel::new(&mut bytes, tunnel, at));
        let network_at = tunnel.as_ref().map_or(ip_at, |tunnel| tunnel.ip.at);
        Self {
            headers: bytes.len(),
            most: network_at + usize::from(u16::MAX),
            bytes,
            tunnel,
            body,
        }
    }

    /// Length of the headers.
    pub fn headers(&self) -> usize {
        self.headers
    }

    /// The longest frame.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Makes room for frames of up to `bytes` bytes.
    pub fn extend_to(&mut self, bytes: usize) {
        let length = self.bytes.len().max(bytes);
        self.bytes.resize(length, 0);
    }

    /// The first `length` bytes, to copy.
    #[inline]
    pub fn start(&self, length: usize) -> &[u8] {
        &self.bytes[..length]
    }

    /// Where a stamp is in its frames.
    pub fn stamp_offsets(&self) -> Option<StampOffsets> {
        match &self.body {
            Body::Transport(segment) => Some(StampOffsets {
                checksum_at: segment.checksum_at,
                transport_at: segment.at,
                is_udp: segment.kind == SegmentKind::Udp,
            }),
            Body::Arp(_) | Body::Fixed => None,
        }
    }

    /// Whether the packets of a flow have numbers.
    pub fn is_numbered(&self) -> bool {
        match &self.body {
            Body::Transport(segment) => {
                matches!(segment.kind, SegmentKind::Icmpv4 | SegmentKind::Icmpv6)
            }
            Body::Arp(_) | Body::Fixed => false,
        }
    }

    /// Writes what varies into `frame`, a copy of the start.
    #[inline]
    pub fn write(&self, frame: &mut [u8], variables: &Variables) {
        match &self.body {
            Body::Transport(segment) => segment.write(frame, variables),
            Body::Arp(at) => {
                put(frame, at + 14, (variables.flow.source as u32).to_be_bytes());
                put(
                    frame,
                    at + 24,
                    (variables.flow.destination as u32).to_be_bytes(),
                );
            }
            Body::Fixed => {}
        }
        if let Some(tunnel) = &self.tunnel {
            tunnel.write(frame, variables.flow_number);
        }
    }
}

/// An IP header without addresses.
fn headers(link: Frame, is_ipv6: bool) -> IpFrame {
    if is_ipv6 {
        return link.ipv6(Ipv6Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
    }
    // A packet that is not fragmented needs no identification (RFC 6864, 4.1).
    link.ipv4_with(Ipv4Fields {
        dont_fragment: true,
        ..Ipv4Fields::new(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED)
    })
}

/// A frame without payload; `sender` is the MAC address in ARP messages.
fn packet(link: Frame, kind: &PacketKind, is_ipv6: bool, sender: MacAddress) -> Vec<u8> {
    let headers = || headers(link.clone(), is_ipv6);
    let transport = match kind {
        PacketKind::Udp => headers().udp(0, 0),
        PacketKind::TcpSyn => headers().tcp_syn(0, 0, 0),
        PacketKind::Icmp => headers().echo_request(ECHO_IDENTIFIER, 0),
        PacketKind::Arp | PacketKind::Raw(_) => {
            return link.arp(&ArpFields {
                operation: ArpOperation::REQUEST,
                sender_mac: sender,
                sender_ip: Ipv4Addr::UNSPECIFIED,
                target_mac: MacAddress::ZERO,
                target_ip: Ipv4Addr::UNSPECIFIED,
            });
        }
    };
    transport.payload(&[])
}

#[inline]
fn put<const N: usize>(frame: &mut [u8], at: usize, bytes: [u8; N]) {
    frame[at..at + N].copy_from_slice(&bytes);
}

impl IpHeader {
    /// The header at `at`. Its length and checksum become 0.
    fn new(bytes: &mut [u8], at: usize, is_ipv6: bool) -> Self {
        let mut sum = Sum::new();
        if is_ipv6 {
            put(bytes, at + 4, [0; 2]);
        } else {
            put(bytes, at + 2, [0; 2]);
            put(bytes, at + 10, [0; 2]);
            sum = sum.bytes(&bytes[at..at + Ipv4::LEN]);
        }
        Self { at, is_ipv6, sum }
    }

    fn len(self) -> usize {
        if self.is_ipv6 { Ipv6::LEN } else { Ipv4::LEN }
    }

    /// Writes length, addresses and checksum. Returns the sum of the addresses.
    #[inline]
    fn write(self, frame: &mut [u8], source: u128, destination: u128) -> Sum {
        let length = frame.len() - self.at;
        if self.is_ipv6 {
            put(
                frame,
                self.at + 4,
                ((length - Ipv6::LEN) as u16).to_be_bytes(),
            );
            put(frame, self.at + 8, source.to_be_bytes());
            put(frame, self.at + 24, destination.to_be_bytes());
            let addresses = &frame[self.at + 8..self.at + 40];
            return Sum::new().bytes(addresses);
        }
        let (source, destination) = (source as u32, destination as u32);
        let addresses = Sum::new().number(source).number(destination);
        let checksum = self.sum.number(length as u32).and(addresses).finish();
        put(frame, self.at + 2, (length as u16).to_be_bytes());
        put(frame, self.at + 10, checksum.to_be_bytes());
        put(frame, self.at + 12, source.to_be_bytes());
        put(frame, self.at + 16, destination.to_be_bytes());
        addresses
    }
}

impl Segment {
    fn new(bytes: &mut [u8], kind: &PacketKind, is_ipv6: bool, ip_at: usize) -> Self {
        let ip = IpHeader::new(bytes, ip_at, is_ipv6);
        let at = ip_at + ip.len();
        let (kind, checksum_at, number) = match kind {
            PacketKind::TcpSyn => (SegmentKind::Tcp, at + 16, protocol::TCP),
            PacketKind::Icmp if is_ipv6 => (SegmentKind::Icmpv6, at + 2, protocol::ICMPV6),
            // Without a pseudo header.
            PacketKind::Icmp => (SegmentKind::Icmpv4, at + 2, 0),
            _ => (SegmentKind::Udp, at + 6, protocol::UDP),
        };
        if kind == SegmentKind::Udp {
            put(bytes, at + 4, [0; 2]);
        }
        put(bytes, checksum_at, [0; 2]);
        let sum = Sum::new().bytes(&bytes[at..]).number(number.into());
        Self {
            ip,
            at,
            checksum_at,
            kind,
            sum,
        }
    }

    #[inline]
    fn write(&self, frame: &mut [u8], variables: &Variables) {
        let flow = variables.flow;
        let addresses = self.ip.write(frame, flow.source, flow.destination);
        let length = (frame.len() - self.at) as u32;
        let mut sum = match self.kind {
            SegmentKind::Icmpv4 => self.sum,
            _ => self.sum.and(addresses).number(length),
        };
        match self.kind {
            SegmentKind::Udp => {
                sum = self.write_ports(frame, flow, sum).number(length);
                put(frame, self.at + 4, (length as u16).to_be_bytes());
            }
            SegmentKind::Tcp => {
                let random = Random::at(0, SEQUENCE_STREAM, variables.flow_number);
                let sequence = random.number() as u32;
                sum = self.write_ports(frame, flow, sum).number(sequence);
                put(frame, self.at + 4, sequence.to_be_bytes());
            }
            SegmentKind::Icmpv4 | SegmentKind::Icmpv6 => {
                let sequence = variables.packet_number as u16;
                sum = sum.number(sequence.into());
                put(frame, self.at + 6, sequence.to_be_bytes());
            }
        }
        if let Some(stream) = variables.stream {
            sum = sum.and(self.write_stamp(frame, stream, variables.packet_number));
        }
        let mut checksum = sum.finish();
        if self.kind == SegmentKind::Udp {
            checksum = udp_field(checksum);
        }
        put(frame, self.checksum_at, checksum.to_be_bytes());
    }

    #[inline]
    fn write_ports(&self, frame: &mut [u8], flow: Flow, sum: Sum) -> Sum {
        put(frame, self.at, flow.source_port.to_be_bytes());
        put(frame, self.at + 2, flow.destination_port.to_be_bytes());
        sum.number(flow.source_port.into())
            .number(flow.destination_port.into())
    }

    /// Writes a stamp without its time, and returns its sum.
    #[inline]
    fn write_stamp(&self, frame: &mut [u8], stream: u16, packet_number: u64) -> Sum {
        let stamp = Stamp {
            stream,
            sequence: packet_number as u32,
            time_ns: 0,
        };
        let at = frame.len() - Stamp::LEN;
        let bytes = stamp.bytes();
        put(frame, at, bytes);
        let sum = Sum::new().bytes(&bytes);
        if (at - self.at) % 2 == 1 {
            sum.at_odd_offset()
        } else {
            sum
        }
    }
}

impl Tunnel {
    fn new(bytes: &mut [u8], tunnel: VxlanTunnel, at: usize) -> Self {
        let ip = IpHeader::new(bytes, at, tunnel.source.is_ipv6());
        let udp_at = at + ip.len();
        put(bytes, udp_at + 6, [0; 2]);
        let bits = |address| match address {
            IpAddr::V4(address) => Ipv4Addr::to_bits(address).into(),
            IpAddr::V6(address) => Ipv6Addr::to_bits(address),
        };
        Self {
            ip,
            udp_at,
            source: bits(tunnel.source),
            destination: bits(tunnel.destination),
        }
    }

    /// Writes the outer headers around a finished inner frame. Over IPv4 the outer checksum stays 0 (RFC 7348, 5). Over
    /// IPv6 it covers the inner frame; a stamp's time does not change it, because the inner checksum balances it.
    #[inline]
    fn write(&self, frame: &mut [u8], flow_number: u64) {
        let addresses = self.ip.write(frame, self.source, self.destination);
        let random = Random::at(0, TUNNEL_STREAM, flow_number).number() as u16;
        let length = frame.len() - self.udp_at;
        put(frame, self.udp_at, (TUNNEL_PORTS | random).to_be_bytes());
        put(frame, self.udp_at + 4, (length as u16).to_be_bytes());
        if self.ip.is_ipv6 {
            put(frame, self.udp_at + 6, [0; 2]);
            let sum = addresses
                .number(protocol::UDP.into())
                .number(length as u32)
                .bytes(&frame[self.udp_at..]);
            put(
                frame,
                self.udp_at + 6,
                udp_field(sum.finish()).to_be_bytes(),
            );
        }
    }
}
