//! Nexthop objects and groups of them, to which routes refer by id.

use crate::header::NexthopHeader;
mod words;

use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::error::{InvalidRequest, RequestTarget, reject_if};
use crate::object::Object;
use crate::objects::addr::Scope;
use crate::objects::route::{Encap, EncapCode, RouteFlags, RouteProtocol};
use crate::schema::{
    AttributeCodec, AttributeSet, AttributeType, Boxed, Flag, InvalidValue, NameLookup, Native,
    Parsed, TextValue, attribute_set, c_number, field_values, fixed_size, number_enum,
    text_field_values,
};
use crate::uapi::{
    AF_UNSPEC, NHA_ENCAP_TYPE, NHA_GROUP_TYPE, NHA_GROUPS, NHA_ID, NHA_MASTER, NHA_OIF, NLM_F_ACK,
    NLM_F_CREATE, NLM_F_REPLACE, RTM_GETNEXTHOP, RTM_NEWNEXTHOP, RTNLGRP_NEXTHOP,
};
use crate::values::interface::IfIndex;
use crate::values::prefix::Family;
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A next hop, or a group of them. Routes refer to it by id ([`Route::nhid`](crate::Route::nhid)).
    ///
    /// Adding routes that share a nexthop is about 1.5 times as fast. They all change with it.
    /// Equals `ip nexthop add id ID via GATEWAY dev NAME` and `ip nexthop add id ID group 1/2`.
    ///
    /// # Kernel
    /// Linux 5.3; resilient groups 5.13.
    /// # Source
    /// `rtm_to_nh_config` and `nh_fill_node`, net/ipv4/nexthop.c.
    pub struct Nexthop {
        @header {
            /// Its family. Default: that of the gateway.
            family: Family;
            /// Its scope. Read-only.
            scope @reported: Scope;
            /// Origin.
            "proto" | "protocol" protocol: RouteProtocol;
            /// Its flags. Read-only.
            flags @reported: RouteFlags;
        }
        @flags {
            /// It is on the link, regardless of the addresses there.
            "onlink" onlink = RTNH_F_ONLINK;
        }
        /// Its id. Default: chosen by the kernel.
        "id" id: u32 = NHA_ID;
        /// The members of a group.
        "group" group: Group = NHA_GROUP;
        #[serde(rename = "type")]
        "type" group_type: GroupType = NHA_GROUP_TYPE;
        /// Parameters of a resilient group.
        resilient_args: Box<ResilientArgs> as Boxed = NHA_RES_GROUP;
        /// Whether it drops packets.
        "blackhole" blackhole: bool as Flag = NHA_BLACKHOLE;
        "via" gateway: IpAddr = NHA_GATEWAY;
        "dev" dev: IfIndex = NHA_OIF;
        encap: Box<Encap> as EncapCode = NHA_ENCAP;
        /// Whether it is for forwarding entries.
        "fdb" fdb: bool as Flag = NHA_FDB;
        /// Groups only; a filter in queries.
        "groups" groups @uncopied: bool as Flag = NHA_GROUPS;
        /// The bridge, bond or VRF of its link; a filter in queries.
        "master" | "vrf" master @uncopied: IfIndex = NHA_MASTER;
    }
}

impl Nexthop {
    /// The nexthop with this id.
    pub fn numbered(id: u32) -> Self {
        Self::new().id(id)
    }
}

number_enum! {
    /// How a group distributes traffic over its members.
    pub enum GroupType: u16 {
        /// Hash thresholds: a change moves many flows.
        Mpath = NEXTHOP_GRP_TYPE_MPATH, "mpath";
        /// Buckets, which move to another member only when idle.
        Resilient = NEXTHOP_GRP_TYPE_RES, "resilient";
    }
}

/// A member of a group of nexthops (`struct nexthop_grp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupMember {
    /// Id of the nexthop.
    pub id: u32,
    /// Its share of the traffic, 1 to 65,536 (256 before Linux 6.12).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: u32,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_one(weight: &u32) -> bool {
    *weight == 1
}

/// The members of a group. Text form: `ID[,WEIGHT]/…`, e.g. `1/2,3`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Group(pub Vec<GroupMember>);

impl Group {
    /// Members with equal weights.
    pub fn of(ids: impl IntoIterator<Item = u32>) -> Self {
        let member = |id| GroupMember { id, weight: 1 };
        Self(ids.into_iter().map(member).collect())
    }
}

/// Maximum number of members in a message. The kernel accepts less than 65,536 bytes of them.
const MAX_MEMBERS: usize = 4096;

