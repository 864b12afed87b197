use std::fmt;

/// Bytes that end before what they announce, or announce what cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// What was being read.
    pub layer: &'static str,
    /// Where it begins: bytes from the beginning of the message or, for a message, of the datagram.
    pub at: usize,
    /// Bytes it needs.
    pub need: usize,
    /// Bytes that are there.
    pub have: usize,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            layer,
            at,
            need,
            have,
        } = self;
        write!(f, "{layer} at byte {at} needs {need} bytes and has {have}")
    }
}

impl std::error::Error for Malformed {}

/// The first `N` bytes of `bytes` and the rest, or the place where they end too early.
#[inline]
pub(crate) fn split<'a, const N: usize>(
    layer: &'static str,
    at: usize,
    bytes: &'a [u8],
) -> Result<(&'a [u8; N], &'a [u8]), Malformed> {
    let have = bytes.len();
    bytes.split_first_chunk().ok_or(Malformed {
        layer,
        at,
        need: N,
        have,
    })
}
