use crate::error::{Truncated, split_header};
use crate::mac::MacAddress;

/// An Ethernet header.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------------------------------------------------------+
/// |                          destination                          |
/// +-------------------------------+-------------------------------+
/// |     destination (last 2)      |            source             |
/// +-------------------------------+-------------------------------+
/// |                        source (last 4)                        |
/// +-------------------------------+-------------------------------+
/// |      EtherType or length      |
/// +-------------------------------+
/// ```
///
/// # Source
/// IEEE 802.3-2022, 3.1.1.
#[doc(alias = "ethhdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet<'frame>(&'frame [u8; 14]);

impl<'frame> Ethernet<'frame> {
    /// Length of the header.
    pub const LEN: usize = 14;

    /// The header at the front of `bytes`, which begin at byte `at` of the frame, and what follows.
    ///
    /// # Errors
    /// [`Truncated`] where `bytes` are too few.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Ethernet", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// To whom.
    pub fn destination(&self) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.0[index]))
    }

    /// From whom.
    pub fn source(&self) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.0[6 + index]))
    }

    /// What follows, of [`protocol::ethertype`](crate::protocol::ethertype); below
    /// [`LEAST`](crate::protocol::ethertype::LEAST) the length of an IEEE 802.3 payload.
    pub fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.0[12], self.0[13]])
    }

    /// The header's fields.
    pub fn fields(&self) -> EthernetFields {
        EthernetFields {
            destination: self.destination(),
            source: self.source(),
            ethertype: self.ethertype(),
        }
    }
}

/// The fields of an [`Ethernet`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetFields {
    /// To whom.
    pub destination: MacAddress,
    /// From whom.
    pub source: MacAddress,
    /// What follows.
    pub ethertype: u16,
}

impl EthernetFields {
    /// The header with these fields.
    pub fn bytes(&self) -> [u8; Ethernet::LEN] {
        let mut bytes = [0; Ethernet::LEN];
        bytes[..6].copy_from_slice(&self.destination.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        bytes[12..].copy_from_slice(&self.ethertype.to_be_bytes());
        bytes
    }
}
