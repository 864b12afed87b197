//! ARP packets.

use crate::error::{HeaderError, Inconsistent, split_header};
use crate::link::MacAddress;
use std::net::Ipv4Addr;

/// An ARP message for Ethernet and IPv4 addresses.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |     hardware (1 Ethernet)     |    protocol (0x0800 IPv4)     |
/// +---------------+---------------+-------------------------------+
/// |  hw length 6  | prot length 4 |           operation           |
/// +---------------+---------------+-------------------------------+
/// |                    sender hardware address                    |
/// +-------------------------------+-------------------------------+
/// |    sender hardware (last 2)   |    sender protocol address    |
/// +-------------------------------+-------------------------------+
/// |   sender protocol (last 2)    |    target hardware address    |
/// +-------------------------------+-------------------------------+
/// |                    target hardware (last 4)                   |
/// +---------------------------------------------------------------+
/// |                    target protocol address                    |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 826.
#[doc(alias = "arphdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp<'frame>(&'frame [u8; 28]);

impl<'frame> Arp<'frame> {
    /// Length of the message.
    pub const LEN: usize = 28;

    /// Splits the message off the front of `bytes`, which start at offset `at` of the frame, from
    /// what follows (padding).
    ///
    /// # Errors
    /// Too few bytes, or address types other than Ethernet and IPv4.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        let (fixed, _) = split_header::<8>("ARP", bytes, at)?;
        let other = |field, value| Inconsistent {
            layer: "ARP",
            at,
            field,
            value,
        };
        match *fixed {
            [0, 1, 8, 0, 6, 4, ..] => {}
            [0, 1, 8, 0, 6, length, ..] => {
                return Err(other("protocol address length", length.into()).into());
            }
            [0, 1, 8, 0, length, ..] => {
                return Err(other("hardware address length", length.into()).into());
            }
            [0, 1, a, b, ..] => {
                return Err(other("protocol type", u16::from_be_bytes([a, b]).into()).into());
            }
            [a, b, ..] => {
                return Err(other("hardware type", u16::from_be_bytes([a, b]).into()).into());
            }
        }
        let (message, rest) = split_header("ARP", bytes, at)?;
        Ok((Self(message), rest))
    }

    /// Operation.
    pub fn operation(&self) -> ArpOperation {
        ArpOperation(u16::from_be_bytes([self.0[6], self.0[7]]))
    }

    /// The sender's Ethernet address.
    pub fn sender_mac(&self) -> MacAddress {
        self.mac_at(8)
    }

    /// The sender's IPv4 address.
    pub fn sender_ip(&self) -> Ipv4Addr {
        self.ip_at(14)
    }

    /// The target's Ethernet address; ignore it in requests.
    pub fn target_mac(&self) -> MacAddress {
        self.mac_at(18)
    }

    /// The target's IPv4 address.
    pub fn target_ip(&self) -> Ipv4Addr {
        self.ip_at(24)
    }

    /// The fields of the message.
    pub fn fields(&self) -> ArpFields {
        ArpFields {
            operation: self.operation(),
            sender_mac: self.sender_mac(),
            sender_ip: self.sender_ip(),
            target_mac: self.target_mac(),
            target_ip: self.target_ip(),
        }
    }

    fn mac_at(self, at: usize) -> MacAddress {
        MacAddress(std::array::from_fn(|index| self.0[at + index]))
    }

    fn ip_at(self, at: usize) -> Ipv4Addr {
        Ipv4Addr::from(std::array::from_fn::<u8, 4, _>(|index| self.0[at + index]))
    }
}

/// The operation of an ARP message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArpOperation(pub u16);

impl ArpOperation {
    /// Request: who has this address?
    #[doc(alias = "ARPOP_REQUEST")]
    pub const REQUEST: Self = Self(1);
    /// Reply: the sender has the address.
    #[doc(alias = "ARPOP_REPLY")]
    pub const REPLY: Self = Self(2);
}

/// The fields of an [`Arp`] message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpFields {
    /// Operation.
    pub operation: ArpOperation,
    /// The sender's Ethernet address.
    pub sender_mac: MacAddress,
    /// The sender's IPv4 address.
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address.
    pub target_mac: MacAddress,
    /// The target's IPv4 address.
    pub target_ip: Ipv4Addr,
}

impl ArpFields {
    /// Encodes the message.
    pub fn bytes(&self) -> [u8; Arp::LEN] {
        let mut bytes = [0; Arp::LEN];
        bytes[..6].copy_from_slice(&[0, 1, 8, 0, 6, 4]);
        bytes[6..8].copy_from_slice(&self.operation.0.to_be_bytes());
        bytes[8..14].copy_from_slice(&self.sender_mac.0);
        bytes[14..18].copy_from_slice(&self.sender_ip.octets());
        bytes[18..24].copy_from_slice(&self.target_mac.0);
        bytes[24..].copy_from_slice(&self.target_ip.octets());
        bytes
    }
}
