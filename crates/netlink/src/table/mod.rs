//! How attributes stand in messages: one table for each set of them, from which its struct, its
//! encoder, its decoder, its words on a command line and the names in errors are derived.
//!
//! `attributes!` makes the struct of a set, `names!` an enumeration of numbers with the names that
//! `ip(8)` has for them, `flag_set!` a set of flags with names, `bits!` a struct of switches, given or not.
//! A [`Code`] says how a value stands in an attribute, a [`Word`] how it is typed.

mod bits;
mod code;
mod code_net;
mod entry;
mod flag_set;
mod macros;
mod names;
mod path;
mod spread;
mod word;
mod word_net;

pub(crate) use bits::bits;
pub use bits::{Bits, Masked, Plain, PlainBe};
pub(crate) use code::whole;
pub use code::{Be, Boxed, Code, Flag, Listed, Native, Nested, Question, Table};
pub use entry::{Entry, Shape};
pub(crate) use flag_set::flag_set;
pub(crate) use macros::attributes;
pub(crate) use names::names;
pub(crate) use path::locate;
pub use spread::Spread;
pub(crate) use spread::if_given;
pub use word::{BadWord, Lookup, Word, Words};
pub(crate) use word::{in_range, push};
