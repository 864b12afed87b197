use crate::codec::Malformed;
use crate::codec::split;

/// The fixed header of link messages (`struct ifinfomsg`).
#[derive(Clone, Copy, Default)]
pub(crate) struct Header {
    pub(super) family: u8,
    /// Hardware type (`ARPHRD_*`).
    pub(super) hardware: u16,
    pub(super) index: u32,
    pub(super) flags: u32,
    /// Which of the flags are meant, in a change.
    pub(super) mask: u32,
}

impl Header {
    pub(super) const BYTES: usize = 16;

    pub(super) fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.family;
        bytes[2..4].copy_from_slice(&self.hardware.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.index.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.flags.to_ne_bytes());
        bytes[12..16].copy_from_slice(&self.mask.to_ne_bytes());
        bytes
    }

    /// The header and what follows it.
    pub(super) fn split(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = split::<{ Self::BYTES }>("link header", 0, body)?;
        let [
            family,
            _,
            h0,
            h1,
            i0,
            i1,
            i2,
            i3,
            f0,
            f1,
            f2,
            f3,
            m0,
            m1,
            m2,
            m3,
        ] = *header;
        let header = Self {
            family,
            hardware: u16::from_ne_bytes([h0, h1]),
            index: u32::from_ne_bytes([i0, i1, i2, i3]),
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
            mask: u32::from_ne_bytes([m0, m1, m2, m3]),
        };
        Ok((header, rest))
    }
}
