use crate::error::{Truncated, split_header};
use crate::mac::MacAddress;

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

    /// The header at the front of `bytes`, which begin at byte `at` of the frame, and what follows.
    ///
    /// # Errors
    /// [`Truncated`] where `bytes` are too few.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Linux cooked v2", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// What follows, of [`protocol::ethertype`](crate::protocol::ethertype).
    pub fn protocol(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }

    /// Index of the interface on the capturing machine.
    pub fn interface_index(&self) -> u32 {
        u32::from_be_bytes([self.0[4], self.0[5], self.0[6], self.0[7]])
    }

    /// Kind of the interface (`ARPHRD_*`).
    pub fn hardware_type(&self) -> u16 {
        u16::from_be_bytes([self.0[8], self.0[9]])
    }

    /// To us (0), to all (1), to a group (2), to another (3) or from us (4).
    pub fn packet_type(&self) -> u8 {
        self.0[10]
    }

    /// From whom, where the address has the length of an Ethernet address.
    pub fn source(&self) -> Option<MacAddress> {
        (self.0[11] == 6).then(|| MacAddress(std::array::from_fn(|index| self.0[12 + index])))
    }
}
