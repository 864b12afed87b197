//! How links are spoken of.

use super::header::Header;
use super::{Link, LinkKind};
use crate::codec::{Malformed, Request};
use crate::error::Subject;
use crate::interface::{IfIndex, IfName};
use crate::object::{Messages, Object, Unfit, Verb};
use crate::table::{Entry, Table};
use crate::uapi::{
    AF_UNSPEC, IFLA_ALT_IFNAME, NLM_F_ACK, RTM_DELLINK, RTM_GETLINK, RTM_NEWLINK, RTNLGRP_LINK,
};

impl Object for Link {
    type Key = IfIndex;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWLINK,
        del: RTM_DELLINK,
        get: RTM_GETLINK,
    };
    const HEADER_BYTES: usize = Header::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_LINK];
    const HAS_GET: bool = true;
    const IRRETRIEVABLE: Option<&'static str> =
        Some("its addresses and routes, and the other end of a pair, went with it");

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let alternative = self.alternative_name();
        let known = self.index.is_some() || self.name.is_some() || self.group.is_some();
        match verb {
            Verb::Append | Verb::Replace => {
                return Err(Unfit::new("a link can be added or set, nothing between"));
            }
            Verb::Set | Verb::Del | Verb::Get if !known && alternative.is_none() => {
                return Err(Unfit::new("neither an index nor a name says which link"));
            }
            Verb::Add => {
                if let Some(kind) = self.link_kind() {
                    kind.check_new()?;
                }
            }
            _ => {}
        }
        // `ip link set` says neither create nor replace.
        let flags = if verb == Verb::Set {
            NLM_F_ACK
        } else {
            verb.flags()
        };
        let said = match verb {
            Verb::Get | Verb::Del => &self.key_only(),
            Verb::List => &self.choice(),
            _ if self.has_more(verb) => &self.first(verb),
            _ => self,
        };
        request.begin(Self::MESSAGES.of(verb), flags, &said.header().emit());
        if let Some(name) = alternative.filter(|_| verb != Verb::Add) {
            request.text(IFLA_ALT_IFNAME, name);
        }
        Table::put(said, request);
        Ok(())
    }

    /// `None` where a protocol family speaks of its part of a link (a bridge of a port).
    fn parse(body: &[u8]) -> Result<Option<Self>, Malformed> {
        if body.first() != Some(&AF_UNSPEC) {
            return Ok(None);
        }
        Self::read(body, 0).map(Some)
    }

    fn key(&self) -> Option<IfIndex> {
        self.index
    }

    fn matches(&self, wanted: &Self) -> bool {
        Table::matches(self, wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                statistics: self.statistics,
                ..other.clone()
            }
    }

    fn settable(self) -> Self {
        Self {
            flags: None,
            hardware: None,
            state: None,
            qdisc: None,
            promiscuity: None,
            allmulti: None,
            tso_max_size: None,
            tso_max_segs: None,
            carrier: None,
            carrier_changes: None,
            min_mtu: None,
            max_mtu: None,
            permanent_address: None,
            parent_device: None,
            parent_bus: None,
            lower_namespace: None,
            statistics: None,
            ..self
        }
    }

    fn restricted(mut self, to: &Self) -> Self {
        let index = self.index;
        self.restrict(to);
        // What there was not is said by what means none.
        if to.master.is_some() {
            self.master.get_or_insert(IfIndex(0));
        }
        if to.alias.is_some() {
            self.alias.get_or_insert_default();
        }
        // A name that is changed is no longer the key.
        Self { index, ..self }
    }

    fn subject(&self) -> Subject {
        match (self.name, self.index, self.alternative_names.as_deref()) {
            (Some(name), _, _) => Subject::LinkNamed(name.to_string()),
            (None, Some(index), _) => Subject::Link(index),
            (None, None, Some([name, ..])) => Subject::LinkNamed(name.clone()),
            _ => Subject::Links,
        }
    }

    fn has_follow_up(&self, verb: Verb) -> bool {
        self.has_more(verb)
    }

    fn follow_up(&self, verb: Verb, made: &Self, step: usize, request: &mut Request) -> bool {
        self.put_more(verb, made, step, request)
    }

    fn suspect(&self) -> Option<String> {
        let name = self.link_kind().and_then(LinkKind::suspect)?;
        Some(format!("linkinfo.data.{name}"))
    }

    fn is_said_whole(&self, verb: Verb) -> bool {
        verb == Verb::Set && self.link_kind().is_some_and(LinkKind::is_said_whole)
    }

    /// Of the present state only what is particular to the kind has to be said again.
    fn over(&self, present: Self) -> Self {
        let mut whole = self.clone();
        if let (Some(info), Some(present)) = (&mut whole.linkinfo, present.linkinfo)
            && let (Some(kind), Some(mut present)) = (&mut info.kind, present.kind)
        {
            present.merge(kind.clone());
            *kind = present;
        }
        whole
    }
}

impl Link {
    /// The alternative name that says which link is meant, where nothing else does.
    fn alternative_name(&self) -> Option<&[u8]> {
        match (self.index, self.name, self.alternative_names.as_deref()) {
            // Names that are too long are the kernel's to refuse; none is longer than 127 bytes.
            (None, None, Some([name])) => Some(&name.as_bytes()[..name.len().min(256)]),
            _ => None,
        }
    }

    /// What says which link is meant: the index alone, or the name.
    fn key_only(&self) -> Self {
        let mut key = Self {
            index: self.index,
            ..Self::default()
        };
        if self.index.is_none() {
            key.name = self.name;
            if self.name.is_none() {
                key.group = self.group;
            }
        }
        key
    }

    /// What the kernel chooses links by.
    fn choice(&self) -> Self {
        let mut choice = Self {
            master: self.master,
            ..Self::default()
        };
        if let Some(kind) = self.kind_name() {
            choice = choice.kind(LinkKind::named(kind));
        }
        choice
    }

    /// The link of this name or alternative name, for a question or a change.
    pub fn called(name: &str) -> Self {
        match IfName::new(name) {
            Ok(name) => Self::named(name),
            Err(_) => Self::new().alternative_names(vec![name.to_owned()]),
        }
    }
}
