use crate::codec::{Attribute, Malformed, split};
use crate::interface::IfIndex;

/// Length of `struct ndmsg`.
pub(crate) const HEADER_BYTES: usize = 12;
/// The kernel tells times in hundredths of a second (`USER_HZ`).
const TICKS: u32 = 100;

/// The fixed header of the messages of neighbours and forwarding entries (`struct ndmsg`).
#[derive(Clone, Copy, Default)]
pub(crate) struct Header {
    pub family: u8,
    pub index: IfIndex,
    pub state: u16,
    pub flags: u8,
}

impl Header {
    pub(crate) fn emit(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.family;
        bytes[4..8].copy_from_slice(&self.index.0.to_ne_bytes());
        bytes[8..10].copy_from_slice(&self.state.to_ne_bytes());
        bytes[10] = self.flags;
        bytes
    }

    /// The header and what follows it.
    pub(crate) fn split(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("neighbour header", 0, body)?;
        let [family, _, _, _, i0, i1, i2, i3, s0, s1, flags, _] = *header;
        let header = Self {
            family,
            index: IfIndex(u32::from_ne_bytes([i0, i1, i2, i3])),
            state: u16::from_ne_bytes([s0, s1]),
            flags,
        };
        Ok((header, rest))
    }
}

/// When something happened last, in seconds ago, and how many refer to it (`struct nda_cacheinfo`).
pub(crate) struct Moments {
    pub confirmed: u32,
    pub used: u32,
    pub updated: u32,
    pub references: u32,
}

impl Moments {
    pub(crate) fn take(attribute: Attribute<'_>) -> Result<Self, Malformed> {
        let bytes: [u8; 16] = attribute.array()?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let [confirmed, used, updated, references] =
            [0, 1, 2, 3].map(|at| u32::from_ne_bytes(numbers[at]));
        Ok(Self {
            confirmed: confirmed / TICKS,
            used: used / TICKS,
            updated: updated / TICKS,
            references,
        })
    }
}