impl AttributeCodec<Group> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &Group, kind: u16, request: &mut Request) {
        let members = value.0.iter().take(MAX_MEMBERS);
        request.bytes_of(kind, |request| {
            for member in members {
                let [low, high, ..] = member.weight.saturating_sub(1).to_le_bytes();
                let [i0, i1, i2, i3] = member.id.to_ne_bytes();
                request.raw(&[i0, i1, i2, i3, low, high, 0, 0]);
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Group, Malformed> {
        let (members, _) = attribute.bytes.as_chunks::<8>();
        let member = |[i0, i1, i2, i3, low, high, _, _]: &[u8; 8]| GroupMember {
            id: u32::from_ne_bytes([*i0, *i1, *i2, *i3]),
            weight: u32::from(u16::from_le_bytes([*low, *high])) + 1,
        };
        Ok(Group(members.iter().map(member).collect()))
    }
}

impl FromStr for Group {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let member = |text: &str| {
            let (id, weight) = text.split_once(',').unwrap_or((text, "1"));
            let (id, weight) = (c_number(id)?, c_number(weight)?);
            Some(GroupMember { id, weight })
        };
        let members: Option<Vec<_>> = text.split('/').map(member).collect();
        members
            .map(Self)
            .ok_or_else(|| InvalidValue::new("group", Some(text)))
    }
}

impl TextValue for Group {
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        text.parse().ok()
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        let member = |member: &GroupMember| match member.weight {
            1 => member.id.to_string(),
            weight => format!("{},{weight}", member.id),
        };
        self.0.iter().map(member).collect::<Vec<_>>().join("/")
    }
}

text_field_values!(Group);

attribute_set! {
    /// Parameters of a resilient group (`NHA_RES_GROUP`).
    ///
    /// # Source
    /// Documentation/networking/nexthop-group-resilient.rst.
    pub struct ResilientArgs {
        /// Number of buckets; fixed at creation.
        "buckets" buckets: u16 = NHA_RES_GROUP_BUCKETS;
        /// Idle time before a bucket may move.
        "idle_timer" idle_timer: ClockTicks = NHA_RES_GROUP_IDLE_TIMER, 100 per second;
        /// Time out of balance before busy buckets move too; 0 is infinite.
        "unbalanced_timer" unbalanced_timer: ClockTicks = NHA_RES_GROUP_UNBALANCED_TIMER, 100 per second;
        /// Time out of balance. Read-only.
        unbalanced_time @reported: ClockTicks as SaturatedTime = NHA_RES_GROUP_UNBALANCED_TIME, 100 per second;
    }
}

/// A time in hundredths of a second (`clock_t`); in seconds in JSON and text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockTicks(pub u32);

impl ClockTicks {
    /// From seconds.
    pub fn seconds(seconds: u32) -> Self {
        Self(seconds.saturating_mul(100))
    }

    fn of(seconds: f64) -> Option<Self> {
        let ticks = (seconds * 100.0).round();
        #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
        (0.0..=f64::from(u32::MAX))
            .contains(&ticks)
            .then_some(Self(ticks as u32))
    }
}

field_values! {
    ClockTicks: Unsigned(4), |it| it.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

impl Serialize for ClockTicks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(100) {
            serializer.serialize_u32(self.0 / 100)
        } else {
            serializer.serialize_f64(f64::from(self.0) / 100.0)
        }
    }
}

impl<'de> Deserialize<'de> for ClockTicks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::of(seconds).ok_or_else(|| serde::de::Error::custom("a time out of range"))
    }
}

impl TextValue for ClockTicks {
    /// A number as in C, or one with a fraction.
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        let whole = c_number::<u32>(text).map(f64::from);
        Self::of(whole.or_else(|| text.parse().ok())?)
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        (f64::from(self.0) / 100.0).to_string()
    }
}

fixed_size! {
    Native: ClockTicks = Number, |ticks| ticks.0.to_ne_bytes(), |bytes| ClockTicks(u32::from_ne_bytes(bytes));
}

/// A 64-bit time, saturated to 32 bits. Read-only: the kernel rejects it in requests.
#[derive(Clone, Copy, Debug)]
pub struct SaturatedTime;

impl AttributeCodec<ClockTicks> for SaturatedTime {
    const TYPE: AttributeType = AttributeType::Number;

    fn encode(_: &ClockTicks, _: u16, _: &mut Request) {}

    fn decode(attribute: Attribute<'_>) -> Result<ClockTicks, Malformed> {
        let ticks = u64::from_ne_bytes(attribute.array()?);
        Ok(ClockTicks(ticks.try_into().unwrap_or(u32::MAX)))
    }
}

