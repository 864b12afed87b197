//! The objects that a fake kernel stores.

use std::fmt;

use rustix::io::Errno;

use super::storable::{CascadeEffect, Existing, Reference, StorableObject};
use crate::codec::Message;
use crate::objects::route::Route;
use crate::uapi::{
    AF_UNSPEC, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE,
};
use crate::verb::Verb;

/// A message to the subscribers of `groups`.
#[derive(Debug)]
pub(super) struct Notification {
    pub groups: &'static [u32],
    pub kind: u16,
    pub body: Vec<u8>,
}

/// The result of a request, or of what follows from one.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Bodies of the objects in the reply.
    pub answers: Vec<Vec<u8>>,
    pub notifications: Vec<Notification>,
    /// Objects that others can refer to and that were added or changed (true), or deleted.
    pub references: Vec<(bool, Reference)>,
    /// Routes that the kernel adds (true) or deletes itself.
    pub routes: Vec<(bool, Route)>,
}

/// The objects of any kind.
pub(super) trait Store: fmt::Debug + Send + Sync {
    /// Carries out a request; `None` if it is about another kind.
    fn handle(
        &mut self,
        message: Message<'_>,
        existing: &mut Existing,
    ) -> Option<Result<Done, Errno>>;

    /// Deletes or changes the objects that refer to `gone`.
    fn without(&mut self, gone: Reference, existing: &Existing) -> Done;
}

#[derive(Debug)]
pub(super) struct ObjectStore<O: StorableObject>(Vec<O>);

impl<O: StorableObject> ObjectStore<O> {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn objects(&self) -> &[O] {
        &self.0
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
        existing: &mut Existing,
    ) -> Result<Done, Errno> {
        let mut done = Done::default();
        if verb == Verb::List {
            // Like a kernel that does not filter: the reader does.
            done.answers = self.0.iter().map(O::body).collect();
            return Ok(done);
        }
        said.check(verb, &self.0, existing)?;
        let at = self.0.iter().position(|held| match verb {
            Verb::Del => held.is_deleted_by(&said),
            _ => held.is_identified_by(&said),
        });
        match (verb, at) {
            // A query is answered where it is read.
            (Verb::Get | Verb::List, _) => return Ok(done),
            (Verb::Add, Some(_)) => return Err(Errno::EXIST),
            (Verb::Set, None) if !O::IS_CREATED_BY_CHANGE => return Err(O::ABSENT),
            (Verb::Del, None) => return Err(O::ABSENT),
            (Verb::Del, Some(at)) => {
                self.delete(at, existing, &mut done);
                return Ok(done);
            }
            (Verb::Replace, Some(_)) if !O::IS_CREATED_BY_CHANGE => {
                for new in said.created(&self.0, existing) {
                    self.replace(new, existing, &mut done);
                }
            }
            (Verb::Set | Verb::Replace, Some(at)) => {
                let before = self.0[at].clone();
                self.0[at].apply(said);
                self.note(Some(&before), Some(&self.0[at]), existing, &mut done);
            }
            (Verb::Prepend, Some(at)) => {
                let new = said.created(&self.0, existing);
                self.insert(Some(at), new, existing, &mut done);
            }
            (Verb::Add | Verb::Replace | Verb::Set | Verb::Append | Verb::Prepend, _) => {
                let new = said.created(&self.0, existing);
                self.insert(None, new, existing, &mut done);
            }
        }
        if echo && let Some(last) = done.notifications.last() {
            done.answers = vec![last.body.clone()];
        }
        Ok(done)
    }

    /// Adds objects, behind the others of their rank unless a place is given.
    fn insert(&mut self, at: Option<usize>, objects: Vec<O>, existing: &Existing, done: &mut Done) {
        for object in objects {
            let rank = object.rank();
            let end = self.0.len();
            let place = if O::IS_RANKED {
                self.0.partition_point(|held| held.rank() <= rank)
            } else {
                end
            };
            let place = at.unwrap_or(place);
            self.0.insert(place, object);
            self.note(None, Some(&self.0[place]), existing, done);
        }
    }

