//! UDP headers.

use crate::error::{Truncated, split_header};

/// A UDP header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |          source port          |       destination port        |
/// +-------------------------------+-------------------------------+
/// |            length             |           checksum            |
/// +-------------------------------+-------------------------------+
/// ```
///
/// # Source
/// RFC 768.
#[doc(alias = "udphdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp<'frame>(&'frame [u8; 8]);

impl<'frame> Udp<'frame> {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("UDP", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        self.word(0)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        self.word(2)
    }

    /// Length of header and payload; 0 if it does not fit 16 bits (RFC 2675).
    pub fn length(&self) -> u16 {
        self.word(4)
    }

    /// Checksum; 0 means none.
    pub fn checksum(&self) -> u16 {
        self.word(6)
    }

    /// The fields of the header.
    pub fn fields(&self) -> UdpFields {
        UdpFields {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            length: self.length(),
            checksum: self.checksum(),
        }
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}

/// The fields of a [`Udp`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpFields {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Length of header and payload.
    pub length: u16,
    /// Checksum; 0 means none.
    pub checksum: u16,
}

impl UdpFields {
    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Udp::LEN] {
        let mut bytes = [0; Udp::LEN];
        bytes[..2].copy_from_slice(&self.source_port.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.length.to_be_bytes());
        bytes[6..].copy_from_slice(&self.checksum.to_be_bytes());
        bytes
    }
}
