//! What an object is in the words of ip(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, Netlink, NetlinkError, Object, Verb};
use serde_json::Value;

use super::job::{self, Stack};
use super::names::Names;
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// How much is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    pub details: bool,
    pub statistics: bool,
}

/// Why a question has no answer.
#[derive(Debug)]
pub enum Unanswered {
    Word(BadWord),
    Kernel(NetlinkError),
}

impl From<BadWord> for Unanswered {
    fn from(bad: BadWord) -> Self {
        Self::Word(bad)
    }
}

impl From<NetlinkError> for Unanswered {
    fn from(error: NetlinkError) -> Self {
        Self::Kernel(error)
    }
}

/// An object that the program speaks of.
pub trait Spelled: Object {
    /// What its event is called in JSON: `link`.
    const NOUN: &'static str;

    /// Reads what is said behind `verb`.
    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord>;

    /// Shows those that `words` mean.
    fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        job::list::<Self>(stack, words, args)
    }

    /// What `get` and the words behind it ask for.
    fn ask(
        netlink: &mut Netlink,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Self, Unanswered> {
        let key = Self::read(Verb::Get, family, words)?;
        Ok(netlink.get(&key)?)
    }

    /// Whether it says one object: that is missing is then an error, as it is for ip(8), and no empty list.
    fn is_one(&self) -> bool {
        false
    }

    /// Whether it is shown, of all that are there and like what was asked for.
    fn is_shown(&self, _asked: &Self) -> bool {
        true
    }

    /// Forgets what was noted of one that is no more.
    fn forget(&self, _names: &mut Names) {}

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
