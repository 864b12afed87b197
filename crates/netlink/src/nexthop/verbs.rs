//! How nexthop objects are spoken of.

use super::group::MOST_MEMBERS;
use super::{GroupType, Nexthop};
use crate::codec::{Malformed, Request, attributes as read_attributes, split};
use crate::error::Subject;
use crate::interface::IfIndex;
use crate::object::{Messages, Object, Unfit, Verb};
use crate::prefix::Family;
use crate::route::RouteFlags;
use crate::table::{Entry, Table};
use crate::uapi::{
    AF_UNSPEC, NHA_ENCAP_TYPE, NHA_GROUP_TYPE, NHA_GROUPS, NHA_ID, NHA_MASTER, NHA_OIF, NLM_F_ACK,
    NLM_F_CREATE, NLM_F_REPLACE, RTM_DELNEXTHOP, RTM_GETNEXTHOP, RTM_NEWNEXTHOP, RTNLGRP_NEXTHOP,
};

const HEADER_BYTES: usize = 8;

impl Object for Nexthop {
    type Key = u32;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWNEXTHOP,
        del: RTM_DELNEXTHOP,
        get: RTM_GETNEXTHOP,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NEXTHOP];
    const HAS_GET: bool = true;
    const IRRETRIEVABLE: Option<&'static str> = Some("the routes by it went with it");

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let flags = match verb {
            Verb::Append => {
                return Err(Unfit::new("nexthops have numbers: none is put beside one"));
            }
            // The kernel changes one only where it may make one as well.
            Verb::Set => NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
            _ => verb.flags(),
        };
        match verb {
            Verb::List => self.put_choice(flags, request),
            Verb::Get | Verb::Del => {
                let id = self
                    .id
                    .ok_or_else(|| Unfit::new("no number says which nexthop"))?;
                request.begin(Self::MESSAGES.of(verb), flags, &[0; HEADER_BYTES]);
                request.u32(NHA_ID, id);
            }
            _ => {
                self.check()?;
                request.begin(RTM_NEWNEXTHOP, flags, &self.header());
                Table::put(self, request);
            }
        }
        Ok(())
    }

    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = split::<HEADER_BYTES>("nexthop header", 0, body)?;
        let [family, scope, protocol, _, flags @ ..] = *header;
        let flags = RouteFlags(u32::from_ne_bytes(flags));
        self.clear();
        self.family = (family != AF_UNSPEC).then_some(family.into());
        self.scope = Some(scope.into());
        self.protocol = Some(protocol.into());
        self.flags = Some(flags);
        self.onlink = flags.has(RouteFlags::ONLINK).then_some(true);
        let mut encap = 0;
        for attribute in read_attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                NHA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                // As `ip(8)`: the usual type of a group is not told.
                NHA_GROUP_TYPE if attribute.array() == Ok(GROUP_TYPE_USUAL) => {}
                _ => self.take(attribute)?,
            }
        }
        if let Some(hidden) = &mut self.encap {
            hidden.resolve(encap)?;
        }
        Ok(true)
    }

    fn key(&self) -> Option<u32> {
        self.id
    }

    fn matches(&self, wanted: &Self) -> bool {
        let groups = wanted.groups != Some(true) || self.group.is_some();
        if wanted.groups.is_none() && wanted.master.is_none() {
            return Table::matches(self, wanted);
        }
        // These two are questions only, and answered by the kernel.
        let wanted = Self {
            groups: None,
            master: None,
            ..wanted.clone()
        };
        groups && Table::matches(self, &wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                resilient_args: self.resilient_args.clone(),
                ..other.clone()
            }
    }

    fn settable(self) -> Self {
        Self {
            flags: None,
            scope: None,
            groups: None,
            master: None,
            ..self
        }
    }

    fn restricted(mut self, to: &Self) -> Self {
        let id = self.id;
        Table::restrict(&mut self, to);
        Self { id, ..self }
    }

    fn subject(&self) -> Subject {
        self.id.map_or(Subject::Nexthops, Subject::Nexthop)
    }
}

/// `NEXTHOP_GRP_TYPE_MPATH`, of 16 bits.
const GROUP_TYPE_USUAL: [u8; 2] = [0; 2];

impl Nexthop {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let flags = if self.onlink == Some(true) {
            RouteFlags::ONLINK.0
        } else {
            0
        };
        let [f0, f1, f2, f3] = flags.to_ne_bytes();
        let protocol = self.protocol.map_or(0, u8::from);
        [self.family_said(), 0, protocol, 0, f0, f1, f2, f3]
    }

    /// As `ip nexthop` has it: IPv4 where nothing tells, and none of a group.
    fn family_said(&self) -> u8 {
        if self.group.is_some() {
            return AF_UNSPEC;
        }
        let family = self.family.or(self.gateway.map(Family::of));
        family.unwrap_or(Family::V4).into()
    }

    /// What the kernel chooses nexthops by: the link, what that belongs to, whether they are groups.
    fn put_choice(&self, flags: u16, request: &mut Request) {
        request.begin(RTM_GETNEXTHOP, flags, &[0; HEADER_BYTES]);
        for (kind, index) in [(NHA_OIF, self.dev), (NHA_MASTER, self.master)] {
            if let Some(IfIndex(index)) = index {
                request.u32(kind, index);
            }
        }
        if self.groups == Some(true) {
            request.attribute(NHA_GROUPS, &[]);
        }
    }

    fn check(&self) -> Result<(), Unfit> {
        if let (Some(family), Some(ip)) = (self.family, self.gateway)
            && Family::of(ip) != family
        {
            return Err(Unfit::new(format!(
                "gateway {ip} is not of family {family}"
            )));
        }
        let members = self.group.as_ref().map_or(&[][..], |group| &group.0);
        if members.len() > MOST_MEMBERS {
            return Err(Unfit::new(format!(
                "a group has at most {MOST_MEMBERS} members"
            )));
        }
        if members
            .iter()
            .any(|member| !(1..=65_536).contains(&member.weight))
        {
            return Err(Unfit::new("the share of a member is 1 to 65536"));
        }
        let resilient = self.group_type == Some(GroupType::Resilient);
        if self.resilient_args.is_some() && !resilient {
            return Err(Unfit::new(
                "only a group of type resilient has buckets and timers",
            ));
        }
        Ok(())
    }
}
