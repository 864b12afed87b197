//! Multicast groups with listeners behind bridge ports.

use crate::header::BridgeHeader;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Attribute, Attributes, Malformed, Request, attributes, split};
use crate::error::{InvalidRequest, RequestTarget, reject_if};
use crate::object::{Object, decode_several};
use crate::objects::port_vlan::{MAX_VLAN, parse_decimal};
use crate::objects::route::RouteProtocol;
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeSpec, AttributeType, FieldMatcher,
    InvalidValue, NameLookup, Native, Parsed, TextValue, attribute_set, field_values, fixed_size,
    flag_set, number_enum, specs, text_field_values, text_form,
};
use crate::uapi::{
    MDBA_MDB, MDBA_MDB_ENTRY, MDBA_MDB_ENTRY_INFO, MDBA_MDB_SRCATTR_ADDRESS,
    MDBA_MDB_SRCATTR_TIMER, MDBA_MDB_SRCLIST_ENTRY, MDBA_SET_ENTRY, MDBA_SET_ENTRY_ATTRS,
    MDBE_ATTR_GROUP_MODE, MDBE_ATTR_RTPROT, MDBE_ATTR_SOURCE, MDBE_ATTR_SRC_LIST, RTM_NEWMDB,
    RTNLGRP_MDB,
};
use crate::values::interface::{IfIndex, MacAddress};
use crate::values::prefix::Family;
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A multicast group with listeners behind a bridge port: the desired state, or the state that the kernel
    /// reported.
    ///
    /// Equals `bridge mdb add dev DEV port PORT grp GRP [permanent | temp] [src SRC] [vid VID] …`.
    ///
    /// # Kernel
    /// Filter mode, source list, protocol and `replace` require Linux 6.2.
    /// # Source
    /// `br_mdb_add` and `nla_put_mdb_entry`, net/bridge/br_mdb.c.
    pub struct Mdb {
        @header {
            /// The bridge.
            "dev" dev: IfIndex;
            /// The port; the bridge itself if this host listens.
            "port" port: IfIndex;
            /// The group.
            "grp" grp: MdbGroup;
            /// Its VLAN.
            "vid" vid: u16;
            /// Its lifetime. Default: temporary.
            "state" state: MdbState;
            /// Its flags. Read-only.
            flags: MdbFlags;
        }
        @own parse_special_keyword;
        /// Time until it expires. Read-only.
        timer: Timer = MDBA_MDB_EATTR_TIMER;
        /// The sources to which `filter_mode` applies.
        "source_list" source_list: Vec<MdbSource> as Sources = MDBA_MDB_EATTR_SRC_LIST;
        /// Whether the listed sources are included or excluded.
        "filter_mode" filter_mode: FilterMode = MDBA_MDB_EATTR_GROUP_MODE;
        /// The only source.
        "src" src: IpAddr = MDBA_MDB_EATTR_SOURCE;
        /// Origin.
        "proto" protocol: RouteProtocol = MDBA_MDB_EATTR_RTPROT;
    }
}

impl Mdb {
    /// Parses `vid VLAN`.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        if keyword == "vid" {
            self.vid = Some(parse_decimal(keyword, 0..=u16::MAX, args)?);
        }
        Ok(keyword == "vid")
    }
}

number_enum! {
    /// The lifetime of a group at a port.
    pub enum MdbState: u8, bare {
        /// Until it has no listeners.
        Temporary = MDB_TEMPORARY, "temp";
        /// Until it is deleted.
        Permanent = MDB_PERMANENT, "permanent";
    }
}

number_enum! {
    /// The meaning of a source list (`MCAST_EXCLUDE`, `MCAST_INCLUDE`).
    pub enum FilterMode: u8 {
        /// All sources except these.
        Exclude = 0, "exclude";
        /// Only these sources.
        Include = 1, "include";
    }
}

flag_set! {
    /// Flags of a group at a port.
    pub struct MdbFlags: u8 {
        /// Offloaded to a device.
        OFFLOAD = MDB_FLAGS_OFFLOAD, "offload";
        /// Deleted as soon as a listener leaves.
        FAST_LEAVE = MDB_FLAGS_FAST_LEAVE, "fast_leave";
        /// Added because another port listens to all sources.
        STAR_EXCL = MDB_FLAGS_STAR_EXCL, "added_by_star_ex";
        /// The source is blocked.
        BLOCKED = MDB_FLAGS_BLOCKED, "blocked";
    }
}

