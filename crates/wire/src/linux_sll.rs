use crate::error::{Truncated, split_header};
use crate::mac::MacAddress;

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

    /// The header at the front of `bytes`, which begin at byte `at` of the frame, and what follows.
    ///
    /// # Errors
    /// [`Truncated`] where `bytes` are too few.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("Linux cooked", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// To us (0), to all (1), to a group (2), to another (3) or from us (4).
    pub fn packet_type(&self) -> u16 {
        self.word(0)
    }

    /// Kind of the interface (`ARPHRD_*`).
    pub fn hardware_type(&self) -> u16 {
        self.word(2)
    }

    /// From whom, where the address has the length of an Ethernet address.
    pub fn source(&self) -> Option<MacAddress> {
        (self.word(4) == 6).then(|| MacAddress(std::array::from_fn(|index| self.0[6 + index])))
    }

    /// What follows, of [`protocol::ethertype`](crate::protocol::ethertype).
    pub fn protocol(&self) -> u16 {
        self.word(14)
    }

    fn word(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }
}
