//! The objects that a fake kernel stores.

use std::fmt;

use rustix::io::Errno;

use super::lookup::look_up;
use crate::DsField;
use crate::codec::{HEADER_BYTES, Message, Request};
use crate::interface::IfIndex;
use crate::link::Link;
use crate::object::Object;
use crate::schema::AttributeSet;
use crate::uapi::{
    AF_UNSPEC, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE,
};
use crate::verb::Verb;
use crate::{Addr, Fdb, Neigh, Nexthop, Route, Rule};

/// An object that a [`FakeKernel`](super::FakeKernel) can store.
pub trait StorableObject: Object {
    /// The error number for a missing object.
    const ABSENT: Errno;

    /// Whether the kernel stores and finds these objects in the order of [`rank`](Self::rank).
    const IS_RANKED: bool = false;

    /// The object with the values that the kernel chooses. `index` is the index of the next link, and `held` are the
    /// objects of this kind that exist.
    #[must_use]
    fn created(self, _index: IfIndex, _held: &[Self]) -> Self {
        self
    }

    /// Whether the request `said` is about this object.
    fn is_identified_by(&self, said: &Self) -> bool {
        said.key().is_some() && said.key() == self.key()
    }

    /// The answer to the query `said`, whose message has `body`, for one of the `held` objects: the one that it identifies.
    ///
    /// # Errors
    /// The error number of the kernel, [`ABSENT`](Self::ABSENT) without such an object.
    fn answer(held: &[Self], said: &Self, _body: &[u8]) -> Result<Self, Errno> {
        let mut held = held.iter();
        let found = held.find(|held| held.is_identified_by(said));
        found.cloned().ok_or(Self::ABSENT)
    }

    /// Whether the request `said` deletes this object, if it is the first of which that is true.
    fn is_deleted_by(&self, said: &Self) -> bool {
        self.is_identified_by(said)
    }

    /// Its place among the objects of its kind.
    fn rank(&self) -> u32 {
        0
    }

    /// Applies `change`.
    fn apply(&mut self, change: Self);

    /// The link with which it is deleted.
    fn link(&self) -> Option<IfIndex> {
        None
    }
}

impl StorableObject for Link {
    const ABSENT: Errno = Errno::NODEV;

    fn created(mut self, index: IfIndex, _: &[Self]) -> Self {
        self.index.get_or_insert(index);
        self.mtu.get_or_insert(1500);
        self.up.get_or_insert(false);
        self
    }

    fn is_identified_by(&self, said: &Self) -> bool {
        match (said.index, said.name) {
            (Some(index), _) => self.index == Some(index),
            (None, Some(name)) => self.name == Some(name),
            (None, None) => false,
        }
    }

    fn apply(&mut self, change: Self) {
        let (index, flags) = (self.index, self.flags);
        self.merge(change);
        (self.index, self.flags) = (index, flags);
    }

    fn link(&self) -> Option<IfIndex> {
        self.index
    }
}

macro_rules! storable {
    ($type:ty, $absent:ident, $link:ident) => {
        impl StorableObject for $type {
            const ABSENT: Errno = Errno::$absent;

            fn apply(&mut self, change: Self) {
                self.merge(change);
            }

            fn link(&self) -> Option<IfIndex> {
                self.$link
            }
        }
    };
}

storable!(Addr, ADDRNOTAVAIL, dev);
storable!(Neigh, NOENT, dev);
storable!(Nexthop, NOENT, dev);

impl StorableObject for Fdb {
    const ABSENT: Errno = Errno::NOENT;

    fn is_identified_by(&self, said: &Self) -> bool {
        self.lladdr == said.lladdr && self.dev == said.dev && self.vlan == said.vlan
    }

    fn apply(&mut self, change: Self) {
        self.merge(change);
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }
}

/// The priority of the rule for the table main, which a network has from the start.
const MAIN_PRIORITY: u32 = 32_766;