    /// Puts an object in the place of the one that it identifies.
    fn replace(&mut self, new: O, existing: &Existing, done: &mut Done) {
        let at = self.0.iter().position(|held| held.is_identified_by(&new));
        let Some(at) = at else {
            return self.insert(None, vec![new], existing, done);
        };
        let before = std::mem::replace(&mut self.0[at], new);
        self.note(Some(&before), Some(&self.0[at]), existing, done);
    }

    /// Deletes an object, and the others of its kind that go with it.
    fn delete(&mut self, at: usize, existing: &Existing, done: &mut Done) {
        let gone = self.0.remove(at);
        self.note(Some(&gone), None, existing, done);
        while let Some(at) = self.0.iter().position(|held| held.goes_with(&gone)) {
            let other = self.0.remove(at);
            // Its routes are those that it had beside the deleted object.
            let held = std::slice::from_ref(&gone);
            note(held, Some(&other), None, existing, done);
        }
    }

    fn note(&self, before: Option<&O>, after: Option<&O>, existing: &Existing, done: &mut Done) {
        note(&self.0, before, after, existing, done);
    }
}

/// Notes a change of an object, one of those `held`.
fn note<O: StorableObject>(
    held: &[O],
    before: Option<&O>,
    after: Option<&O>,
    existing: &Existing,
    done: &mut Done,
) {
    let Some(now) = after.or(before) else { return };
    let types = O::MESSAGES;
    let is_there = after.is_some();
    done.notifications.push(Notification {
        groups: O::NOTIFIED_GROUPS,
        kind: if is_there { types.new } else { types.del },
        body: now.body(),
    });
    if let Some(reference) = now.reference() {
        done.references.push((is_there, reference));
    }
    let is_up = now.link().is_some_and(|link| existing.is_up(link));
    let routes = |object: Option<&O>| object.map_or_else(Vec::new, |it| it.routes(held, is_up));
    let (old, new) = (routes(before), routes(after));
    let differ = |routes: &[Route], others: &[Route], is_there| {
        let differ = routes.iter().filter(|route| !others.contains(route));
        differ
            .map(|route| (is_there, route.clone()))
            .collect::<Vec<_>>()
    };
    done.routes.extend(differ(&old, &new, false));
    done.routes.extend(differ(&new, &old, true));
}

impl ObjectStore<Route> {
    /// Adds (true) or deletes routes that the kernel keeps itself.
    pub fn keep(&mut self, routes: Vec<(bool, Route)>, existing: &Existing) -> Done {
        let mut done = Done::default();
        for (is_there, route) in routes {
            if is_there {
                self.insert(None, vec![route], existing, &mut done);
            } else if let Some(at) = self.0.iter().position(|held| *held == route) {
                self.delete(at, existing, &mut done);
            }
        }
        done
    }
}

impl<O: StorableObject> Store for ObjectStore<O> {
    fn handle(
        &mut self,
        message: Message<'_>,
        existing: &mut Existing,
    ) -> Option<Result<Done, Errno>> {
        let verb = Self::verb(message)?;
        match O::decode_request(message.body) {
            Ok(Some(said)) if verb == Verb::Get => {
                let answer = said
                    .check(verb, &self.0, existing)
                    .and_then(|()| O::answer(&self.0, &said, message.body));
                Some(answer.map(|object| Done {
                    answers: vec![object.body()],
                    ..Done::default()
                }))
            }
            Ok(Some(said)) => {
                let echo = message.flags & NLM_F_ECHO != 0;
                Some(self.carry_out(verb, said, echo, existing))
            }
            // A query for any family.
            Ok(None) if verb == Verb::List && message.body.first() == Some(&AF_UNSPEC) => {
                Some(self.carry_out(verb, O::default(), false, existing))
            }
            Ok(None) => None,
            Err(_) => Some(Err(Errno::INVAL)),
        }
    }

    fn without(&mut self, gone: Reference, existing: &Existing) -> Done {
        let mut done = Done::default();
        let mut at = 0;
        while at < self.0.len() {
            let before = self.0[at].clone();
            match self.0[at].without(gone) {
                CascadeEffect::Unchanged => at += 1,
                CascadeEffect::Changed => {
                    self.note(Some(&before), Some(&self.0[at]), existing, &mut done);
                    at += 1;
                }
                CascadeEffect::Deleted => {
                    self.0.remove(at);
                    self.note(Some(&before), None, existing, &mut done);
                }
            }
        }
        done
    }
}
