//! How neighbours are spoken of.

use std::net::IpAddr;

use super::{HEADER_BYTES, Header, Moments, Neigh, NeighState};
use crate::codec::{Malformed, Request, attributes};
use crate::error::Subject;
use crate::interface::IfIndex;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::Family;
use crate::table::{Entry, Table};
use crate::uapi::{
    AF_INET, AF_INET6, AF_UNSPEC, NDA_CACHEINFO, NDA_FLAGS_EXT, NDA_IFINDEX, NDA_MASTER,
    NTF_EXT_LEARNED, NTF_EXT_MANAGED, NTF_OFFLOADED, NTF_PROXY, NTF_ROUTER, NTF_USE, RTM_DELNEIGH,
    RTM_GETNEIGH, RTM_NEWNEIGH, RTNLGRP_NEIGH,
};

impl Object for Neigh {
    /// Interface, address, whether it is a proxy.
    type Key = (IfIndex, IpAddr, bool);

    const MESSAGES: Messages = Messages {
        new: RTM_NEWNEIGH,
        del: RTM_DELNEIGH,
        get: RTM_GETNEIGH,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NEIGH];
    const HAS_GET: bool = true;

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        if verb == Verb::List {
            self.put_question(request);
            return Ok(());
        }
        let dst = self.checked(verb)?;
        let proxy = if self.is_proxy() { NTF_PROXY } else { 0 };
        let mut header = Header {
            family: Family::of(dst).into(),
            index: self.ifindex(),
            flags: proxy,
            ..Header::default()
        };
        if matches!(verb, Verb::Get | Verb::Del) {
            request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
            Table::put(&Self::new().dst(dst), request);
            return Ok(());
        }
        header.state = self.said_state();
        header.flags |= self.flags();
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        if let Some(managed) = self.managed {
            request.u32(NDA_FLAGS_EXT, if managed { NTF_EXT_MANAGED } else { 0 });
        }
        Table::put(self, request);
        Ok(())
    }

    /// False for a family other than IPv4 and IPv6: bridges speak of theirs in the same messages.
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = Header::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        let has = |flag| Some(header.flags & flag != 0);
        self.clear();
        self.dev = Some(header.index);
        self.family = Some(header.family.into());
        self.state = Some(header.state.into());
        self.proxy = has(NTF_PROXY);
        self.router = has(NTF_ROUTER);
        self.extern_learn = has(NTF_EXT_LEARNED);
        self.managed = Some(false);
        self.offload = has(NTF_OFFLOADED);
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                NDA_CACHEINFO => {
                    let moments = Moments::take(attribute)?;
                    self.confirmed = Some(moments.confirmed);
                    self.used = Some(moments.used);
                    self.updated = Some(moments.updated);
                    self.refcnt = Some(moments.references);
                }
                NDA_FLAGS_EXT => self.managed = Some(attribute.u32()? & NTF_EXT_MANAGED != 0),
                _ => self.take(attribute)?,
            }
        }
        Ok(true)
    }

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.dst?, self.is_proxy()))
    }

    fn matches(&self, wanted: &Self) -> bool {
        if wanted.master.is_none() {
            return Table::matches(self, wanted);
        }
        // The kernel chooses by it and does not tell it.
        let mut wanted = wanted.clone();
        wanted.master = None;
        Table::matches(self, &wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                used: self.used,
                confirmed: self.confirmed,
                updated: self.updated,
                refcnt: self.refcnt,
                probes: self.probes,
                ..other.clone()
            }
    }

    fn subject(&self) -> Subject {
        match self.dst {
            Some(dst) => Subject::Neighbour(dst, self.ifindex()),
            None => Subject::Neighbours,
        }
    }
}

impl Neigh {
    fn is_proxy(&self) -> bool {
        self.proxy == Some(true)
    }

    /// Asks for all, chosen in the kernel by family, interface and being a proxy.
    fn put_question(&self, request: &mut Request) {
        let family = self.family.or_else(|| self.dst.map(Family::of));
        let header = Header {
            family: family.map_or(AF_UNSPEC, Into::into),
            flags: if self.is_proxy() { NTF_PROXY } else { 0 },
            ..Header::default()
        };
        request.begin(RTM_GETNEIGH, Verb::List.flags(), &header.emit());
        if let Some(dev) = self.dev {
            request.u32(NDA_IFINDEX, dev.0);
        }
        if let Some(master) = self.master {
            request.u32(NDA_MASTER, master.0);
        }
    }

    /// The address, if all is there that says which one is meant.
    fn checked(&self, verb: Verb) -> Result<IpAddr, Unfit> {
        let dst = (self.dst).ok_or_else(|| Unfit::new("no address is given"))?;
        if verb == Verb::Append {
            return Err(Unfit::new("a neighbour can be added, not appended"));
        }
        // A proxy may be for all interfaces.
        if self.ifindex() == IfIndex(0) && !self.is_proxy() {
            return Err(Unfit::new("no interface is given for the neighbour"));
        }
        if self.family.is_some_and(|given| given != Family::of(dst)) {
            return Err(Unfit::new(format!("{dst} is not of the family given")));
        }
        if self.master.is_some() {
            return Err(Unfit::new("master is for questions"));
        }
        if self.is_proxy() && self.lladdr.is_some() {
            return Err(Unfit::new(
                "a proxy has no hardware address but the interface's",
            ));
        }
        Ok(dst)
    }

    fn said_state(&self) -> u16 {
        let usual = match (self.resolve, self.managed) {
            (Some(true), _) | (_, Some(true)) => NeighState::None,
            _ => NeighState::Permanent,
        };
        self.state.unwrap_or(usual).into()
    }

    fn flags(&self) -> u8 {
        let flags = [
            (NTF_USE, self.resolve),
            (NTF_EXT_LEARNED, self.extern_learn),
            (NTF_ROUTER, self.router),
        ];
        let set = flags.into_iter().filter(|(_, on)| *on == Some(true));
        set.fold(0, |flags, (flag, _)| flags | flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get` and `del` say no more than which one is meant: strict kernels refuse the rest.
    #[test]
    fn a_key_is_all_that_is_said_of_one_that_is_asked_for() {
        let neigh = Neigh::on(IfIndex(3), [192, 0, 2, 1]).state(NeighState::Stale);
        let mut request = Request::default();
        Object::put(&neigh, Verb::Get, &mut request).expect("fit");
        let kinds: Vec<_> = attributes(&request.body()[HEADER_BYTES..], 0)
            .map(|attribute| attribute.expect("whole").kind)
            .collect();
        assert_eq!(kinds, [crate::uapi::NDA_DST]);
        assert_eq!(request.body()[8..12], [0; 4]);
    }
}
