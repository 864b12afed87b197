//! Addresses as they are written.

use crate::error::Reason;

/// An address of one to four parts, left in the word, and how many of its bits were written.
pub(super) fn dotted(text: &str) -> Result<(u32, u32), Reason> {
    let mut address = 0;
    let mut bits = 0;
    for part in text.split('.') {
        let part: u8 = part.parse().map_err(|_| Reason::InvalidIpv4(text.into()))?;
        address = address << 8 | u32::from(part);
        bits += 8;
    }
    if bits > 32 {
        return Err(Reason::InvalidIpv4(text.into()));
    }
    Ok((address << (32 - bits), bits))
}

/// The mask of the first `bits` bits.
pub(super) fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// The mask of the first `bits` of 128 bits.
pub(super) fn mask6(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

/// A network given by its first bytes as a number: `10` is 10.0.0.0, with the mask of these bytes.
pub(super) fn network(number: u32) -> (u32, u32) {
    let (mut address, mut mask) = (number, u32::MAX);
    while address != 0 && address & 0xff00_0000 == 0 {
        address <<= 8;
        mask <<= 8;
    }
    (address, mask)
}

/// A DECnet address: `area.node`.
pub(super) fn decnet(text: &str) -> Result<u16, Reason> {
    let invalid = || Reason::InvalidDecnet(text.into());
    let (area, node) = text.split_once('.').ok_or_else(invalid)?;
    let area: u16 = area.parse().map_err(|_| invalid())?;
    let node: u16 = node.parse().map_err(|_| invalid())?;
    if area > 63 || node > 1023 {
        return Err(invalid());
    }
    Ok(area << 10 | node)
}
