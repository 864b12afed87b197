//! IPv6 headers.

use crate::error::{HeaderError, Inconsistent, split_header};
use std::net::Ipv6Addr;

/// An IPv6 header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------+---------------+---------------------------------------+
/// |   6   | traffic class |              flow label               |
/// +-------+---------------+-------+---------------+---------------+
/// |        payload length         |  next header  |   hop limit   |
/// +-------------------------------+---------------+---------------+
/// |                   source address (16 bytes)                   |
/// +---------------------------------------------------------------+
/// |                destination address (16 bytes)                 |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 8200, 3.
#[doc(alias = "ipv6hdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6<'frame>(&'frame [u8; 40]);

impl<'frame> Ipv6<'frame> {
    /// Length of the header.
    pub const LEN: usize = 40;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame, from
    /// its payload.
    ///
    /// The payload length limits the payload; the bytes after it are padding. A payload length of 0
    /// (a jumbogram) sets no limit.
    ///
    /// # Errors
    /// Too few bytes, or a version other than 6.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        if let Some(version) = bytes.first().map(|byte| byte >> 4)
            && version != 6
        {
            return Err(Inconsistent {
                layer: "IPv6",
                at,
                field: "version",
                value: version.into(),
            }
            .into());
        }
        let (header, rest) = split_header("IPv6", bytes, at)?;
        let header = Self(header);
        let payload = match usize::from(header.payload_length()) {
            0 => rest,
            end => rest.get(..end).unwrap_or(rest),
        };
        Ok((header, payload))
    }

    /// Traffic class: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        self.0[0] << 4 | self.0[1] >> 4
    }

    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32::from_be_bytes([0, self.0[1] & 0xf, self.0[2], self.0[3]])
    }

    /// Payload length, including extension headers.
    pub fn payload_length(&self) -> u16 {
        u16::from_be_bytes([self.0[4], self.0[5]])
    }

    /// Next protocol, one of [`protocol::ip`](crate::protocol::ip).
    pub fn next_header(&self) -> u8 {
        self.0[6]
    }

    /// Remaining hops.
    pub fn hop_limit(&self) -> u8 {
        self.0[7]
    }

    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        self.address_at(8)
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
        self.address_at(24)
    }

    /// The fields of the header.
    pub fn fields(&self) -> Ipv6Fields {
        Ipv6Fields {
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
            payload_length: self.payload_length(),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            source: self.source(),
            destination: self.destination(),
        }
    }

    fn address_at(self, at: usize) -> Ipv6Addr {
        Ipv6Addr::from_octets(std::array::from_fn(|index| self.0[at + index]))
    }
}

/// The fields of an [`Ipv6`] header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Fields {
    /// Traffic class: DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label; the low 20 bits are used.
    pub flow_label: u32,
    /// Payload length, including extension headers.
    pub payload_length: u16,
    /// Next protocol.
    pub next_header: u8,
    /// Remaining hops.
    pub hop_limit: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
}

impl Ipv6Fields {
    /// A header between two hosts with a hop limit of 64 and no next header.
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self {
            traffic_class: 0,
            flow_label: 0,
            payload_length: 0,
            next_header: crate::protocol::ip::NO_NEXT_HEADER,
            hop_limit: 64,
            source,
            destination,
        }
    }

    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Ipv6::LEN] {
        let mut bytes = [0; Ipv6::LEN];
        let word = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        bytes[..4].copy_from_slice(&word.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.payload_length.to_be_bytes());
        bytes[6] = self.next_header;
        bytes[7] = self.hop_limit;
        bytes[8..24].copy_from_slice(&self.source.octets());
        bytes[24..].copy_from_slice(&self.destination.octets());
        bytes
    }
}
