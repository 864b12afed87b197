//! Linux cooked capture headers.

use crate::error::{Truncated, split_header};
use crate::link::MacAddress;

/// The header of a Linux "cooked" capture, version 1.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |          packet type          |         hardware type         |
/// +-------------------------------+-------------------------------+
/// |        address length         |     source address (8 B)      |
/// +-------------------------------+-------------------------------+
/// |                  source address (continued)                   |
/// +-------------------------------+-------------------------------+
/// |      source (last 2)          |           protocol            |
/// +-------------------------------+-------------------------------+
/// ```
///
/// # Source
/// <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxSll<'frame>(&'frame [u8; 16]);

impl<'frame> LinuxSll<'frame> {
    /// Length of the header.
    pub const LEN: usize = 16;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Linux cooked", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// `PACKET_HOST` (0), `PACKET_BROADCAST` (1), `PACKET_MULTICAST` (2), `PACKET_OTHERHOST` (3) or
    /// `PACKET_OUTGOING` (4).
    pub fn packet_type(&self) -> u16 {
        self.word(0)
    }

    /// Hardware type of the interface (`ARPHRD_*`).
    pub fn hardware_type(&self) -> u16 {
        self.word(2)
    }

    /// Source address, if it has the length of an Ethernet address.
    pub fn source(&self) -> Option<MacAddress> {
        (self.word(4) == 6).then(|| MacAddress(std::array::from_fn(|index| self.0[6 + index])))
    }

    /// Next protocol, one of [`protocol::ethertype`](crate::protocol::ethertype).
    pub fn protocol(&self) -> u16 {
        self.word(14)
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}

/// The header of a Linux "cooked" capture, version 2.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-------------------------------+-------------------------------+
/// |           protocol            |               0               |
/// +-------------------------------+-------------------------------+
/// |                        interface index                        |
/// +-------------------------------+---------------+---------------+
/// |         hardware type         |  packet type  |address length |
/// +-------------------------------+---------------+---------------+
/// |                       source address (8 B)                    |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// <https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxSll2<'frame>(&'frame [u8; 20]);

impl<'frame> LinuxSll2<'frame> {
    /// Length of the header.
    pub const LEN: usize = 20;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Linux cooked v2", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Next protocol, one of [`protocol::ethertype`](crate::protocol::ethertype).
    pub fn protocol(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }

    /// Interface index on the capturing host.
    pub fn interface_index(&self) -> u32 {
        u32::from_be_bytes([self.0[4], self.0[5], self.0[6], self.0[7]])
    }

    /// Hardware type of the interface (`ARPHRD_*`).
    pub fn hardware_type(&self) -> u16 {
        u16::from_be_bytes([self.0[8], self.0[9]])
    }

    /// `PACKET_HOST` (0), `PACKET_BROADCAST` (1), `PACKET_MULTICAST` (2), `PACKET_OTHERHOST` (3) or
    /// `PACKET_OUTGOING` (4).
    pub fn packet_type(&self) -> u8 {
        self.0[10]
    }

    /// Source address, if it has the length of an Ethernet address.
    pub fn source(&self) -> Option<MacAddress> {
        (self.0[11] == 6).then(|| MacAddress(std::array::from_fn(|index| self.0[12 + index])))
    }
}
