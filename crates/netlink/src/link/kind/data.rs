use crate::codec::Request;
use crate::object::Unfit;
use crate::table::{BadWord, Code, Nested, Table, Words};
use crate::uapi::IFLA_INFO_DATA;

/// What is particular to a kind of link: its table, and what the table does not say.
pub(crate) trait Data: Table + Clone + PartialEq {
    /// Whether the kernel resets what a change leaves out, so that a change has to say all.
    const IS_SAID_WHOLE: bool = false;

    /// It with what follows from its fields.
    fn completed(&self) -> Self {
        self.clone()
    }

    /// Takes away what the kernel tells without meaning it.
    fn tidy(&mut self) {}

    /// The attribute that cannot be as it is, as a path below that of the kind; for when the kernel
    /// refuses and points nowhere.
    fn suspect(&self) -> Option<&'static str> {
        None
    }

    /// Whether a link like this can be made by a message.
    ///
    /// # Errors
    /// [`Unfit`] with the reason why not.
    fn check_new(&self) -> Result<(), Unfit> {
        Ok(())
    }

    /// As [`Table::word`], for words that stand for more than one field.
    ///
    /// # Errors
    /// As [`Table::word`].
    fn more_words(&mut self, _word: &str, _words: &mut Words<'_>) -> Result<bool, BadWord> {
        Ok(false)
    }

    /// Adds `IFLA_INFO_DATA`, if anything is given.
    fn put_data(&self, request: &mut Request) {
        if *self != Self::default() {
            Nested::put(&self.completed(), IFLA_INFO_DATA, request);
        }
    }
}
