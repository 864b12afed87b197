//! How groups are spoken of.

use std::net::IpAddr;

use super::message::{ENTRIES, HEADER_BYTES, header};
use super::{Mdb, MdbGroup};
use crate::codec::{Malformed, Request};
use crate::error::Subject;
use crate::interface::IfIndex;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::Family;
use crate::table::{Entry, Question, Table};
use crate::uapi::{RTM_DELMDB, RTM_GETMDB, RTM_NEWMDB, RTNLGRP_MDB};

/// The last VLAN there is.
const MAX_VLAN: u16 = 4094;

impl Object for Mdb {
    /// Bridge, port, group, VLAN, sender.
    type Key = (IfIndex, IfIndex, MdbGroup, u16, Option<IpAddr>);

    const MESSAGES: Messages = Messages {
        new: RTM_NEWMDB,
        del: RTM_DELMDB,
        get: RTM_GETMDB,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_MDB];
    const HAS_GET: bool = false;
    const READS_REQUESTS: bool = false;

    fn entries() -> &'static [Entry] {
        ENTRIES
    }

    /// The kernel chooses by nothing: it refuses a question for one bridge.
    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let kind = Self::MESSAGES.of(verb);
        if matches!(verb, Verb::Get | Verb::List) {
            request.begin(kind, Verb::List.flags(), &header(IfIndex(0)));
            return Ok(());
        }
        if matches!(verb, Verb::Set | Verb::Append) {
            return Err(Unfit::new(
                "a group can be added or replaced, nothing between",
            ));
        }
        let (dev, group) = self.checked()?;
        request.begin(kind, verb.flags(), &header(dev));
        self.put_attributes(group, request);
        Ok(())
    }

    /// The first of several.
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let mut first = None;
        Self::read(body, |mdb| {
            first.get_or_insert(mdb);
        })?;
        let is_one = first.is_some();
        *self = first.unwrap_or_default();
        Ok(is_one)
    }

    fn parse_each(
        &mut self,
        body: &[u8],
        mut take: impl FnMut(&mut Self),
    ) -> Result<(), Malformed> {
        Self::read(body, |mdb| {
            *self = mdb;
            take(self);
        })
    }

    fn key(&self) -> Option<Self::Key> {
        let vid = self.vid.unwrap_or(0);
        Some((self.dev?, self.port?, self.grp?, vid, self.src))
    }

    fn matches(&self, wanted: &Self) -> bool {
        Table::matches(self, wanted)
    }

    fn questions(&self) -> Vec<Question<Self>> {
        Table::questions(self)
    }

    fn is_same(&self, other: &Self) -> bool {
        let without_timers = |mdb: &Self| {
            let mut mdb = mdb.clone();
            mdb.timer = None;
            for source in mdb.source_list.iter_mut().flatten() {
                source.timer = None;
            }
            mdb
        };
        without_timers(self) == without_timers(other)
    }

    /// A mode and a list of senders are for groups of IP without a sender of their own.
    fn settable(self) -> Self {
        let has_mode = self.src.is_none() && matches!(self.grp, Some(MdbGroup::Ip(_)));
        Self {
            flags: None,
            timer: None,
            filter_mode: self.filter_mode.filter(|_| has_mode),
            source_list: self.source_list.filter(|_| has_mode),
            ..self
        }
    }

    fn subject(&self) -> Subject {
        match self.grp {
            Some(grp) => Subject::MulticastGroup(grp.to_string(), self.port.unwrap_or_default()),
            None => Subject::MulticastGroups,
        }
    }
}

impl Mdb {
    /// The bridge and the group, if the request can be said.
    fn checked(&self) -> Result<(IfIndex, MdbGroup), Unfit> {
        let group = (self.grp).ok_or_else(|| Unfit::new("no group is given"))?;
        let dev = (self.dev).ok_or_else(|| Unfit::new("no bridge is given for the group"))?;
        if self.port.is_none() {
            return Err(Unfit::new("no port is given for the group"));
        }
        if let Some(vid) = self.vid.filter(|vid| !(1..=MAX_VLAN).contains(vid)) {
            return Err(Unfit::new(format!("VLAN {vid} is not of 1 to {MAX_VLAN}")));
        }
        let sources = self
            .source_list
            .iter()
            .flatten()
            .map(|source| source.address);
        for source in self.src.into_iter().chain(sources) {
            let fits = matches!(group, MdbGroup::Ip(ip) if Family::of(ip) == Family::of(source));
            if !fits {
                return Err(Unfit::new(format!(
                    "{source} does not send to the group {group}"
                )));
            }
        }
        Ok((dev, group))
    }
}
