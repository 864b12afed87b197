//! IPv4 headers.

use crate::checksum;
use crate::error::{HeaderError, Inconsistent, split_header, split_options};
use std::net::Ipv4Addr;

/// The fixed part of an IPv4 header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------+-------+-----------+---+-------------------------------+
/// |   4   | words |   DSCP    |ECN|         total length          |
/// +-------+-------+-----------+---+-----+-------------------------+
/// |        identification         |0|D|M|  fragment offset (8 B)  |
/// +---------------+---------------+-----+-------------------------+
/// |      TTL      |   protocol    |        header checksum        |
/// +---------------+---------------+-------------------------------+
/// |                        source address                         |
/// +---------------------------------------------------------------+
/// |                      destination address                      |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 791, 3.1; RFC 2474; RFC 3168.
#[doc(alias = "iphdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4<'frame>(&'frame [u8; 20]);

impl<'frame> Ipv4<'frame> {
    /// Length of the fixed part.
    pub const LEN: usize = 20;

    /// Splits the fixed part off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// Too few bytes, or a version other than 4.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        if let Some(version) = bytes.first().map(|byte| byte >> 4)
            && version != 4
        {
            return Err(Inconsistent {
                layer: "IPv4",
                at,
                field: "version",
                value: version.into(),
            }
            .into());
        }
        let (header, rest) = split_header("IPv4", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Splits `rest`, the bytes after the fixed part, into options and payload. The header starts
    /// at offset `at`.
    ///
    /// The total length limits the payload; the bytes after it are padding. A total length of 0 (a
    /// packet above 64 KiB before segmentation) sets no limit.
    ///
    /// # Errors
    /// The header length is below 20 bytes, above the available bytes or above the total length.
    pub fn split_options(
        &self,
        rest: &'frame [u8],
        at: usize,
    ) -> Result<(&'frame [u8], &'frame [u8]), HeaderError> {
        let (options, payload) = split_options("IPv4", rest, at, Self::LEN, self.header_len())?;
        let total = usize::from(self.total_length());
        let Some(end) = total.checked_sub(self.header_len()) else {
            if total == 0 {
                return Ok((options, payload));
            }
            return Err(Inconsistent {
                layer: "IPv4",
                at,
                field: "total length",
                value: total as u32,
            }
            .into());
        };
        Ok((options, payload.get(..end).unwrap_or(payload)))
    }

    /// Header length with options according to the header, in bytes: 0 to 60.
    pub fn header_len(&self) -> usize {
        usize::from(self.0[0] & 0xf) * 4
    }

    /// Differentiated services code point, 0 to 63.
    pub fn dscp(&self) -> u8 {
        self.0[1] >> 2
    }

    /// Explicit congestion notification, 0 to 3.
    pub fn ecn(&self) -> u8 {
        self.0[1] & 3
    }

    /// Length of header and payload.
    pub fn total_length(&self) -> u16 {
        self.word(2)
    }

    /// Identification of the fragmented packet.
    pub fn identification(&self) -> u16 {
        self.word(4)
    }

    /// Whether routers must not fragment the packet (`DF`).
    pub fn dont_fragment(&self) -> bool {
        self.0[6] & 0x40 != 0
    }

    /// Whether fragments follow this one (`MF`).
    pub fn more_fragments(&self) -> bool {
        self.0[6] & 0x20 != 0
    }

    /// Fragment offset in bytes.
    pub fn fragment_offset(&self) -> u16 {
        (self.word(6) & 0x1fff) << 3
    }

    /// Time to live, in hops.
    pub fn ttl(&self) -> u8 {
        self.0[8]
    }

    /// Next protocol, one of [`protocol::ip`](crate::protocol::ip).
    pub fn protocol(&self) -> u8 {
        self.0[9]
    }

    /// Checksum of the header with its options.
    pub fn checksum(&self) -> u16 {
        self.word(10)
    }

    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets([self.0[12], self.0[13], self.0[14], self.0[15]])
    }

    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from_octets([self.0[16], self.0[17], self.0[18], self.0[19]])
    }

    /// The fields of the header.
    pub fn fields(&self) -> Ipv4Fields {
        Ipv4Fields {
            header_len: self.header_len(),
            dscp: self.dscp(),
            ecn: self.ecn(),
            total_length: self.total_length(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
            checksum: self.checksum(),
            source: self.source(),
            destination: self.destination(),
        }
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}

/// The fields of the fixed part of an [`Ipv4`] header; the reserved flag is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Fields {
    /// Length of the header with its options, in bytes; a multiple of 4 up to 60.
    pub header_len: usize,
    /// Differentiated services code point; the low 6 bits are used.
    pub dscp: u8,
    /// Explicit congestion notification; the low 2 bits are used.
    pub ecn: u8,
    /// Length of header and payload.
    pub total_length: u16,
    /// Identification of the fragmented packet.
    pub identification: u16,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Whether fragments follow this one.
    pub more_fragments: bool,
    /// Fragment offset in bytes; a multiple of 8.
    pub fragment_offset: u16,
    /// Time to live, in hops.
    pub ttl: u8,
    /// Next protocol.
    pub protocol: u8,
    /// Checksum of the header with its options.
    pub checksum: u16,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

impl Ipv4Fields {
    /// A header without options between two hosts, with a TTL of 64; all other fields are zero.
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            header_len: Ipv4::LEN,
            dscp: 0,
            ecn: 0,
            total_length: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: 0,
            checksum: 0,
            source,
            destination,
        }
    }

    /// The same fields with the checksum of a header without options.
    #[must_use]
    pub fn with_checksum(mut self) -> Self {
        self.checksum = 0;
        self.checksum = checksum::internet(&self.bytes());
        self
    }

    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Ipv4::LEN] {
        let mut bytes = [0; Ipv4::LEN];
        bytes[0] = 0x40 | (self.header_len / 4) as u8 & 0xf;
        bytes[1] = self.dscp << 2 | self.ecn & 3;
        bytes[2..4].copy_from_slice(&self.total_length.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.identification.to_be_bytes());
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        bytes[6..8].copy_from_slice(&(flags | self.fragment_offset >> 3).to_be_bytes());
        bytes[8] = self.ttl;
        bytes[9] = self.protocol;
        bytes[10..12].copy_from_slice(&self.checksum.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.source.octets());
        bytes[16..].copy_from_slice(&self.destination.octets());
        bytes
    }
}
