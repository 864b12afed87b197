use serde::{Deserialize, Deserializer};

use super::{BadWord, Lookup, Table, Words};

/// A value whose parts have words of their own, and stand beside the other fields in JSON.
pub trait Spread {
    /// As [`Table::word`].
    ///
    /// # Errors
    /// [`BadWord`] when the value cannot be one.
    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord>;

    /// As [`Table::show`].
    fn show(&self, lookup: &mut dyn Lookup, show: &mut dyn FnMut(&'static str, String));
}

impl<T: Table> Spread for T {
    fn word(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        Table::word(self, word, words)
    }

    fn show(&self, lookup: &mut dyn Lookup, show: &mut dyn FnMut(&'static str, String)) {
        Table::show(self, lookup, show);
    }
}

/// Reads a value that is spread: none when no part of it is given.
pub(crate) fn if_given<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default + PartialEq>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = T::deserialize(from)?;
    Ok((value != T::default()).then_some(value))
}