impl Mdb {
    /// The group `grp` at `port` of the bridge `dev`.
    pub fn on(dev: IfIndex, port: IfIndex, grp: MdbGroup) -> Self {
        Self::new().dev(dev).port(port).grp(grp)
    }
}

/// A multicast group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MdbGroup {
    /// An IPv4 or IPv6 group.
    Ip(IpAddr),
    /// A link-layer group.
    Mac(MacAddress),
}

impl fmt::Display for MdbGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Mac(mac) => mac.fmt(f),
        }
    }
}

impl fmt::Debug for MdbGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MdbGroup {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let ip = text.parse().map(Self::Ip).ok();
        let group = ip.or_else(|| text.parse().map(Self::Mac).ok());
        group.ok_or_else(|| InvalidValue::new("grp", Some(text)))
    }
}

text_form!(MdbGroup);
text_field_values!(MdbGroup, MdbSource);

/// Hundredths of a second until something expires; 0 is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timer(pub u32);

impl fmt::Display for Timer {
    /// As `bridge(8)`: `  12.34`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:4}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl FromStr for Timer {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let read = || {
            let (seconds, hundredths) = text.trim().split_once('.')?;
            let seconds: u32 = seconds.parse().ok()?;
            let hundredths: u32 = hundredths.parse().ok().filter(|rest| *rest < 100)?;
            seconds.checked_mul(100)?.checked_add(hundredths).map(Self)
        };
        read().ok_or_else(|| InvalidValue::new("timer", Some(text)))
    }
}

text_form!(Timer);

field_values! {
    Timer: Unsigned(4), |timer| timer.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
}

fixed_size! {
    Native: Timer = Number, |timer| timer.0.to_ne_bytes(), |bytes| Timer(u32::from_ne_bytes(bytes));
}

/// A source of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MdbSource {
    /// Its address.
    pub address: IpAddr,
    /// Time until it expires. Read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
}

impl From<IpAddr> for MdbSource {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            timer: None,
        }
    }
}

impl TextValue for MdbSource {
    /// An address. The timer that `bridge(8)` shows after it is ignored.
    fn parse(text: &str, _: &mut dyn NameLookup) -> Option<Self> {
        let address: IpAddr = text.split('/').next()?.parse().ok()?;
        Some(address.into())
    }

    fn format(&self, _: &mut dyn NameLookup) -> String {
        self.address.to_string()
    }
}

/// A list of sources, one attribute each.
#[derive(Clone, Copy, Debug)]
pub struct Sources;

const SOURCE_ATTRIBUTES: &[AttributeSpec] = specs! {
    MDBA_MDB_SRCATTR_ADDRESS: AttributeType::Ip,
    MDBA_MDB_SRCATTR_TIMER: AttributeType::Number,
};

impl AttributeCodec<Vec<MdbSource>> for Sources {
    const TYPE: AttributeType = AttributeType::List(&AttributeType::Nest {
        skip: 0,
        attributes: || SOURCE_ATTRIBUTES,
    });

    /// Requests use the same attribute types as replies (`MDBE_SRC_LIST_ENTRY`, `MDBE_SRCATTR_ADDRESS`; both 1).
    fn encode(value: &Vec<MdbSource>, kind: u16, request: &mut Request) {
        request.nested(kind, &[], |request| {
            for source in value {
                request.nested(MDBA_MDB_SRCLIST_ENTRY, &[], |request| {
                    Native::encode(&source.address, MDBA_MDB_SRCATTR_ADDRESS, request);
                });
            }
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Vec<MdbSource>, Malformed> {
        let mut sources = Vec::new();
        for source in attribute.attributes() {
            let (mut address, mut timer) = (None, None);
            for part in source?.attributes() {
                let part = part?;
                match part.kind {
                    MDBA_MDB_SRCATTR_ADDRESS => address = Some(Native::decode(part)?),
                    MDBA_MDB_SRCATTR_TIMER => timer = Some(Timer(part.u32()?)),
                    _ => {}
                }
            }
            sources.extend(address.map(|address| MdbSource { address, timer }));
        }
        Ok(sources)
    }

    /// The same sources, in any order and with any timer.
    fn matches(value: &Vec<MdbSource>, wanted: &Vec<MdbSource>) -> bool {
        let has = |wanted: &MdbSource| value.iter().any(|source| source.address == wanted.address);
        value.len() == wanted.len() && wanted.iter().all(has)
    }
}

/// Length of `struct br_mdb_entry` with its two bytes of padding.
const ENTRY_BYTES: usize = 28;
/// EtherTypes that mark the kind of group; 0 is a hardware address.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl Mdb {
    fn emit_entry(&self, group: MdbGroup) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.port.unwrap_or_default().0.to_ne_bytes());
        bytes[4] = self.state.unwrap_or(MdbState::Temporary).into();
        bytes[6..8].copy_from_slice(&self.vid.unwrap_or(0).to_ne_bytes());
        let protocol = match group {
            MdbGroup::Ip(IpAddr::V4(ip)) => {
                bytes[8..12].copy_from_slice(&ip.octets());
                IPV4
            }
            MdbGroup::Ip(IpAddr::V6(ip)) => {
                bytes[8..24].copy_from_slice(&ip.octets());
                IPV6
            }
            MdbGroup::Mac(mac) => {
                bytes[8..14].copy_from_slice(&mac.0);
                0
            }
        };
        bytes[24..26].copy_from_slice(&protocol.to_be_bytes());
        bytes
    }