/// A rule is identified by all of its fields, and the first that has the given ones is deleted.
impl StorableObject for Rule {
    const ABSENT: Errno = Errno::NOENT;
    const IS_RANKED: bool = true;

    /// Without a priority, that before the others (`fib_default_rule_pref`, net/core/fib\_rules.c).
    fn created(mut self, _: IfIndex, held: &[Self]) -> Self {
        let others = held.iter().filter(|rule| rule.family == self.family);
        let others = others
            .filter_map(|rule| rule.priority)
            .filter(|it| *it > 0)
            .min();
        let before = others.map_or(MAIN_PRIORITY, |least| least.min(MAIN_PRIORITY)) - 1;
        self.priority.get_or_insert(before);
        self
    }

    fn is_identified_by(&self, said: &Self) -> bool {
        said.key().is_some() && said.key() == self.key()
    }

    /// The kernel does not compare whether the selection is inverted, nor the target of `goto`.
    fn is_deleted_by(&self, said: &Self) -> bool {
        let mut said = said.clone().settable();
        (said.not, said.goto) = (None, None);
        self.matches(&said)
    }

    fn rank(&self) -> u32 {
        self.priority.unwrap_or_default()
    }

    fn apply(&mut self, change: Self) {
        self.merge(change);
    }
}

impl StorableObject for Route {
    const ABSENT: Errno = Errno::SRCH;

    /// The kernel looks up routes by packets.
    fn answer(held: &[Self], said: &Self, body: &[u8]) -> Result<Self, Errno> {
        look_up(held, said, body)
    }

    /// Deletion ignores fields that the request does not give.
    fn is_identified_by(&self, said: &Self) -> bool {
        let key = |route: &Self| Object::key(route).map(|key| (key.table, key.dst, key.src));
        let is_open = said.metric.is_none() && said.tos.unwrap_or_default() == DsField(0);
        key(said).is_some() && key(said) == key(self) && (is_open || said.key() == self.key())
    }

    fn apply(&mut self, change: Self) {
        self.merge(change);
    }

    fn link(&self) -> Option<IfIndex> {
        self.dev
    }
}

/// The result of a request.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Bodies of the objects in the reply.
    pub answers: Vec<Vec<u8>>,
    /// Bodies of notifications: added or changed (true), deleted (false).
    pub changes: Vec<(bool, Vec<u8>)>,
    /// A deleted link.
    pub link_gone: Option<IfIndex>,
}

/// The objects of any kind.
pub(super) trait Store: fmt::Debug + Send + Sync {
    fn groups(&self) -> &'static [u32];
    /// Message types of new and deleted objects.
    fn kinds(&self) -> (u16, u16);
    /// Carries out a request; `None` if it is about another kind.
    fn handle(&mut self, message: Message<'_>, index: IfIndex) -> Option<Result<Done, Errno>>;
    /// Deletes the objects on `link`.
    fn drop_link(&mut self, link: IfIndex) -> Done;
}

#[derive(Debug)]
pub(super) struct ObjectStore<O: StorableObject>(Vec<O>);

impl<O: StorableObject> ObjectStore<O> {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    fn verb(message: Message<'_>) -> Option<Verb> {
        let has = |flag| message.flags & flag != 0;
        Some(match message.kind {
            kind if kind == O::MESSAGES.get && message.flags & NLM_F_DUMP == NLM_F_DUMP => {
                Verb::List
            }
            kind if kind == O::MESSAGES.get => Verb::Get,
            kind if kind == O::MESSAGES.del => Verb::Del,
            kind if kind != O::MESSAGES.new => return None,
            _ if has(NLM_F_CREATE) && has(NLM_F_APPEND) => Verb::Append,
            _ if has(NLM_F_CREATE) && has(NLM_F_REPLACE) && !has(NLM_F_EXCL) => Verb::Replace,
            _ if has(NLM_F_CREATE) && !has(NLM_F_EXCL) => Verb::Prepend,
            _ if has(NLM_F_CREATE) => Verb::Add,
            _ => Verb::Set,
        })
    }

