//! VLAN tags.

use crate::error::{Truncated, split_header};

/// A VLAN tag, without the `EtherType` before it (0x8100 or 0x88a8).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-----+-+-----------------------+-------------------------------+
/// | PCP |D|        VLAN ID        |           EtherType           |
/// +-----+-+-----------------------+-------------------------------+
///        DEI
/// ```
///
/// # Source
/// IEEE 802.1Q-2022, 9.6.
#[doc(alias = "vlan_hdr")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan<'frame>(&'frame [u8; 4]);

impl<'frame> Vlan<'frame> {
    /// Length of the tag.
    pub const LEN: usize = 4;

    /// Splits the tag off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("VLAN", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// The tag control information: priority, DEI and VLAN.
    pub fn control(&self) -> u16 {
        u16::from_be_bytes([self.0[0], self.0[1]])
    }

    /// VLAN id, 0 to 4095; 0 is a priority tag.
    pub fn id(&self) -> u16 {
        self.control() & 0xfff
    }

    /// Priority code point, 0 to 7.
    pub fn priority(&self) -> u8 {
        self.0[0] >> 5
    }

    /// Drop eligible indicator.
    pub fn drop_eligible(&self) -> bool {
        self.0[0] & 0x10 != 0
    }

    /// Next protocol, one of [`protocol::ethertype`](crate::protocol::ethertype).
    pub fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// The fields of the tag.
    pub fn fields(&self) -> VlanFields {
        VlanFields {
            id: self.id(),
            priority: self.priority(),
            drop_eligible: self.drop_eligible(),
            ethertype: self.ethertype(),
        }
    }
}

/// The fields of a [`Vlan`] tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlanFields {
    /// VLAN id; the low 12 bits are used.
    pub id: u16,
    /// Priority code point; the low 3 bits are used.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// Next protocol.
    pub ethertype: u16,
}

impl VlanFields {
    /// Encodes the tag.
    pub fn bytes(&self) -> [u8; Vlan::LEN] {
        let drop_eligible = u16::from(self.drop_eligible) << 12;
        let control = u16::from(self.priority) << 13 | drop_eligible | self.id & 0xfff;
        let [a, b] = control.to_be_bytes();
        let [c, d] = self.ethertype.to_be_bytes();
        [a, b, c, d]
    }
}
