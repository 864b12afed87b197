//! What can be configured, and how it is said.

use std::fmt;
use std::hash::Hash;

use crate::codec::{Malformed, Message, Refusal, Request};
use crate::error::{Cause, Subject};
use crate::table::{Entry, Question};
use crate::uapi::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};

/// What is to be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Make it; it may not be there.
    Add,
    /// Make it, or put it in the place of the one that is there.
    Replace,
    /// Change the one that is there.
    Set,
    /// Make it beside those of the same key.
    Append,
    /// Remove it.
    Del,
    /// Ask for this one.
    Get,
    /// Ask for all that are like it.
    List,
}

impl Verb {
    /// The flags it has in most messages.
    pub(crate) fn flags(self) -> u16 {
        match self {
            Self::Add => NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
            Self::Replace => NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
            Self::Set => NLM_F_ACK | NLM_F_REPLACE,
            Self::Append => NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND,
            Self::Del => NLM_F_ACK,
            Self::Get => 0,
            Self::List => NLM_F_DUMP,
        }
    }
}

/// The types of the messages that speak of a kind of object.
#[derive(Clone, Copy, Debug)]
pub struct Messages {
    /// There is one (`RTM_NEW…`).
    pub new: u16,
    /// It is no more (`RTM_DEL…`).
    pub del: u16,
    /// A question (`RTM_GET…`).
    pub get: u16,
}

impl Messages {
    /// The type of the message that says `verb`, where there is nothing special about it.
    pub(crate) fn of(self, verb: Verb) -> u16 {
        match verb {
            Verb::Add | Verb::Replace | Verb::Set | Verb::Append => self.new,
            Verb::Del => self.del,
            Verb::Get | Verb::List => self.get,
        }
    }
}

/// Something a request cannot say, found before it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfit {
    /// What is wrong with it.
    pub reason: String,
}

impl Unfit {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Unfit {}

/// Something the kernel configures: one struct of optional fields is the desired state, the filter, the
/// answer and the event alike.
pub trait Object: Clone + fmt::Debug + Default + PartialEq + Send + Sync + 'static {
    /// What tells one from another.
    type Key: Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static;

    /// The messages that speak of it.
    const MESSAGES: Messages;
    /// Length of the fixed header before its attributes, in bytes.
    const HEADER_BYTES: usize;
    /// The groups whose notifications speak of it (`RTNLGRP_…`).
    const GROUPS: &'static [u32];
    /// Whether the kernel can be asked for one; where it cannot, all that are like it are asked for.
    const HAS_GET: bool;
    /// Why one that was removed cannot be made again as it was, if that is so: other objects went with it.
    const IRRETRIEVABLE: Option<&'static str> = None;

    /// Whether to add one that is there changes it, and to remove one that is not there is no error.
    const IDEMPOTENT: bool = false;
    /// Whether [`parse`](Self::parse) reads what [`put`](Self::put) says; where a request is laid out as no
    /// answer is, it does not.
    const READS_REQUESTS: bool = true;

    /// Its attributes.
    fn entries() -> &'static [Entry];

    /// Adds the message that says `verb` of it. In a question for all, fields by which the kernel can
    /// choose are said and others are left to [`matches`](Self::matches).
    ///
    /// # Errors
    /// [`Unfit`] when it cannot be said.
    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit>;

    /// Becomes what the body of a message says of one, whether that is there or no more; false when the
    /// message is about something else, e.g. of another family. Nothing is left of what it was before, so
    /// that one object serves to read many messages. It means nothing after false or an error.
    ///
    /// # Errors
    /// [`Malformed`] when the message ends too early.
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed>;

    /// Reads the body of a message as [`parse_into`](Self::parse_into) does; `None` when it is about
    /// something else.
    ///
    /// # Errors
    /// As [`parse_into`](Self::parse_into).
    fn parse(body: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut object = Self::default();
        Ok(object.parse_into(body)?.then_some(object))
    }

    /// As [`parse_into`](Self::parse_into), for messages that speak of several: it becomes one after
    /// another, and `take` is handed it each time.
    ///
    /// # Errors
    /// As [`parse_into`](Self::parse_into).
    #[inline]
    fn parse_each(
        &mut self,
        body: &[u8],
        mut take: impl FnMut(&mut Self),
    ) -> Result<(), Malformed> {
        if self.parse_into(body)? {
            take(self);
        }
        Ok(())
    }

