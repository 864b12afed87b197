//! What the kernel passes over, or refuses, in the message that makes a link.

use super::Link;
use super::kind::{LinkInfo, LinkKind};
use crate::codec::Request;
use crate::object::Verb;
use crate::table::Table;
use crate::uapi::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, RTM_NEWLINK, RTM_NEWLINKPROP};

/// A message that follows.
struct Step {
    kind: u16,
    flags: u16,
    link: Link,
}

impl Link {
    /// What the first message says: a new link is made without alias, alternative names and port options,
    /// whatever it says of them, and is refused with an address mode; a port's options are read before its
    /// master changes.
    pub(super) fn first(&self, verb: Verb) -> Self {
        let mut first = self.clone();
        let mut leave_port = false;
        match verb {
            Verb::Add => {
                first.alias = None;
                first.alternative_names = None;
                first.af_spec = None;
                leave_port = true;
            }
            Verb::Set => {
                first.alternative_names = None;
                leave_port = self.master.is_some();
            }
            _ => {}
        }
        if leave_port && let Some(info) = &mut first.linkinfo {
            info.port = None;
            if *info == LinkInfo::default() {
                first.linkinfo = None;
            }
        }
        first
    }

    /// Whether something is left over from the first message.
    pub(super) fn has_more(&self, verb: Verb) -> bool {
        let port = self
            .linkinfo
            .as_ref()
            .is_some_and(|info| info.port.is_some());
        match verb {
            Verb::Add => {
                self.alias.is_some()
                    || self.alternative_names.is_some()
                    || self.af_spec.is_some()
                    || port
                    || self.peer_that_is_up().is_some()
            }
            Verb::Set => self.is_renamed_besides() || (port && self.master.is_some()),
            _ => false,
        }
    }

    /// Writes the `step`-th message about `made`; false when there is none.
    pub(super) fn put_more(
        &self,
        verb: Verb,
        made: &Self,
        step: usize,
        request: &mut Request,
    ) -> bool {
        match self.steps(verb, made).into_iter().flatten().nth(step) {
            Some(Step { kind, flags, link }) => {
                request.begin(kind, flags, &link.header().emit());
                Table::put(&link, request);
                true
            }
            None => false,
        }
    }

    fn steps(&self, verb: Verb, made: &Self) -> [Option<Step>; 4] {
        let link = Self::at(made.ifindex());
        let change = |link| Step {
            kind: RTM_NEWLINK,
            flags: NLM_F_ACK,
            link,
        };
        let is_new = verb == Verb::Add;
        let rest = Self {
            alias: self.alias.clone().filter(|_| is_new),
            af_spec: self.af_spec.clone().filter(|_| is_new),
            ..link.clone()
        };
        let port = self.linkinfo.as_ref().and_then(|info| info.port.clone());
        let port = port.filter(|_| is_new || self.master.is_some());
        let mut names = self.alternative_names.clone().unwrap_or_default();
        names.retain(|name| {
            let there = made.alternative_names.as_ref();
            !there.is_some_and(|there| there.contains(name))
        });
        let peer = self.peer_that_is_up().filter(|_| is_new);
        [
            (rest != link).then(|| change(rest)),
            port.map(|port| change(link.clone().port(port))),
            (!names.is_empty() && (is_new || self.is_renamed_besides())).then(|| Step {
                kind: RTM_NEWLINKPROP,
                flags: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                link: link.clone().alternative_names(names),
            }),
            peer.and(made.lower)
                .map(|peer| change(Self::at(peer).up(true))),
        ]
    }

    /// Whether alternative names are to be added, and do not only say which link is meant.
    fn is_renamed_besides(&self) -> bool {
        self.alternative_names.is_some() && (self.index.is_some() || self.name.is_some())
    }

    /// The other end of a pair that is to be up: it cannot be while it has no other end itself.
    fn peer_that_is_up(&self) -> Option<&Self> {
        let peer = self.link_kind().and_then(LinkKind::peer);
        peer.filter(|peer| peer.up == Some(true))
    }
}
