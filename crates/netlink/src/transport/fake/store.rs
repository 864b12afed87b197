//! The objects of one kind.

use std::fmt;

use rustix::io::Errno;

use super::kept::Kept;
use crate::codec::{HEADER_BYTES, Message, Request};
use crate::interface::IfIndex;
use crate::object::Verb;
use crate::uapi::{
    AF_UNSPEC, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE,
};

/// What a request led to.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Bodies of the objects to answer with.
    pub answers: Vec<Vec<u8>>,
    /// What came or changed (true) and what went (false): bodies of notifications.
    pub changes: Vec<(bool, Vec<u8>)>,
    /// A link that is no more.
    pub link_gone: Option<IfIndex>,
}

/// The objects of one kind, whatever it is.
pub(super) trait Store: fmt::Debug + Send + Sync {
    fn groups(&self) -> &'static [u32];
    /// Types of the messages that say that one is there, and that it is no more.
    fn kinds(&self) -> (u16, u16);
    /// Carries out a request; `None` when it is for another kind.
    fn handle(&mut self, message: Message<'_>, index: IfIndex) -> Option<Result<Done, Errno>>;
    /// Lets go of what is on `link`.
    fn drop_link(&mut self, link: IfIndex) -> Done;
}

#[derive(Debug)]
pub(super) struct Kind<O: Kept>(Vec<O>);

impl<O: Kept> Kind<O> {
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
        let at = self.0.iter().position(|held| held.is_meant_by(&said));
        let mut done = Done::default();
        match (verb, at) {
            (Verb::List, _) => {
                let like = self.0.iter().filter(|held| held.matches(&said));
                done.answers = like.map(body).collect();
                return Ok(done);
            }
            (Verb::Get, Some(at)) => {
                done.answers = vec![body(&self.0[at])];
                return Ok(done);
            }
            (Verb::Add, Some(_)) => return Err(Errno::EXIST),
            (Verb::Get | Verb::Set | Verb::Del, None) => return Err(O::ABSENT),
            (Verb::Del, Some(at)) => {
                let gone = self.0.remove(at);
                done.changes.push((false, body(&gone)));
                done.link_gone = gone.link();
                return Ok(done);
            }
            (Verb::Add | Verb::Replace, None) | (Verb::Append, _) => {
                self.0.push(said.made(index));
                done.changes
                    .push((true, self.0.last().map(body).unwrap_or_default()));
            }
            (Verb::Replace, Some(at)) => {
                self.0[at] = said.made(index);
                done.changes.push((true, body(&self.0[at])));
            }
            (Verb::Set, Some(at)) => {
                self.0[at].take_over(said);
                done.changes.push((true, body(&self.0[at])));
            }
        }
        if echo {
            done.answers = done.changes.iter().map(|(_, body)| body.clone()).collect();
        }
        Ok(done)
    }
}

impl<O: Kept> Store for Kind<O> {
    fn groups(&self) -> &'static [u32] {
        O::GROUPS
    }

    fn kinds(&self) -> (u16, u16) {
        (O::MESSAGES.new, O::MESSAGES.del)
    }

    fn handle(&mut self, message: Message<'_>, index: IfIndex) -> Option<Result<Done, Errno>> {
        let verb = Self::verb(message)?;
        match O::said(message.body) {
            Ok(Some(said)) => {
                let echo = message.flags & NLM_F_ECHO != 0;
                Some(self.carry_out(verb, said, echo, index))
            }
            // A question about any family.
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

/// The body of a message that speaks of `object`.
fn body<O: Kept>(object: &O) -> Vec<u8> {
    let mut request = Request::default();
    match object.put(Verb::Add, &mut request) {
        Ok(()) => request.bytes()[HEADER_BYTES..].to_vec(),
        Err(_) => Vec::new(),
    }
}
