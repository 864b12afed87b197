//! How VLANs of ports are spoken of.

use super::message::{
    ENTRIES, HEADER_BYTES, LINK_ENTRIES, LINK_HEADER_BYTES, MAX_VLAN, header, link_header,
};
use super::{PortVlan, PortVlanFlags};
use crate::codec::{Malformed, Message, Request};
use crate::error::Subject;
use crate::interface::IfIndex;
use crate::link::PortState;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::table::{Entry, Table};
use crate::uapi::{
    BRIDGE_VLANDB_DUMP_FLAGS, BRIDGE_VLANDB_DUMPF_STATS, NLM_F_ACK, RTM_DELLINK, RTM_DELVLAN,
    RTM_GETVLAN, RTM_NEWVLAN, RTM_SETLINK, RTNLGRP_BRVLAN,
};

impl Object for PortVlan {
    /// Port and VLAN.
    type Key = (IfIndex, u16);

    const MESSAGES: Messages = Messages {
        new: RTM_NEWVLAN,
        del: RTM_DELVLAN,
        get: RTM_GETVLAN,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_BRVLAN];
    const HAS_GET: bool = false;
    const IDEMPOTENT: bool = true;
    const READS_REQUESTS: bool = false;

    fn entries() -> &'static [Entry] {
        ENTRIES
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        match verb {
            Verb::Get | Verb::List => {
                request.begin(RTM_GETVLAN, Verb::List.flags(), &header(self.ifindex()));
                // Without counters the kernel tells VLANs in a row at once, and forgets those that follow the
                // one for packets without a tag (`br_vlan_dump_dev`, `br_vlan_fill_vids`, net/bridge/br_vlan.c).
                request.u32(BRIDGE_VLANDB_DUMP_FLAGS, BRIDGE_VLANDB_DUMPF_STATS);
            }
            Verb::Set => {
                let (first, last) = self.checked()?;
                if self.flags.is_some() || self.own.is_some() || self.master.is_some() {
                    return Err(Unfit::new("flags of a VLAN are changed by adding it again"));
                }
                request.begin(RTM_NEWVLAN, NLM_F_ACK, &header(self.ifindex()));
                self.put_options(first, last, request);
            }
            Verb::Add | Verb::Replace | Verb::Del => {
                let (first, last) = self.checked()?;
                if verb != Verb::Del && (self.state.is_some() || self.mcast_router.is_some()) {
                    return Err(Unfit::new("options of a VLAN are set when it is there"));
                }
                let kind = if verb == Verb::Del {
                    RTM_DELLINK
                } else {
                    RTM_SETLINK
                };
                request.begin(kind, NLM_F_ACK, &link_header(self.ifindex()));
                self.put_membership(first, last, request);
            }
            Verb::Append => return Err(Unfit::new("a VLAN can be added, not appended")),
        }
        Ok(())
    }

    /// The first of several.
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let mut first = None;
        Self::read(body, |vlan| {
            first.get_or_insert(vlan);
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
        Self::read(body, |vlan| {
            *self = vlan;
            take(self);
        })
    }

    fn layout(verb: Verb) -> (usize, &'static [Entry]) {
        match verb {
            Verb::Add | Verb::Replace | Verb::Del => (LINK_HEADER_BYTES, LINK_ENTRIES),
            _ => (HEADER_BYTES, ENTRIES),
        }
    }

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.vlan?))
    }

    /// A range asks for all VLANs within.
    fn matches(&self, wanted: &Self) -> bool {
        let holds = match (wanted.vlan, self.vlan) {
            (None, _) => true,
            (Some(first), Some(vlan)) => (first..=wanted.vlan_end.unwrap_or(first)).contains(&vlan),
            (Some(_), None) => false,
        };
        let wanted = Self {
            vlan: None,
            vlan_end: None,
            own: None,
            master: None,
            statistics: None,
            ..wanted.clone()
        };
        holds && Table::matches(self, &wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                statistics: self.statistics.clone(),
                ..other.clone()
            }
    }

    /// Of options that are set for VLANs in a row the kernel forgets to tell for those that follow the one for
    /// packets without a tag (`br_vlan_process_options`, net/bridge/br_vlan_options.c).
    fn is_upset_by(message: Message<'_>) -> bool {
        let mut upset = false;
        if message.kind == RTM_NEWVLAN {
            // What cannot be read is told of where it is read.
            let _ = Self::read(message.body, |vlan| upset |= vlan.is_pvid());
        }
        upset
    }

    fn reduce_to(&mut self, asked: &Self) {
        if asked.statistics.is_none() {
            self.statistics = None;
        }
    }

    fn singles(&self) -> Vec<Self> {
        let Some(first) = self.vlan else {
            return vec![self.clone()];
        };
        let last = self.vlan_end.unwrap_or(first).min(MAX_VLAN);
        let single = |vlan| Self {
            vlan: Some(vlan),
            vlan_end: None,
            ..self.clone()
        };
        (first..=last).map(single).collect()
    }

    /// Packets without a tag belong to one VLAN of a port.
    fn displaces(&self, other: &Self) -> bool {
        self.is_pvid() && other.is_pvid() && self.dev == other.dev
    }

    /// The state; a new one has another.
    fn set_afterwards(&self) -> Option<Self> {
        let state = self.state.filter(|state| *state != PortState::Forwarding);
        state.map(|state| Self {
            dev: self.dev,
            vlan: self.vlan,
            state: Some(state),
            ..Self::default()
        })
    }

    /// As a member; options are said when it is one.
    fn settable(self) -> Self {
        Self {
            state: None,
            mcast_router: None,
            statistics: None,
            ..self
        }
    }

    /// Whom it was said to is not told.
    fn brought_back(self, said: &Self) -> Self {
        Self {
            own: said.own,
            master: said.master,
            ..self.settable()
        }
    }

    fn restricted(self, to: &Self) -> Self {
        Self {
            flags: None,
            state: self.state.filter(|_| to.state.is_some()),
            mcast_router: self.mcast_router.filter(|_| to.mcast_router.is_some()),
            statistics: None,
            ..self
        }
    }

    fn subject(&self) -> Subject {
        match self.vlan {
            Some(vlan) => Subject::PortVlan(vlan, self.vlan_end.unwrap_or(vlan), self.ifindex()),
            None => Subject::PortVlans,
        }
    }
}

impl PortVlan {
    /// The first and the last VLAN, if they can be ones.
    fn checked(&self) -> Result<(u16, u16), Unfit> {
        let first = (self.vlan).ok_or_else(|| Unfit::new("no VLAN is given"))?;
        let last = self.vlan_end.unwrap_or(first);
        if self.ifindex() == IfIndex(0) {
            return Err(Unfit::new("no port is given for the VLAN"));
        }
        for vlan in [first, last] {
            if !(1..=MAX_VLAN).contains(&vlan) {
                return Err(Unfit::new(format!("VLAN {vlan} is not of 1 to {MAX_VLAN}")));
            }
        }
        if last < first {
            return Err(Unfit::new(format!("VLAN {last} is before {first}")));
        }
        if last > first
            && self
                .flags
                .is_some_and(|flags| flags.contains(PortVlanFlags::PVID))
        {
            return Err(Unfit::new(
                "packets without a tag belong to one VLAN: pvid is not for several",
            ));
        }
        Ok((first, last))
    }
}
