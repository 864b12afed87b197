//! ICMP messages for IPv4.

use crate::error::{Truncated, split_header};

/// An ICMP header.
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
/// RFC 792.
#[doc(alias = "icmphdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv4<'frame>(&'frame [u8; 8]);

impl<'frame> Icmpv4<'frame> {
    /// Length of the header.
    pub const LEN: usize = 8;
    /// Echo reply.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable for the packet in the payload.
    pub const UNREACHABLE: u8 = 3;
    /// Redirect: there is a better route for the packet in the payload.
    pub const REDIRECT: u8 = 5;
    /// Echo request.
    pub const ECHO_REQUEST: u8 = 8;
    /// Time exceeded for the packet in the payload.
    pub const TIME_EXCEEDED: u8 = 11;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("ICMP", bytes, at)?;
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

    /// Checksum of the message.
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
            (Self::ECHO_REPLY, _) => "echo reply",
            (Self::UNREACHABLE, 0) => "net unreachable",
            (Self::UNREACHABLE, 1) => "host unreachable",
            (Self::UNREACHABLE, 2) => "protocol unreachable",
            (Self::UNREACHABLE, 3) => "port unreachable",
            (Self::UNREACHABLE, 4) => "fragmentation needed",
            (Self::UNREACHABLE, 9 | 10 | 13) => "unreachable, prohibited",
            (Self::UNREACHABLE, _) => "unreachable",
            (4, _) => "source quench",
            (Self::REDIRECT, _) => "redirect",
            (Self::ECHO_REQUEST, _) => "echo request",
            (9, _) => "router advertisement",
            (10, _) => "router solicitation",
            (Self::TIME_EXCEEDED, 1) => "reassembly time exceeded",
            (Self::TIME_EXCEEDED, _) => "time exceeded",
            (12, _) => "parameter problem",
            (13, _) => "timestamp request",
            (14, _) => "timestamp reply",
            (17, _) => "address mask request",
            (18, _) => "address mask reply",
            _ => "",
        }
    }

    /// The fields of the header.
    pub fn fields(&self) -> Icmpv4Fields {
        Icmpv4Fields {
            kind: self.kind(),
            code: self.code(),
            checksum: self.checksum(),
            parameter: self.parameter(),
        }
    }
}

/// The fields of an [`Icmpv4`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Icmpv4Fields {
    /// Message type.
    pub kind: u8,
    /// Message code.
    pub code: u8,
    /// Checksum of the message.
    pub checksum: u16,
    /// Four bytes whose meaning depends on the type.
    pub parameter: [u8; 4],
}

impl Icmpv4Fields {
    /// An echo request with this identifier and sequence number.
    pub fn echo_request(identifier: u16, sequence: u16) -> Self {
        let [a, b] = identifier.to_be_bytes();
        let [c, d] = sequence.to_be_bytes();
        Self {
            kind: Icmpv4::ECHO_REQUEST,
            parameter: [a, b, c, d],
            ..Self::default()
        }
    }

    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Icmpv4::LEN] {
        let mut bytes = [0; Icmpv4::LEN];
        bytes[..2].copy_from_slice(&[self.kind, self.code]);
        bytes[2..4].copy_from_slice(&self.checksum.to_be_bytes());
        bytes[4..].copy_from_slice(&self.parameter);
        bytes
    }
}
