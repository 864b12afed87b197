//! What an object is in the words of ip(8).

use netlink::table::{BadWord, Words};
use netlink::{Family, Listing, Netlink, NetlinkError, Object, Verb};
use serde_json::Value;

use super::job::{self, Stack};
use super::names::Names;
use super::verb::{USUAL, Verbs};
use crate::args::NetArgs;
use crate::failure::{Exit, Failure};

/// How much is shown.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Extent {
    pub details: bool,
    pub statistics: bool,
    /// Counters of errors, too.
    pub errors: bool,
    /// One short line for each.
    pub brief: bool,
}

/// What several objects are chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Show,
    Flush,
}

/// Which objects are meant.
pub struct Choice<O> {
    /// What they are like.
    pub like: O,
    /// What else they have to be.
    pub fits: Box<dyn Fn(&O) -> bool>,
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
    /// What can be done with it.
    const VERBS: Verbs = USUAL;
    /// Whether `flush` without a word more removes all.
    const FLUSHES_ALL: bool = false;

    /// Reads what is said behind `verb`.
    fn read(verb: Verb, family: Option<Family>, words: &mut Words<'_>) -> Result<Self, BadWord>;

    /// Reads which objects the words behind `show` or `flush` mean.
    fn choose(
        _: Purpose,
        family: Option<Family>,
        words: &mut Words<'_>,
    ) -> Result<Choice<Self>, BadWord> {
        let like = Self::read(Verb::List, family, words)?;
        let asked = like.clone();
        let fits = Box::new(move |object: &Self| object.is_shown(&asked));
        Ok(Choice { like, fits })
    }

    /// Shows those that `words` mean.
    fn show(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        job::list::<Self>(stack, words, args)
    }

    /// All that are there and like what is asked for; an error where ip(8) has one for what is not there.
    fn all_like(netlink: &mut Netlink, asked: &Self) -> Result<Listing<Self>, NetlinkError> {
        if !asked.is_one() {
            return netlink.list(asked);
        }
        let mut listing = Listing::default();
        listing.items.push(netlink.get(asked)?);
        Ok(listing)
    }

    /// Removes those that `words` mean.
    fn flush(stack: &mut Stack, words: &[String], args: &NetArgs) -> Result<Exit, Failure> {
        job::flush::<Self>(stack, words, args)
    }

    /// What `flush` and `words` would remove, for a batch.
    fn flushed(
        stack: &mut Stack,
        family: Option<Family>,
        words: &[String],
    ) -> Result<Vec<Self>, Failure> {
        job::flushed(stack, family, words)
    }

    /// Does what [`Act::Own`](super::verb::Act) says, called `act`.
    fn own(_: &mut Stack, act: &str, _: &[String]) -> Result<Exit, Failure> {
        let line = format!("{}: {act} is not known here", Self::NOUN);
        Err(Failure::new(Exit::Usage, line))
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

    /// What is told to who has done `verb`, where it may have another effect than is thought.
    fn advice(&self, _verb: Verb) -> Option<&'static str> {
        None
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

    /// Takes away what was asked for and so goes without saying in text, as in ip(8).
    fn leave_unsaid(&mut self, _asked: &Self) {}

    /// It as ip(8) shows it, without the last line end.
    fn text(&self, names: &mut Names, extent: Extent) -> String;

    /// It with the keys of `ip -json`.
    fn json(&self, names: &mut Names, extent: Extent) -> Value;
}

/// What a word was to be that is neither a process nor the name of a namespace.
pub const NO_NAMESPACE: &str = "a process or the name of a namespace";

/// What a new link cannot be without.
pub const NO_TYPE: &str = "type is required";

/// A word that means nothing where it stands.
pub fn unknown(word: &str) -> BadWord {
    BadWord::new("a word here", Some(word))
}
