//! Tunnel headers: VXLAN, Geneve and GRE.

use crate::error::{HeaderError, Inconsistent, Truncated, split_header};
use crate::escaped::{u16_at, u32_at};
use crate::protocol::ethertype;

/// A VXLAN header; an Ethernet frame follows.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-----------------------------------------------+
/// | | | | |I| | | |                       0                       |
/// +-+-+-+-+-+-+-+-+-------------------------------+---------------+
/// |            network identifier (VNI)           |       0       |
/// +-----------------------------------------------+---------------+
/// ```
///
/// # Source
/// RFC 7348, 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vxlan<'frame>(&'frame [u8; 8]);

impl<'frame> Vxlan<'frame> {
    /// Length of the header.
    pub const LEN: usize = 8;
    /// The UDP port assigned to it.
    pub const PORT: u16 = 4789;

    /// Splits the header off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("VXLAN", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Network identifier, 24 bits; `None` if the flag says that it is invalid.
    pub fn vni(&self) -> Option<u32> {
        let [flags, _, _, _, a, b, c, _] = *self.0;
        (flags & 8 != 0).then(|| u32::from_be_bytes([0, a, b, c]))
    }
}

/// The fields of a [`Vxlan`] header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VxlanFields {
    /// Network identifier; the low 24 bits are used.
    pub vni: u32,
}

impl VxlanFields {
    /// Encodes the header, with the flag that the identifier is valid.
    pub fn bytes(&self) -> [u8; Vxlan::LEN] {
        let [_, a, b, c] = self.vni.to_be_bytes();
        [8, 0, 0, 0, a, b, c, 0]
    }
}

/// A Geneve header with its options; a packet of the protocol follows.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---+-----------+-+-+-----------+-------------------------------+
/// | 0 | words opt.|O|C|     0     |           protocol            |
/// +---+-----------+-+-+-----------+---------------+---------------+
/// |            network identifier (VNI)           |       0       |
/// +-----------------------------------------------+---------------+
/// ```
///
/// # Source
/// RFC 8926, 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geneve<'frame>(&'frame [u8; 8]);

impl<'frame> Geneve<'frame> {
    /// Length of the fixed part.
    pub const LEN: usize = 8;

    /// Splits header and options off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// Too few bytes, or a version other than 0.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        let (header, rest) = split_header::<8>("Geneve", bytes, at)?;
        let version = header[0] >> 6;
        if version != 0 {
            return Err(Inconsistent {
                layer: "Geneve",
                at,
                field: "version",
                value: version.into(),
            }
            .into());
        }
        let options = usize::from(header[0] & 0x3f) * 4;
        let rest = rest.get(options..).ok_or(Truncated {
            layer: "Geneve",
            at,
            need: Self::LEN + options,
            have: bytes.len(),
        })?;
        Ok((Self(header), rest))
    }

    /// Network identifier, 24 bits.
    pub fn vni(&self) -> u32 {
        u32::from_be_bytes([0, self.0[4], self.0[5], self.0[6]])
    }

    /// `EtherType` of what follows.
    pub fn protocol(&self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

/// A GRE header with its optional fields; a packet of the protocol follows.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+---------------+-----+-------------------------------+
/// |C|R|K|S|s|       0       | ver.|           protocol            |
/// +-+-+-+-+-+---------------+-----+-------------------------------+
/// |   checksum, offset (C or R); key (K); sequence number (S)     |
/// +---------------------------------------------------------------+
/// ```
///
/// # Source
/// RFC 2784, 2.1; RFC 2890, 2; RFC 2637, 4.1 for version 1 (PPTP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre<'frame>(&'frame [u8]);

impl<'frame> Gre<'frame> {
    /// Splits the header with its optional fields off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// Too few bytes, a version above 1, or source routes (RFC 1701), which nobody sends.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), HeaderError> {
        let (&[flags, low, ..], _) = split_header::<4>("GRE", bytes, at)?;
        let inconsistent = |field, value: u8| Inconsistent {
            layer: "GRE",
            at,
            field,
            value: value.into(),
        };
        let version = low & 7;
        if version > 1 {
            return Err(inconsistent("version", version).into());
        }
        if flags & 0x40 != 0 {
            return Err(inconsistent("routing flag", 1).into());
        }
        let has_acknowledgment = version == 1 && low & 0x80 != 0;
        let words = (flags & 0b1011_0000).count_ones() + u32::from(has_acknowledgment);
        let need = 4 + 4 * words as usize;
        let (header, rest) = bytes.split_at_checked(need).ok_or(Truncated {
            layer: "GRE",
            at,
            need,
            have: bytes.len(),
        })?;
        Ok((Self(header), rest))
    }

    /// Version: 0, or 1 for PPTP.
    pub fn version(&self) -> u8 {
        self.0.get(1).map_or(0, |low| low & 7)
    }

    /// `EtherType` of what follows: [`ethertype::BRIDGED`] for an Ethernet frame.
    pub fn protocol(&self) -> u16 {
        u16_at(self.0, 2).unwrap_or_default()
    }

    /// Key, if there is one.
    pub fn key(&self) -> Option<u32> {
        let flags = *self.0.first()?;
        let at = if flags & 0x80 != 0 { 8 } else { 4 };
        (flags & 0x20 != 0).then(|| u32_at(self.0, at))?
    }
}

/// One entry of an MPLS label stack.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------------------------------+-----+-+---------------+
/// |                 label                 | TC  |S|      TTL      |
/// +---------------------------------------+-----+-+---------------+
/// ```
///
/// # Source
/// RFC 3032, 2.1; RFC 5462 for the traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpls<'frame>(&'frame [u8; 4]);

impl<'frame> Mpls<'frame> {
    /// Length of an entry.
    pub const LEN: usize = 4;

    /// Splits the entry off the front of `bytes`, which start at offset `at` of the frame.
    ///
    /// # Errors
    /// [`Truncated`] if there are too few bytes.
    pub fn split(bytes: &'frame [u8], at: usize) -> Result<(Self, &'frame [u8]), Truncated> {
        let (header, rest) = split_header("MPLS", bytes, at)?;
        Ok((Self(header), rest))
    }

    /// Label, 20 bits.
    pub fn label(&self) -> u32 {
        u32::from_be_bytes(*self.0) >> 12
    }

    /// Traffic class, 0 to 7.
    pub fn traffic_class(&self) -> u8 {
        self.0[2] >> 1 & 7
    }

    /// Whether this is the last entry of the stack.
    pub fn is_bottom(&self) -> bool {
        self.0[2] & 1 != 0
    }

    /// Time to live.
    pub fn ttl(&self) -> u8 {
        self.0[3]
    }

    /// The `EtherType` of what follows the stack, which MPLS does not say: guessed from its first byte, as routers do.
    pub fn guess_ethertype(payload: &[u8]) -> Option<u16> {
        match payload.first()? >> 4 {
            4 => Some(ethertype::IPV4),
            6 => Some(ethertype::IPV6),
            _ => None,
        }
    }
}
