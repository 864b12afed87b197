//! Ethernet headers.

use crate::error::{Truncated, split_header};
use std::fmt;

/// An Ethernet address. `Display` prints `00:00:5e:00:53:01`.
///
/// # Source
/// IEEE 802-2014, 8.2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// The zero address, as in ARP requests.
    pub const ZERO: Self = Self([0; 6]);

    /// Whether it is a multicast or broadcast address.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

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

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Ethernet", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Destination address.
    pub fn destination(&self) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.0[index]))
    }

    /// Source address.
    pub fn source(&self) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.0[6 + index]))
    }

    /// Next protocol, one of [`protocol::ethertype`](crate::protocol::ethertype); below
    /// [`LEAST`](crate::protocol::ethertype::LEAST) the length of an IEEE 802.3 payload.
    pub fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.0[12], self.0[13]])
    }

    /// The fields of the header.
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
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Next protocol.
    pub ethertype: u16,
}

impl EthernetFields {
    /// Encodes the header.
    pub fn bytes(&self) -> [u8; Ethernet::LEN] {
        let mut bytes = [0; Ethernet::LEN];
        bytes[..6].copy_from_slice(&self.destination.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        bytes[12..].copy_from_slice(&self.ethertype.to_be_bytes());
        bytes
    }
}
