//! Messages that follow the one that creates or changes a link.

use super::object::{Link, LinkInfo, LinkKind};
use crate::codec::Request;
use crate::schema::AttributeSet;
use crate::uapi::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, RTM_NEWLINK, RTM_NEWLINKPROP};
use crate::verb::Verb;

/// A follow-up message.
struct FollowUp {
    kind: u16,
    flags: u16,
    link: Link,
}

impl Link {
    /// The fields of the first message. The kernel ignores alias, alternative names and port options of a new
    /// link, rejects an address mode there, and applies port options before it changes the master.
    pub(super) fn first_message(&self, verb: Verb) -> Self {
        let mut first = self.clone();
        let mut omit_port = false;
        match verb {
            Verb::Add => {
                first.alias = None;
                first.alternative_names = None;
                first.af_spec = None;
                omit_port = true;
            }
            Verb::Set => {
                first.alternative_names = None;
                omit_port = self.master.is_some();
            }
            _ => {}
        }
        if omit_port && let Some(info) = &mut first.linkinfo {
            info.port = None;
            if *info == LinkInfo::default() {
                first.linkinfo = None;
            }
        }
        first
    }

    /// Whether follow-up messages are needed.
    pub(super) fn needs_follow_up(&self, verb: Verb) -> bool {
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
                    || self.peer_to_set_up().is_some()
            }
            Verb::Set => self.adds_alternative_names() || (port && self.master.is_some()),
            _ => false,
        }
    }

    /// Encodes the follow-up message with index `index`; false if there is none.
    pub(super) fn encode_message(
        &self,
        verb: Verb,
        created: &Self,
        index: usize,
        request: &mut Request,
    ) -> bool {
        match self
            .follow_ups(verb, created)
            .into_iter()
            .flatten()
            .nth(index)
        {
            Some(FollowUp { kind, flags, link }) => {
                request.begin(kind, flags, &link.header().emit());
                AttributeSet::encode_attributes(&link, request);
                true
            }
            None => false,
        }
    }

    fn follow_ups(&self, verb: Verb, created: &Self) -> [Option<FollowUp>; 4] {
        let link = Self::at(created.ifindex());
        let change = |link| FollowUp {
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
            let existing = created.alternative_names.as_ref();
            !existing.is_some_and(|existing| existing.contains(name))
        });
        let peer = self.peer_to_set_up().filter(|_| is_new);
        [
            (rest != link).then(|| change(rest)),
            port.map(|port| change(link.clone().port(port))),
            (!names.is_empty() && (is_new || self.adds_alternative_names())).then(|| FollowUp {
                kind: RTM_NEWLINKPROP,
                flags: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                link: link.clone().alternative_names(names),
            }),
            peer.and(created.lower)
                .map(|peer| change(Self::at(peer).up(true))),
        ]
    }

    /// Whether alternative names are to be added, not just used as the key.
    fn adds_alternative_names(&self) -> bool {
        self.alternative_names.is_some() && (self.index.is_some() || self.name.is_some())
    }

    /// The peer, if it is to be set up. The kernel rejects that in the message that creates the pair.
    fn peer_to_set_up(&self) -> Option<&Self> {
        let peer = self.link_kind().and_then(LinkKind::peer);
        peer.filter(|peer| peer.up == Some(true))
    }
}
