use super::length_field;
use super::transport::{Kind, TransportFrame};
use crate::checksum::Sum;
use crate::protocol::ip;
use crate::{
    FragmentFields, Icmpv4, Icmpv4Fields, Ipv4, Ipv4Fields, Ipv6, Ipv6Fields, TcpFields, UdpFields,
};

/// An extension header of IPv6; the bodies are padded with zeros to a multiple of 8 bytes and cut
/// at the longest there is, 2046 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Extension<'a> {
    /// Hop-by-hop options; zeros are paddings of one byte.
    HopByHop(&'a [u8]),
    /// A routing header, from its routing type.
    Routing(&'a [u8]),
    /// A fragment header; its next header is replaced by what follows.
    Fragment(FragmentFields),
    /// Destination options; zeros are paddings of one byte.
    Destination(&'a [u8]),
}

/// A frame whose IP header is written.
#[derive(Clone, Debug)]
pub struct IpFrame {
    bytes: Vec<u8>,
    header: Header,
    /// Where the IP header begins in `bytes`.
    ip_at: usize,
    /// Where the last header says what follows.
    next_at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Header {
    V4(Ipv4Fields),
    V6(Ipv6Fields),
}

impl IpFrame {
    pub(super) fn ipv4(mut bytes: Vec<u8>, mut fields: Ipv4Fields) -> Self {
        fields.header_len = Ipv4::LEN;
        let ip_at = bytes.len();
        bytes.extend_from_slice(&fields.bytes());
        let next_at = ip_at + 9;
        let header = Header::V4(fields);
        Self {
            bytes,
            header,
            ip_at,
            next_at,
        }
    }

    pub(super) fn ipv6(
        mut bytes: Vec<u8>,
        fields: Ipv6Fields,
        extensions: &[Extension<'_>],
    ) -> Self {
        let ip_at = bytes.len();
        bytes.extend_from_slice(&fields.bytes());
        let mut frame = Self {
            bytes,
            header: Header::V6(fields),
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
        self.transport(ip::UDP, Kind::Udp, &fields.bytes())
    }

    /// Adds a TCP header without options; header length and checksum in `fields` are replaced by
    /// the right ones.
    pub fn tcp(self, fields: TcpFields) -> TransportFrame {
        self.tcp_with(fields, &[])
    }

    /// Adds a TCP header with `options`, padded with zeros to a multiple of 4 bytes and cut at the 40
    /// that fit.
    pub fn tcp_with(self, mut fields: TcpFields, options: &[u8]) -> TransportFrame {
        let options = &options[..options.len().min(40)];
        let mut padded = [0; 40];
        padded[..options.len()].copy_from_slice(options);
        let padded = &padded[..options.len().next_multiple_of(4)];
        fields.header_len = crate::Tcp::LEN + padded.len();
        fields.checksum = 0;
        let mut frame = self.transport(ip::TCP, Kind::Tcp, &fields.bytes());
        frame.extend(padded);
        frame
    }

    /// Adds the header of an echo request: ICMP or `ICMPv6`, as the version of IP asks.
    pub fn echo_request(self, identifier: u16, sequence: u16) -> TransportFrame {
        let parameter = Icmpv4Fields::echo_request(identifier, sequence).parameter;
        let kind = match self.header {
            Header::V4(_) => Icmpv4::ECHO_REQUEST,
            Header::V6(_) => crate::Icmpv6::ECHO_REQUEST,
        };
        self.icmp(Icmpv4Fields {
            kind,
            code: 0,
            checksum: 0,
            parameter,
        })
    }

    /// Adds a header of ICMP or `ICMPv6`, as the version of IP asks: they have one form. The checksum
    /// in `fields` is replaced by the right one.
    pub fn icmp(self, mut fields: Icmpv4Fields) -> TransportFrame {
        fields.checksum = 0;
        match self.header {
            Header::V4(_) => self.transport(ip::ICMPV4, Kind::Icmpv4, &fields.bytes()),
            Header::V6(_) => self.transport(ip::ICMPV6, Kind::Icmpv6, &fields.bytes()),
        }
    }

    /// Ends the frame with `payload` of the IP protocol `protocol`, such as a piece of a fragmented
    /// packet.
    pub fn payload(mut self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        self.announce(protocol);
        self.bytes.extend_from_slice(payload);
        self.finish()
    }

    pub(super) const fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The sum over the pseudo header for `length` bytes of `protocol`.
    pub(super) fn pseudo_header(&self, protocol: u8, length: usize) -> Sum {
        let length = length as u32;
        match self.header {
            Header::V4(h) => Sum::new().pseudo_ipv4(h.source, h.destination, protocol, length),
            Header::V6(h) => Sum::new().pseudo_ipv6(h.source, h.destination, protocol, length),
        }
    }

    /// Fills in the length, and in IPv4 the checksum.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let packet = &mut self.bytes[self.ip_at..];
        match self.header {
            Header::V4(_) => {
                let length = length_field(packet.len());
                packet[2..4].copy_from_slice(&length);
                packet[10..12].fill(0);
                let checksum = crate::checksum::internet(&packet[..Ipv4::LEN]);
                packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            Header::V6(_) => {
                let length = length_field(packet.len() - Ipv6::LEN);
                packet[4..6].copy_from_slice(&length);
            }
        }
        self.bytes
    }

    fn transport(mut self, protocol: u8, kind: Kind, header: &[u8]) -> TransportFrame {
        self.announce(protocol);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(header);
        TransportFrame::new(self, kind, at)
    }

    /// Adds an extension header of kind `protocol` with `body` behind its first two bytes.
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
