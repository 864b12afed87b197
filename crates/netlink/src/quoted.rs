//! Quotes text of the caller in errors.

use std::fmt;

/// Text of the caller in an error, in quotes. Long text is cut.
pub(crate) struct Quoted<'t>(pub &'t str);

/// As much of a text as an error shows. The kernel's longest name, an alternative one, has 127 bytes.
const MAX_LETTERS: usize = 128;

/// Whether a name is a part of a sentence without quotes.
pub(crate) fn is_short(name: &str) -> bool {
    (1..=MAX_LETTERS).contains(&name.len())
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(MAX_LETTERS) {
            Some((end, _)) => write!(f, "{:?} (cut)", &self.0[..end]),
            None => write!(f, "{:?}", self.0),
        }
    }
}
