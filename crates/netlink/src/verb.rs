//! The operations on a kernel object and the message types that carry them.

use crate::uapi::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};

/// An operation on a kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Create it. Fails if it exists.
    Add,
    /// Create it, or replace the existing one.
    Replace,
    /// Change the existing one.
    Set,
    /// Create it behind others with the same key.
    Append,
    /// Create it before others with the same key.
    Prepend,
    /// Delete it.
    Del,
    /// Read one object.
    Get,
    /// List all objects that match a filter.
    List,
}

impl Verb {
    /// The netlink flags of most requests with this verb.
    #[inline]
    pub(crate) fn flags(self) -> u16 {
        match self {
            Self::Add => NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
            Self::Replace => NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
            Self::Set => NLM_F_ACK | NLM_F_REPLACE,
            Self::Append => NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND,
            Self::Prepend => NLM_F_ACK | NLM_F_CREATE,
            Self::Del => NLM_F_ACK,
            Self::Get => 0,
            Self::List => NLM_F_DUMP,
        }
    }
}

/// The message types of one kind of object.
#[derive(Clone, Copy, Debug)]
pub struct MessageTypes {
    /// The object exists or is to be created (`RTM_NEW…`).
    pub new: u16,
    /// The object was deleted or is to be deleted (`RTM_DEL…`).
    pub del: u16,
    /// A query (`RTM_GET…`).
    pub get: u16,
}

impl MessageTypes {
    /// The types of an object: rtnetlink numbers those of new, deleted and queried objects consecutively.
    pub(crate) const fn starting_with(new: u16) -> Self {
        Self {
            new,
            del: new + 1,
            get: new + 2,
        }
    }

    /// The message type for `verb`.
    #[inline]
    pub(crate) fn of(self, verb: Verb) -> u16 {
        match verb {
            Verb::Add | Verb::Replace | Verb::Set | Verb::Append | Verb::Prepend => self.new,
            Verb::Del => self.del,
            Verb::Get | Verb::List => self.get,
        }
    }
}
