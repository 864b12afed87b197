//! What an object is in the words of ip(8).

use netlink::table::{BadWord, Words};
use netlink::{Object, Verb};
use serde_json::Value;

use super::names::Names;

/// How much is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    pub details: bool,
    pub statistics: bool,
}

/// The address family that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Any,
    V4,
    V6,
}

/// An object that the program speaks of.
pub trait Spelled: Object {
    /// What its event is called in JSON: `link`.
    const NOUN: &'static str;

    /// Reads what is said behind `verb`.
    fn read(verb: Verb, family: Family, words: &mut Words<'_>) -> Result<Self, BadWord>;

    /// It as ip(8) shows it, without the last line end.
    fn text(&self, names: &mut Names, extent: Extent) -> String;

    /// It with the keys of `ip -json`.
    fn json(&self, names: &mut Names, extent: Extent) -> Value;
}

/// What a word was to be that is the name of no link.
pub const NO_LINK: &str = "the name of a link";

/// A word that means nothing where it stands.
pub fn unknown(word: &str) -> BadWord {
    BadWord::new("a word here", Some(word))
}