    /// Decodes the entry at the beginning of `bytes` and returns the rest. `at` is the offset of `bytes` in the body.
    fn read_entry(dev: IfIndex, at: usize, bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (entry, rest) = split::<ENTRY_BYTES>("multicast group", at, bytes)?;
        let [p0, p1, p2, p3, state, flags, v0, v1, group @ ..] = *entry;
        let [.., e0, e1, _, _] = group;
        let group = match u16::from_be_bytes([e0, e1]) {
            IPV4 => {
                let (ip, _) = split::<4>("multicast group", at, &group)?;
                MdbGroup::Ip(Ipv4Addr::from(*ip).into())
            }
            IPV6 => {
                let (ip, _) = split::<16>("multicast group", at, &group)?;
                MdbGroup::Ip(Ipv6Addr::from(*ip).into())
            }
            _ => {
                let (mac, _) = split::<6>("multicast group", at, &group)?;
                MdbGroup::Mac(MacAddress(*mac))
            }
        };
        let port = IfIndex(u32::from_ne_bytes([p0, p1, p2, p3]));
        let vid = u16::from_ne_bytes([v0, v1]);
        let mut mdb = Self::on(dev, port, group);
        mdb.state = Some(state.into());
        mdb.flags = Some(MdbFlags(flags));
        mdb.vid = (vid != 0).then_some(vid);
        Ok((mdb, rest))
    }
}

/// The attributes of requests; replies have other types.
const ENTRIES: &[AttributeSpec] = specs! {
    MDBA_SET_ENTRY: AttributeType::Bytes,
    MDBA_SET_ENTRY_ATTRS: AttributeType::Nest { skip: 0, attributes: || SET_ATTRIBUTES, },
};

const SET_ATTRIBUTES: &[AttributeSpec] = specs! {
    MDBE_ATTR_SOURCE: AttributeType::Ip,
    MDBE_ATTR_SRC_LIST: <Sources as AttributeCodec<Vec<MdbSource>>>::TYPE,
    MDBE_ATTR_GROUP_MODE: AttributeType::Number,
    MDBE_ATTR_RTPROT: AttributeType::Number,
};

impl Mdb {
    /// Appends the attributes of a request.
    fn put_attributes(&self, group: MdbGroup, request: &mut Request) {
        request.attribute(MDBA_SET_ENTRY, &self.emit_entry(group));
        let has_attributes = self.src.is_some()
            || self.source_list.is_some()
            || self.filter_mode.is_some()
            || self.protocol.is_some();
        if !has_attributes {
            return;
        }
        request.nested(MDBA_SET_ENTRY_ATTRS, &[], |request| {
            if let Some(src) = &self.src {
                Native::encode(src, MDBE_ATTR_SOURCE, request);
            }
            if let Some(list) = &self.source_list {
                Sources::encode(list, MDBE_ATTR_SRC_LIST, request);
            }
            if let Some(mode) = &self.filter_mode {
                Native::encode(mode, MDBE_ATTR_GROUP_MODE, request);
            }
            if let Some(protocol) = &self.protocol {
                Native::encode(protocol, MDBE_ATTR_RTPROT, request);
            }
        });
    }