    /// Length of the fixed header and the attributes of the message that says `verb`, where those are not
    /// the usual.
    fn layout(_verb: Verb) -> (usize, &'static [Entry]) {
        (Self::HEADER_BYTES, Self::entries())
    }

    /// What tells it from others; `None` when it lacks a part of that.
    fn key(&self) -> Option<Self::Key>;

    /// Whether each field given in `wanted` is the same here.
    fn matches(&self, wanted: &Self) -> bool;

    /// What [`matches`](Self::matches) asks where this one is wanted, to be asked of many.
    fn questions(&self) -> Vec<Question<Self>> {
        vec![Self::matches]
    }

    /// Whether the kernel has chosen by all that this one gives, where it says that it has chosen
    /// (`NLM_F_DUMP_FILTERED`).
    fn is_chosen_by_kernel(&self) -> bool {
        false
    }

    /// Whether `other` is the same in all that somebody configures: counters may differ.
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    /// Whether it may be there still, or in part, when `gone` of the same key is told to be no more.
    fn outlives(&self, _gone: &Self) -> bool {
        false
    }

    /// Whether a notification, also of another kind, may mean that some changed or went without a word.
    fn is_upset_by(_message: Message<'_>) -> bool {
        false
    }

    /// Whether the refusal of a question for all says no more than that there are none.
    fn is_none(_refusal: &Refusal) -> bool {
        false
    }

    /// It without what the kernel only tells: what is said to make one like it.
    #[must_use]
    fn settable(self) -> Self {
        self
    }

    /// Leaves out what was told but not asked for.
    #[inline]
    fn reduce_to(&mut self, _asked: &Self) {}

    /// Each of those it says at once, as a range does.
    fn singles(&self) -> Vec<Self> {
        vec![self.clone()]
    }

    /// Whether making it takes something from `other`, which is not of its key.
    fn displaces(&self, _other: &Self) -> bool {
        false
    }

    /// What has to be set of it, as the kernel told it, when it has been brought back.
    fn set_afterwards(&self) -> Option<Self> {
        None
    }

    /// It, as the kernel told it, so that saying it takes back what `said` did to it.
    #[must_use]
    fn brought_back(self, _said: &Self) -> Self {
        self.settable()
    }

    /// It with the fields alone that are given in `to`, and those that say which one it is.
    #[must_use]
    fn restricted(self, _to: &Self) -> Self {
        self
    }

    /// How errors call it.
    fn subject(&self) -> Subject;

    /// Adds the `step`-th message that is needed after the kernel has made or changed it into `made`, for
    /// what the kernel passes over in silence in the first one; false when there is no such step.
    fn follow_up(&self, _verb: Verb, _made: &Self, _step: usize, _request: &mut Request) -> bool {
        false
    }

    /// Whether the kernel resets what a change leaves out, so that the change has to say all.
    fn is_said_whole(&self, _verb: Verb) -> bool {
        false
    }

    /// It with all that has to be said again of `present`, the object as it is.
    #[must_use]
    fn over(&self, _present: Self) -> Self {
        self.clone()
    }

    /// The path of an attribute that cannot be as it is, for when the kernel refuses and points nowhere.
    fn suspect(&self) -> Option<String> {
        None
    }

    /// Whether the kernel takes no message that makes it: [`make_apart`](Self::make_apart) does.
    fn is_made_apart(&self) -> bool {
        false
    }

    /// Makes it in the namespace of the calling thread, without a message, and returns what says which it is.
    ///
    /// # Errors
    /// [`Cause::System`] with the step that failed, [`Cause::Unfit`].
    fn make_apart(&self) -> Result<Self, Cause> {
        Ok(self.clone())
    }

    /// What has to be set of it when it has been made like that, as `made`; `None` when that is all.
    fn beside(&self, _made: &Self) -> Option<Self> {
        None
    }

    /// Whether there is a follow-up to `verb`.
    fn has_follow_up(&self, _verb: Verb) -> bool {
        false
    }
}

/// Reads an answer or a notification; `None` when it does not speak of an `O`.
#[inline]
pub(crate) fn read<O: Object>(message: Message<'_>) -> Result<Option<O>, Malformed> {
    if message.kind == O::MESSAGES.new {
        O::parse(message.body)
    } else {
        Ok(None)
    }
}
