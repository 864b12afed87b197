//! The byte order of a capture file.

/// Byte order of the numbers in a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Little-endian (x86, arm64).
    Little,
    /// Big-endian.
    Big,
}

impl ByteOrder {
    /// The byte order of this machine, in which files are written.
    pub const NATIVE: Self = if cfg!(target_endian = "little") {
        Self::Little
    } else {
        Self::Big
    };

    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }

    /// Splits a word into its two 16-bit fields, in file order.
    pub(crate) fn halves(self, word: u32) -> (u16, u16) {
        match self {
            Self::Little => (word as u16, (word >> 16) as u16),
            Self::Big => ((word >> 16) as u16, word as u16),
        }
    }

    /// The first `N` 32-bit words of `bytes`, or `None` if there are fewer.
    #[inline]
    pub(crate) fn words<const N: usize>(self, bytes: &[u8]) -> Option<[u32; N]> {
        let (words, _) = bytes.as_chunks::<4>();
        Some(words.first_chunk::<N>()?.map(|word| self.u32(word)))
    }
}