impl Object for Nexthop {
    type Key = u32;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWNEXTHOP);
    const HEADER_BYTES: usize = NexthopHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NEXTHOP];
    const HAS_GET: bool = true;

    fn netlink_flags(verb: Verb) -> u16 {
        match verb {
            // The kernel changes a nexthop only with NLM_F_CREATE.
            Verb::Set => NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
            _ => verb.flags(),
        }
    }

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        if matches!(verb, Verb::Append | Verb::Prepend) {
            return Err(InvalidRequest::new("a nexthop cannot be appended; add it"));
        }
        let flags = Self::netlink_flags(verb);
        match verb {
            Verb::List => self.encode_list(flags, request),
            Verb::Get | Verb::Del => {
                let id = self
                    .id
                    .ok_or_else(|| InvalidRequest::new("no id is given"))?;
                request.begin(Self::MESSAGES.of(verb), flags, &[0; NexthopHeader::BYTES]);
                request.u32(NHA_ID, id);
            }
            _ => {
                self.check()?;
                let header = NexthopHeader {
                    family: self.family_said(),
                    protocol: self.protocol.map_or(0, u8::from),
                    flags: self.flag_bits().0,
                    ..NexthopHeader::default()
                };
                request.begin(RTM_NEWNEXTHOP, flags, &header.emit());
                AttributeSet::encode_attributes(self, request);
            }
        }
        Ok(())
    }

    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = NexthopHeader::split(body)?;
        let flags = RouteFlags(header.flags);
        self.clear();
        self.family = (header.family != AF_UNSPEC).then_some(header.family.into());
        self.scope = Some(header.scope.into());
        self.protocol = Some(header.protocol.into());
        self.flags = Some(flags);
        self.set_flag_bits(flags.0, flags.0);
        let mut encap = 0;
        for attribute in attributes(rest, NexthopHeader::BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                NHA_ENCAP_TYPE => encap = u16::from_ne_bytes(attribute.array()?),
                // Like `ip(8)`: the default group type is omitted.
                NHA_GROUP_TYPE if attribute.array() == Ok(GROUP_TYPE_DEFAULT) => {}
                _ => self.decode_attribute(attribute)?,
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
            return AttributeSet::fields_match(self, wanted);
        }
        // The kernel applies these two filters.
        let wanted = Self {
            groups: None,
            master: None,
            ..wanted.clone()
        };
        groups && AttributeSet::fields_match(self, &wanted)
    }

    fn target(&self) -> RequestTarget {
        self.id
            .map_or(RequestTarget::Nexthops, RequestTarget::Nexthop)
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                resilient_args: self.resilient_args.clone(),
                ..other.clone()
            }
    }

    const RESTORE_IMPOSSIBLE: Option<&'static str> = Some("its routes were deleted with it");

    fn reduced_to(mut self, to: &Self) -> Self {
        let id = self.id;
        AttributeSet::retain_fields(&mut self, to);
        Self { id, ..self }
    }
}

/// `NEXTHOP_GRP_TYPE_MPATH`, of 16 bits.
const GROUP_TYPE_DEFAULT: [u8; 2] = [0; 2];

impl Nexthop {
    /// The default family, as in `ip nexthop`: IPv4, and none for a group.
    fn family_said(&self) -> u8 {
        if self.group.is_some() {
            return AF_UNSPEC;
        }
        let family = self.family.or(self.gateway.map(Family::of));
        family.unwrap_or(Family::V4).into()
    }

    /// Encodes a list request. The kernel filters by link, master and groups.
    fn encode_list(&self, flags: u16, request: &mut Request) {
        request.begin(RTM_GETNEXTHOP, flags, &[0; NexthopHeader::BYTES]);
        for (kind, index) in [(NHA_OIF, self.dev), (NHA_MASTER, self.master)] {
            if let Some(IfIndex(index)) = index {
                request.u32(kind, index);
            }
        }
        if self.groups == Some(true) {
            request.attribute(NHA_GROUPS, &[]);
        }
    }

    fn check(&self) -> Result<(), InvalidRequest> {
        if let (Some(family), Some(ip)) = (self.family, self.gateway)
            && Family::of(ip) != family
        {
            return Err(InvalidRequest::new(format!(
                "gateway {ip} does not belong to family {family}"
            )));
        }
        let members = self.group.as_ref().map_or(&[][..], |group| &group.0);
        reject_if!(
            members.len() > MAX_MEMBERS,
            "a group has at most {MAX_MEMBERS} members"
        );
        reject_if!(
            members
                .iter()
                .any(|member| !(1..=65_536).contains(&member.weight)),
            "the weight of a member must be between 1 and 65536"
        );
        let resilient = self.group_type == Some(GroupType::Resilient);
        reject_if!(
            self.resilient_args.is_some() && !resilient,
            "buckets and timers require a group of type resilient"
        );
        Ok(())
    }
}
