//! Byte order of a capture file.

/// Which byte of a number comes first in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant (x86, arm64).
    Little,
    /// The most significant.
    Big,
}

impl ByteOrder {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// The two 16-bit fields that were read as one word, in the order they have in the file.
    pub(super) fn halves(self, word: u32) -> (u16, u16) {
        match self {
            Self::Little => (word as u16, (word >> 16) as u16),
            Self::Big => ((word >> 16) as u16, word as u16),
        }
    }

    /// The first `N` 32-bit words of `bytes`; `None` where there are fewer.
    #[inline]
    pub(super) fn words<const N: usize>(self, bytes: &[u8]) -> Option<[u32; N]> {
        let (words, _) = bytes.as_chunks::<4>();
        Some(words.first_chunk::<N>()?.map(|word| self.u32(word)))
    }
}
