//! Displays bytes as text or hexadecimal.

use std::fmt::{self, Write};

/// Bytes of a packet as harmless text: printable ASCII is kept, a backslash becomes `\\`, and every other
/// byte `\xHH`. Text longer than the limit ends in `...`.
///
/// ```
/// use tapline_wire::Escaped;
///
/// assert_eq!(Escaped::new(b"GET /\x1b[2J", 80).to_string(), r"GET /\x1b[2J");
/// assert_eq!(Escaped::new(b"abcdef", 3).to_string(), "abc...");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escaped<'a> {
    bytes: &'a [u8],
    limit: usize,
}

impl<'a> Escaped<'a> {
    /// The text of at most `limit` of `bytes`.
    pub fn new(bytes: &'a [u8], limit: usize) -> Self {
        Self { bytes, limit }
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.bytes.iter().take(self.limit) {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                b' '..=b'~' => f.write_char(byte.into())?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        if self.bytes.len() > self.limit {
            f.write_str("...")?;
        }
        Ok(())
    }
}

/// Bytes as hexadecimal digits, at most 20 of them; then `...`.
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LIMIT: usize = 20;
        for byte in self.0.iter().take(LIMIT) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(if self.0.len() > LIMIT { "..." } else { "" })
    }
}

/// The big-endian number at `at` of `bytes`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*chunk))
}

/// The big-endian number at `at` of `bytes`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*chunk))
}
