//! TCP headers.

use crate::error::{HeaderError, Truncated, split_header, split_options};
use std::fmt;

/// The fixed part of a TCP header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |          source port          |       destination port        |
/// +-------------------------------+-------------------------------+
/// |                        sequence number                        |
/// +---------------------------------------------------------------+
/// |                     acknowledgment number                     |
/// +-------+-----+-+-+-+-+-+-+-+-+-+-------------------------------+
/// | words |  0  |A|C|E|U|A|P|R|S|F|            window             |
/// +-------+-----+-+-+-+-+-+-+-+-+-+-------------------------------+
/// |           checksum            |        urgent pointer         |
/// +-------------------------------+-------------------------------+
/// ```
///
/// # Source
/// RFC 9293, 3.1; RFC 9768 for the bit `AE`.
#[doc(alias = "tcphdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp<'frame>(&'frame [u8; 20]);

impl<'frame> Tcp<'frame> {
    /// Length of the fixed part.
    pub const LEN: usize = 20;

    /// Splits the fixed part off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("TCP", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Splits `rest`, the bytes after the fixed part, into options and payload. The header starts
    /// at offset `at`.
    ///
    /// # Errors
    /// The header length is below 20 bytes, or above the available bytes.
    pub fn split_options(
        &self,
        rest: &'frame [u8],
        at: usize,
    ) -> Result<(&'frame [u8], &'frame [u8]), HeaderError> {
        split_options("TCP", rest, at, Self::LEN, self.header_len())
    }

    /// Source port.
    pub fn source_port(&self) -> u16 {
        self.word(0)
    }

    /// Destination port.
    pub fn destination_port(&self) -> u16 {
        self.word(2)
    }

    /// Sequence number.
    pub fn sequence(&self) -> u32 {
        u32::from(self.word(4)) << 16 | u32::from(self.word(6))
    }

    /// Acknowledgment number; valid if [`TcpFlags::ACK`] is set.
    pub fn acknowledgment(&self) -> u32 {
        u32::from(self.word(8)) << 16 | u32::from(self.word(10))
    }

    /// Header length with options according to the header, in bytes: 0 to 60.
    pub fn header_len(&self) -> usize {
        usize::from(self.0[12] >> 4) * 4
    }

    /// The nine flags.
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.word(12) & 0x1ff)
    }

    /// Window, unscaled.
    pub fn window(&self) -> u16 {
        self.word(14)
    }

    /// Checksum over pseudo header, header and payload.
    pub fn checksum(&self) -> u16 {
        self.word(16)
    }

    /// Urgent pointer; valid if [`TcpFlags::URG`] is set.
    pub fn urgent(&self) -> u16 {
        self.word(18)
    }

    /// The fields of the header.
    pub fn fields(&self) -> TcpFields {
        TcpFields {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            sequence: self.sequence(),
            acknowledgment: self.acknowledgment(),
            header_len: self.header_len(),
            flags: self.flags(),
            window: self.window(),
            checksum: self.checksum(),
            urgent: self.urgent(),
        }
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}

/// TCP flags. `Display` prints them as tcpdump does: `S.` for SYN and ACK, `none` for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(1);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(2);
    /// Reset the connection.
    pub const RST: Self = Self(4);
    /// Push.
    pub const PSH: Self = Self(8);
    /// The acknowledgment number is valid.
    pub const ACK: Self = Self(16);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(32);
    /// ECN echo.
    pub const ECE: Self = Self(64);
    /// Congestion window reduced.
    pub const CWR: Self = Self(128);
    /// Accurate ECN.
    pub const AE: Self = Self(256);

    const LETTERS: [(Self, &'static str); 9] = [
        (Self::FIN, "F"),
        (Self::SYN, "S"),
        (Self::RST, "R"),
        (Self::PSH, "P"),
        (Self::ACK, "."),
        (Self::URG, "U"),
        (Self::ECE, "E"),
        (Self::CWR, "W"),
        (Self::AE, "e"),
    ];

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl std::ops::BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.trailing_zeros() >= 9 {
            return f.write_str("none");
        }
        Self::LETTERS
            .iter()
            .filter(|(flag, _)| self.contains(*flag))
            .try_for_each(|(_, letter)| f.write_str(letter))
    }
}

/// The fields of the fixed part of a [`Tcp`] header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Length of the header with its options, in bytes; a multiple of 4 up to 60.
    pub header_len: usize,
    /// The nine flags.
    pub flags: TcpFlags,
    /// Window, unscaled.
    pub window: u16,
    /// Checksum over pseudo header, header and payload.
    pub checksum: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl Default for TcpFields {
    /// All zero, except for a header length without options and a window of 65535.
    fn default() -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            sequence: 0,
            acknowledgment: 0,
            header_len: Tcp::LEN,
            flags: TcpFlags(0),
            window: u16::MAX,
            checksum: 0,
            urgent: 0,
        }
    }
}

impl TcpFields {
    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Tcp::LEN] {
        let mut bytes = [0; Tcp::LEN];
        let words_and_flags = (self.header_len / 4) as u16 & 0xf;
        bytes[..2].copy_from_slice(&self.source_port.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.acknowledgment.to_be_bytes());
        let words_and_flags = words_and_flags << 12 | self.flags.0 & 0x1ff;
        bytes[12..14].copy_from_slice(&words_and_flags.to_be_bytes());
        bytes[14..16].copy_from_slice(&self.window.to_be_bytes());
        bytes[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        bytes[18..].copy_from_slice(&self.urgent.to_be_bytes());
        bytes
    }
}
