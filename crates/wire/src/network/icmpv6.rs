//! ICMP messages for IPv6.

use crate::error::{Truncated, split_header};
use std::net::Ipv6Addr;

/// An `ICMPv6` header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------+---------------+-------------------------------+
/// |     type      |     code      |           checksum            |
/// +---------------+---------------+-------------------------------+
/// |   parameter; of an echo: identifier (16), sequence (16)       |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 4443, 2.1; RFC 4861 for neighbour discovery.
#[doc(alias = "icmp6hdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv6<'frame>(&'frame [u8; 8]);

impl<'frame> Icmpv6<'frame> {
    /// Length of the header.
    pub const LEN: usize = 8;
    /// Destination unreachable for the packet in the payload.
    pub const UNREACHABLE: u8 = 1;
    /// Packet too big: the packet in the payload exceeds the path MTU.
    pub const PACKET_TOO_BIG: u8 = 2;
    /// Time exceeded for the packet in the payload.
    pub const TIME_EXCEEDED: u8 = 3;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 128;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 129;
    /// Neighbour solicitation: who has the target address?
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    /// Neighbour advertisement: the sender has the target address.
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("ICMPv6", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Message type.
    pub fn kind(&self) -> u8 {
        self.0[0]
    }

    /// Message code.
    pub fn code(&self) -> u8 {
        self.0[1]
    }

    /// Checksum over pseudo header and message.
    pub fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// Four bytes whose meaning depends on the type.
    pub fn parameter(&self) -> [u8; 4] {
        [self.0[4], self.0[5], self.0[6], self.0[7]]
    }

    /// Identifier and sequence number of an echo request or reply.
    pub fn echo(&self) -> Option<(u16, u16)> {
        let [a, b, c, d] = self.parameter();
        matches!(self.kind(), Self::ECHO_REQUEST | Self::ECHO_REPLY)
            .then(|| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// The name of the type, with the code if that adds information; empty if unknown.
    pub fn words(&self) -> &'static str {
        match (self.kind(), self.code()) {
            (Self::UNREACHABLE, 0) => "no route",
            (Self::UNREACHABLE, 1) => "unreachable, prohibited",
            (Self::UNREACHABLE, 3) => "address unreachable",
            (Self::UNREACHABLE, 4) => "port unreachable",
            (Self::UNREACHABLE, _) => "unreachable",
            (Self::PACKET_TOO_BIG, _) => "packet too big",
            (Self::TIME_EXCEEDED, 1) => "reassembly time exceeded",
            (Self::TIME_EXCEEDED, _) => "time exceeded",
            (4, _) => "parameter problem",
            (Self::ECHO_REQUEST, _) => "echo request",
            (Self::ECHO_REPLY, _) => "echo reply",
            (130, _) => "multicast listener query",
            (131, _) => "multicast listener report",
            (132, _) => "multicast listener done",
            (133, _) => "router solicitation",
            (134, _) => "router advertisement",
            (Self::NEIGHBOUR_SOLICITATION, _) => "neighbour solicitation",
            (Self::NEIGHBOUR_ADVERTISEMENT, _) => "neighbour advertisement",
            (137, _) => "redirect",
            (143, _) => "multicast listener report v2",
            _ => "",
        }
    }

    /// The target address of a neighbour solicitation or advertisement; `payload` is what follows
    /// the header.
    pub fn neighbour(&self, payload: &[u8]) -> Option<Ipv6Addr> {
        let address = payload.first_chunk::<16>()?;
        matches!(
            self.kind(),
            Self::NEIGHBOUR_SOLICITATION | Self::NEIGHBOUR_ADVERTISEMENT
        )
        .then(|| Ipv6Addr::from_octets(*address))
    }

    /// The fields of the header.
    pub fn fields(&self) -> Icmpv6Fields {
        Icmpv6Fields {
            kind: self.kind(),
            code: self.code(),
            checksum: self.checksum(),
            parameter: self.parameter(),
        }
    }
}

/// The fields of an [`Icmpv6`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Icmpv6Fields {
    /// Message type.
    pub kind: u8,
    /// Message code.
    pub code: u8,
    /// Checksum over pseudo header and message.
    pub checksum: u16,
    /// Four bytes whose meaning depends on the type.
    pub parameter: [u8; 4],
}

impl Icmpv6Fields {
    /// An echo request with this identifier and sequence number.
    pub fn echo_request(identifier: u16, sequence: u16) -> Self {
        let [a, b] = identifier.to_be_bytes();
        let [c, d] = sequence.to_be_bytes();
        Self {
            kind: Icmpv6::ECHO_REQUEST,
            parameter: [a, b, c, d],
            ..Self::default()
        }
    }

    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Icmpv6::LEN] {
        let mut bytes = [0; Icmpv6::LEN];
        bytes[..2].copy_from_slice(&[self.kind, self.code]);
        bytes[2..4].copy_from_slice(&self.checksum.to_be_bytes());
        bytes[4..].copy_from_slice(&self.parameter);
        bytes
    }
}