    fn carry_out(
        &mut self,
        verb: Verb,
        said: O,
        echo: bool,
        index: IfIndex,
    ) -> Result<Done, Errno> {
        let at = self.0.iter().position(|held| match verb {
            Verb::Del => held.is_deleted_by(&said),
            _ => held.is_identified_by(&said),
        });
        let mut done = Done::default();
        match (verb, at) {
            (Verb::List, _) => {
                // Like a kernel that does not filter: the reader does.
                done.answers = self.0.iter().map(body).collect();
                return Ok(done);
            }
            (Verb::Add, Some(_)) => return Err(Errno::EXIST),
            // A query is answered where it is read.
            (Verb::Get, _) => return Ok(done),
            (Verb::Set | Verb::Del, None) => return Err(O::ABSENT),
            (Verb::Del, Some(at)) => {
                let gone = self.0.remove(at);
                done.changes.push((false, body(&gone)));
                done.link_gone = gone.link();
                return Ok(done);
            }
            (Verb::Add | Verb::Replace, None) | (Verb::Append, _) => {
                let created = said.created(index, &self.0);
                done.changes.push((true, body(&created)));
                let rank = created.rank();
                let place = if O::IS_RANKED {
                    self.0.partition_point(|held| held.rank() <= rank)
                } else {
                    self.0.len()
                };
                self.0.insert(place, created);
            }
            (Verb::Prepend, at) => {
                let at = at.unwrap_or(self.0.len());
                let created = said.created(index, &self.0);
                self.0.insert(at, created);
                done.changes.push((true, body(&self.0[at])));
            }
            (Verb::Replace, Some(at)) => {
                self.0[at] = said.created(index, &self.0);
                done.changes.push((true, body(&self.0[at])));
            }
            (Verb::Set, Some(at)) => {
                self.0[at].apply(said);
                done.changes.push((true, body(&self.0[at])));
            }
        }
        if echo {
            done.answers = done.changes.iter().map(|(_, body)| body.clone()).collect();
        }
        Ok(done)
    }
}

impl<O: StorableObject> Store for ObjectStore<O> {
    fn groups(&self) -> &'static [u32] {
        O::GROUPS
    }

    fn kinds(&self) -> (u16, u16) {
        (O::MESSAGES.new, O::MESSAGES.del)
    }

    fn handle(&mut self, message: Message<'_>, index: IfIndex) -> Option<Result<Done, Errno>> {
        let verb = Self::verb(message)?;
        match O::decode_request(message.body) {
            Ok(Some(said)) if verb == Verb::Get => {
                let answer = O::answer(&self.0, &said, message.body);
                Some(answer.map(|object| Done {
                    answers: vec![body(&object)],
                    ..Done::default()
                }))
            }
            Ok(Some(said)) => {
                let echo = message.flags & NLM_F_ECHO != 0;
                Some(self.carry_out(verb, said, echo, index))
            }
            // A query for any family.
            Ok(None) if verb == Verb::List && message.body.first() == Some(&AF_UNSPEC) => {
                Some(self.carry_out(verb, O::default(), false, index))
            }
            Ok(None) => None,
            Err(_) => Some(Err(Errno::INVAL)),
        }
    }

    fn drop_link(&mut self, link: IfIndex) -> Done {
        let mut done = Done::default();
        self.0.retain(|held| {
            let stays = held.link() != Some(link);
            if !stays {
                done.changes.push((false, body(held)));
            }
            stays
        });
        done
    }
}

/// The body of a message about `object`.
fn body<O: StorableObject>(object: &O) -> Vec<u8> {
    let mut request = Request::default();
    match object.encode(Verb::Add, &mut request) {
        Ok(()) => request.bytes()[HEADER_BYTES..].to_vec(),
        Err(_) => Vec::new(),
    }
}