    /// Decodes a message about the groups of a bridge.
    fn read(body: &[u8], mut take: impl FnMut(Self)) -> Result<(), Malformed> {
        // The family is not set in lists.
        let (header, rest) = BridgeHeader::split(body)?;
        let dev = IfIndex(header.index);
        for table in attributes(rest, BridgeHeader::BYTES) {
            for entry in nested(table?, MDBA_MDB) {
                for info in nested(entry?, MDBA_MDB_ENTRY) {
                    let info = info?;
                    if info.kind != MDBA_MDB_ENTRY_INFO {
                        continue;
                    }
                    let (mut mdb, rest) = Self::read_entry(dev, info.at, info.bytes)?;
                    for attribute in attributes(rest, info.at + ENTRY_BYTES) {
                        mdb.decode_attribute(attribute?)?;
                    }
                    take(mdb);
                }
            }
        }
        Ok(())
    }
}

/// The nested attributes of an attribute of type `kind`; none for other types.
fn nested(attribute: Attribute<'_>, kind: u16) -> Attributes<'_> {
    if attribute.kind == kind {
        attribute.attributes()
    } else {
        attributes(&[], attribute.at)
    }
}

impl Object for Mdb {
    /// Bridge, port, group, VLAN, sender.
    type Key = (IfIndex, IfIndex, MdbGroup, u16, Option<IpAddr>);

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWMDB);
    const HEADER_BYTES: usize = BridgeHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_MDB];
    const HAS_GET: bool = false;

    fn attributes() -> &'static [AttributeSpec] {
        ENTRIES
    }

    /// The kernel has no filter: it rejects a query for one bridge.
    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let kind = Self::MESSAGES.of(verb);
        if matches!(verb, Verb::Get | Verb::List) {
            request.begin(kind, Verb::List.flags(), &BridgeHeader::of(IfIndex(0)));
            return Ok(());
        }
        reject_if!(
            matches!(verb, Verb::Set | Verb::Append | Verb::Prepend),
            "a group cannot be changed or appended; add or replace it"
        );
        let (dev, group) = self.validate()?;
        request.begin(kind, verb.flags(), &BridgeHeader::of(dev));
        self.put_attributes(group, request);
        Ok(())
    }

    decode_several!();

    fn key(&self) -> Option<Self::Key> {
        let vid = self.vid.unwrap_or(0);
        Some((self.dev?, self.port?, self.grp?, vid, self.src))
    }

    fn check_key(&self) -> Result<(), InvalidRequest> {
        self.given_group().map(|_| ())
    }

    /// Filter mode and source list apply only to IP groups without a source.
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

    fn target(&self) -> RequestTarget {
        match self.grp {
            Some(grp) => {
                RequestTarget::MulticastGroup(grp.to_string(), self.port.unwrap_or_default())
            }
            None => RequestTarget::MulticastGroups,
        }
    }

    fn matchers(&self) -> Vec<FieldMatcher<Self>> {
        AttributeSet::field_matchers(self)
    }

    const DECODES_REQUESTS: bool = false;

    fn has_same_configuration(&self, other: &Self) -> bool {
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
}

impl Mdb {
    fn given_group(&self) -> Result<MdbGroup, InvalidRequest> {
        self.grp
            .ok_or_else(|| InvalidRequest::new("no group is given"))
    }

    /// The bridge and the group, if the request is valid.
    fn validate(&self) -> Result<(IfIndex, MdbGroup), InvalidRequest> {
        let group = self.given_group()?;
        let dev =
            (self.dev).ok_or_else(|| InvalidRequest::new("no bridge is given for the group"))?;
        reject_if!(self.port.is_none(), "no port is given for the group");
        if let Some(vid) = self.vid.filter(|vid| !(1..=MAX_VLAN).contains(vid)) {
            return Err(InvalidRequest::new(format!(
                "VLAN {vid} is not between 1 and {MAX_VLAN}"
            )));
        }
        let sources = self
            .source_list
            .iter()
            .flatten()
            .map(|source| source.address);
        for source in self.src.into_iter().chain(sources) {
            let fits = matches!(group, MdbGroup::Ip(ip) if Family::of(ip) == Family::of(source));
            reject_if!(
                !fits,
                "source {source} does not belong to the family of group {group}"
            );
        }
        Ok((dev, group))
    }
}
