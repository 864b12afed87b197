//! VLANs of bridge ports.

use std::ops::RangeInclusive;

use crate::codec::{Attribute, Malformed, Message, Request, attributes};
use crate::error::{InvalidRequest, RequestTarget, reject_if};
use crate::header::{BridgeHeader, LinkHeader};
use crate::object::{Object, decode_several};
use crate::objects::link::PortState;
use crate::schema::{
    Arguments, AttributeSet, AttributeSpec, AttributeType, InvalidValue, Nested, Parsed,
    attribute_set, flag_set, specs,
};
use crate::uapi::{
    AF_BRIDGE, BRIDGE_FLAGS_MASTER, BRIDGE_FLAGS_SELF, BRIDGE_VLAN_INFO_ONLY_OPTS,
    BRIDGE_VLAN_INFO_RANGE_BEGIN, BRIDGE_VLAN_INFO_RANGE_END, BRIDGE_VLANDB_DUMP_FLAGS,
    BRIDGE_VLANDB_DUMPF_STATS, BRIDGE_VLANDB_ENTRY, BRIDGE_VLANDB_ENTRY_INFO,
    BRIDGE_VLANDB_ENTRY_RANGE, IFLA_AF_SPEC, IFLA_BRIDGE_FLAGS, IFLA_BRIDGE_VLAN_INFO, NLM_F_ACK,
    RTM_DELLINK, RTM_GETVLAN, RTM_NEWVLAN, RTM_SETLINK, RTNLGRP_BRVLAN,
};
use crate::values::interface::IfIndex;
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A VLAN or a range of VLANs of a bridge port, or of the bridge itself: the desired state, or the state that
    /// the kernel reported.
    ///
    /// Equals `bridge vlan add dev DEV vid VLAN[-VLANEND] [pvid] [untagged] [self] [master]`. Adding an
    /// existing VLAN changes its flags. Its options (`state`, `mcast_router`) can be set after it was added, as with
    /// `bridge vlan set`.
    ///
    /// # Kernel
    /// Linux 5.6 to list and to set options; built with `CONFIG_BRIDGE_VLAN_FILTERING`.
    /// # Source
    /// `br_afspec`, net/bridge/br_netlink.c; `br_vlan_fill_vids` and `br_vlan_rtm_process_one`,
    /// net/bridge/br_vlan.c.
    pub struct PortVlan {
        @header {
            /// The port, or the bridge.
            "dev" dev: IfIndex;
            /// The VLAN, or the first of a range: 1 to 4094.
            vlan: u16;
            /// The last VLAN of a range. Write-only: VLANs are reported one by one.
            #[serde(rename = "vlanEnd")]
            vlan_end: u16;
            /// Handling of untagged packets.
            flags: PortVlanFlags;
            /// Apply to the device itself; required if that is the bridge. Write-only.
            "self" own: bool;
            /// Apply to the bridge of the device, possibly in addition to `own`. Default. Write-only.
            "master" master: bool;
        }
        @parts {
            BRIDGE_VLANDB_ENTRY_INFO: AttributeType::Bytes;
            BRIDGE_VLANDB_ENTRY_RANGE: AttributeType::Number;
        }
        @own parse_special_keyword;
        /// Spanning tree state.
        "state" state @uncopied: PortState = BRIDGE_VLANDB_ENTRY_STATE;
        /// Whether a multicast router is behind the port: 0 never, 1 if queries are seen, 2 always.
        "mcast_router" mcast_router @uncopied: u8 = BRIDGE_VLANDB_ENTRY_MCAST_ROUTER;
        /// Its counters, if the query requests any. Read-only.
        statistics @uncopied: VlanStatistics as Nested = BRIDGE_VLANDB_ENTRY_STATS, Flatten;
    }
}

attribute_set! {
    /// Counters of a VLAN at a port.
    pub struct VlanStatistics {
        /// Received bytes. Read-only.
        rx_bytes @reported: u64 = BRIDGE_VLANDB_STATS_RX_BYTES;
        /// Received packets. Read-only.
        rx_packets @reported: u64 = BRIDGE_VLANDB_STATS_RX_PACKETS;
        /// Sent bytes. Read-only.
        tx_bytes @reported: u64 = BRIDGE_VLANDB_STATS_TX_BYTES;
        /// Sent packets. Read-only.
        tx_packets @reported: u64 = BRIDGE_VLANDB_STATS_TX_PACKETS;
    }
}

flag_set! {
    /// Handling of untagged packets at a port.
    pub struct PortVlanFlags: u16 {
        /// Untagged packets that arrive belong to this VLAN.
        PVID = BRIDGE_VLAN_INFO_PVID, "PVID";
        /// Packets of this VLAN leave untagged.
        UNTAGGED = BRIDGE_VLAN_INFO_UNTAGGED, "Egress Untagged";
    }
}

impl PortVlan {
    /// The VLAN `vlan` of the port `dev`.
    pub fn on(dev: IfIndex, vlan: u16) -> Self {
        Self::new().dev(dev).vlan(vlan)
    }

    /// A range of VLANs of the port `dev`.
    pub fn range(dev: IfIndex, vlans: std::ops::RangeInclusive<u16>) -> Self {
        Self::on(dev, *vlans.start()).vlan_end(*vlans.end())
    }

    /// The port; 0 if none is given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }

    /// Whether untagged packets that arrive belong to it.
    pub fn is_pvid(&self) -> bool {
        self.flags
            .is_some_and(|flags| flags.contains(PortVlanFlags::PVID))
    }
}

impl PortVlan {
    /// Parses `vid VLAN[-VLAN]` and the flags.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        let flag = match keyword {
            "vid" => {
                let text: String = args.value(keyword)?;
                let (first, last) = match text.split_once('-') {
                    Some((first, last)) => (first, Some(last)),
                    None => (text.as_str(), None),
                };
                let number = |digits: &str| {
                    let invalid = |_| InvalidValue::new("vid: 1 to 4094", Some(&text));
                    digits.parse().map_err(invalid)
                };
                self.vlan = Some(number(first)?);
                self.vlan_end = last.map(number).transpose()?;
                return Ok(true);
            }
            "pvid" => PortVlanFlags::PVID,
            "untagged" => PortVlanFlags::UNTAGGED,
            _ => return Ok(false),
        };
        self.flags = Some(self.flags.unwrap_or_default() | flag);
        Ok(true)
    }
}

/// The highest VLAN id.
pub(crate) const MAX_VLAN: u16 = 4094;

/// Parses the value of `keyword`: a number in decimal digits, also behind a zero, as in `bridge(8)`.
pub(crate) fn parse_decimal(
    keyword: &str,
    range: RangeInclusive<u16>,
    args: &mut Arguments<'_>,
) -> Parsed<u16> {
    let text: String = args.value(keyword)?;
    let number = text.parse::<u16>().ok();
    let number = number.filter(|number| range.contains(number));
    let expected = format!("{keyword}: {} to {}", range.start(), range.end());
    number.ok_or_else(|| InvalidValue::new(&expected, Some(&text)))
}

/// The attributes of VLAN messages.
const ENTRIES: &[AttributeSpec] = specs! {
    BRIDGE_VLANDB_ENTRY: AttributeType::Nest { skip: 0, attributes: <PortVlan as AttributeSet>::specs, },
};

/// The attributes of link messages about VLANs.
const LINK_ENTRIES: &[AttributeSpec] = specs! {
    IFLA_AF_SPEC: AttributeType::Nest { skip: 0, attributes: || AF_SPEC_ENTRIES, },
};

const AF_SPEC_ENTRIES: &[AttributeSpec] = specs! {
    IFLA_BRIDGE_FLAGS: AttributeType::Number,
    IFLA_BRIDGE_VLAN_INFO: AttributeType::Bytes,
};

/// The flags of `struct bridge_vlan_info` that a VLAN has.
pub(crate) fn known_flags(flags: u16) -> PortVlanFlags {
    let known = PortVlanFlags::PVID | PortVlanFlags::UNTAGGED;
    PortVlanFlags(flags & known.0)
}

/// `struct bridge_vlan_info`.
fn info(flags: u16, vlan: u16) -> [u8; 4] {
    let ([f0, f1], [v0, v1]) = (flags.to_ne_bytes(), vlan.to_ne_bytes());
    [f0, f1, v0, v1]
}

impl PortVlan {
    /// Appends the attributes that add or delete the VLANs `first` to `last`.
    fn put_membership(&self, first: u16, last: u16, request: &mut Request) {
        let flags = self.flags.unwrap_or_default().0;
        request.nested(IFLA_AF_SPEC, &[], |request| {
            let places = [
                (self.own, BRIDGE_FLAGS_SELF),
                (self.master, BRIDGE_FLAGS_MASTER),
            ];
            let selected = places.into_iter().filter(|(on, _)| *on == Some(true));
            let places = selected.fold(0, |places, (_, place)| places | place);
            if places != 0 {
                request.attribute(IFLA_BRIDGE_FLAGS, &places.to_ne_bytes());
            }
            let mut put =
                |flags, vlan| request.attribute(IFLA_BRIDGE_VLAN_INFO, &info(flags, vlan));
            if first == last {
                put(flags, first);
            } else {
                put(flags | BRIDGE_VLAN_INFO_RANGE_BEGIN, first);
                put(flags | BRIDGE_VLAN_INFO_RANGE_END, last);
            }
        });
    }

    /// Appends the attributes that set options of the VLANs `first` to `last`.
    fn put_options(&self, first: u16, last: u16, request: &mut Request) {
        request.nested(BRIDGE_VLANDB_ENTRY, &[], |request| {
            let info = info(BRIDGE_VLAN_INFO_ONLY_OPTS, first);
            request.attribute(BRIDGE_VLANDB_ENTRY_INFO, &info);
            if first != last {
                request.attribute(BRIDGE_VLANDB_ENTRY_RANGE, &last.to_ne_bytes());
            }
            AttributeSet::encode_attributes(self, request);
        });
    }

    /// Appends the entry of a message about one VLAN.
    pub(crate) fn put_entry(&self, request: &mut Request) {
        request.nested(BRIDGE_VLANDB_ENTRY, &[], |request| {
            let info = info(
                self.flags.unwrap_or_default().0,
                self.vlan.unwrap_or_default(),
            );
            request.attribute(BRIDGE_VLANDB_ENTRY_INFO, &info);
            AttributeSet::encode_attributes(self, request);
        });
    }

    /// Decodes a message about the VLANs of a port. Ranges are expanded.
    pub(crate) fn read(body: &[u8], mut take: impl FnMut(Self)) -> Result<(), Malformed> {
        let (header, rest) = BridgeHeader::split(body)?;
        if header.family != AF_BRIDGE {
            return Ok(());
        }
        let dev = IfIndex(header.index);
        // VLANs are in ascending order. Each is visited once, even if ranges overlap.
        let mut next = 0;
        for attribute in attributes(rest, BridgeHeader::BYTES) {
            let attribute = attribute?;
            if attribute.kind != BRIDGE_VLANDB_ENTRY {
                continue;
            }
            let mut entry = Self::read_entry(dev, attribute)?;
            let last = entry.vlan_end.take().or(entry.vlan);
            if let (Some(first), Some(last)) = (entry.vlan, last) {
                let last = last.min(MAX_VLAN);
                for vlan in first.max(next)..=last {
                    take(entry.clone().vlan(vlan));
                }
                next = next.max(last.saturating_add(1));
            }
        }
        Ok(())
    }

    fn read_entry(dev: IfIndex, entry: Attribute<'_>) -> Result<Self, Malformed> {
        let mut vlan = Self::new().dev(dev);
        for attribute in entry.attributes() {
            let attribute = attribute?;
            match attribute.kind {
                BRIDGE_VLANDB_ENTRY_INFO => {
                    let [f0, f1, v0, v1] = attribute.array()?;
                    vlan.flags = Some(known_flags(u16::from_ne_bytes([f0, f1])));
                    vlan.vlan = Some(u16::from_ne_bytes([v0, v1]));
                }
                BRIDGE_VLANDB_ENTRY_RANGE => {
                    vlan.vlan_end = Some(u16::from_ne_bytes(attribute.array()?));
                }
                _ => vlan.decode_attribute(attribute)?,
            }
        }
        Ok(vlan)
    }
}

impl Object for PortVlan {
    /// Port and VLAN.
    type Key = (IfIndex, u16);

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWVLAN);
    const HEADER_BYTES: usize = BridgeHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_BRVLAN];
    const HAS_GET: bool = false;

    fn attributes() -> &'static [AttributeSpec] {
        ENTRIES
    }

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        match verb {
            Verb::Get | Verb::List => {
                request.begin(
                    RTM_GETVLAN,
                    Verb::List.flags(),
                    &BridgeHeader::of(self.ifindex()),
                );
                // Without counters the kernel merges VLANs into ranges and omits those after the PVID
                // (`br_vlan_dump_dev`, `br_vlan_fill_vids`, net/bridge/br_vlan.c).
                request.u32(BRIDGE_VLANDB_DUMP_FLAGS, BRIDGE_VLANDB_DUMPF_STATS);
            }
            Verb::Set => {
                let (first, last) = self.validate()?;
                reject_if!(
                    self.flags.is_some() || self.own.is_some() || self.master.is_some(),
                    "flags of a VLAN cannot be set; add the VLAN again"
                );
                request.begin(RTM_NEWVLAN, NLM_F_ACK, &BridgeHeader::of(self.ifindex()));
                self.put_options(first, last, request);
            }
            Verb::Add | Verb::Replace | Verb::Del => {
                let (first, last) = self.validate()?;
                reject_if!(
                    verb != Verb::Del && (self.state.is_some() || self.mcast_router.is_some()),
                    "options of a VLAN can be set only after it was added"
                );
                let kind = if verb == Verb::Del {
                    RTM_DELLINK
                } else {
                    RTM_SETLINK
                };
                let header = LinkHeader {
                    family: AF_BRIDGE,
                    index: self.ifindex().0,
                    ..LinkHeader::default()
                };
                request.begin(kind, NLM_F_ACK, &header.emit());
                self.put_membership(first, last, request);
            }
            Verb::Append | Verb::Prepend => {
                return Err(InvalidRequest::new("a VLAN cannot be appended; add it"));
            }
        }
        Ok(())
    }

    decode_several!();

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.vlan?))
    }

    fn check_key(&self) -> Result<(), InvalidRequest> {
        self.given_vlan().map(|_| ())
    }

    /// A range matches all its VLANs.
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
        holds && AttributeSet::fields_match(self, &wanted)
    }

    fn target(&self) -> RequestTarget {
        match self.vlan {
            Some(vlan) => {
                RequestTarget::PortVlan(vlan, self.vlan_end.unwrap_or(vlan), self.ifindex())
            }
            None => RequestTarget::PortVlans,
        }
    }

    fn drop_unrequested(&mut self, asked: &Self) {
        if asked.statistics.is_none() {
            self.statistics = None;
        }
    }

    const DECODES_REQUESTS: bool = false;

    fn request_layout(verb: Verb) -> (usize, &'static [AttributeSpec]) {
        match verb {
            Verb::Add | Verb::Replace | Verb::Del => (LinkHeader::BYTES, LINK_ENTRIES),
            _ => (BridgeHeader::BYTES, ENTRIES),
        }
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                statistics: self.statistics.clone(),
                ..other.clone()
            }
    }

    /// When options of a range are set, the kernel does not report the VLANs after the PVID
    /// (`br_vlan_process_options`, net/bridge/br_vlan_options.c).
    fn requires_relist(message: Message<'_>) -> bool {
        let mut contains_pvid = false;
        if message.kind == RTM_NEWVLAN {
            // The error is reported where the message is decoded.
            let _ = Self::read(message.body, |vlan| contains_pvid |= vlan.is_pvid());
        }
        contains_pvid
    }

    const IS_IDEMPOTENT: bool = true;

    fn expanded(&self) -> Vec<Self> {
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

    /// A port has one PVID.
    fn displaces(&self, other: &Self) -> bool {
        self.is_pvid() && other.is_pvid() && self.dev == other.dev
    }

    /// The spanning tree state: a new VLAN starts as forwarding.
    fn set_after_restore(&self) -> Option<Self> {
        let state = self.state.filter(|state| *state != PortState::Forwarding);
        state.map(|state| Self {
            dev: self.dev,
            vlan: self.vlan,
            state: Some(state),
            ..Self::default()
        })
    }

    /// Replies lack `own` and `master`.
    fn to_restore(self, said: &Self) -> Self {
        Self {
            own: said.own,
            master: said.master,
            ..self.settable()
        }
    }

    fn reduced_to(self, to: &Self) -> Self {
        Self {
            flags: None,
            state: self.state.filter(|_| to.state.is_some()),
            mcast_router: self.mcast_router.filter(|_| to.mcast_router.is_some()),
            statistics: None,
            ..self
        }
    }
}

impl PortVlan {
    fn given_vlan(&self) -> Result<u16, InvalidRequest> {
        self.vlan
            .ok_or_else(|| InvalidRequest::new("no VLAN is given"))
    }

    /// The first and the last VLAN, if the request is valid.
    fn validate(&self) -> Result<(u16, u16), InvalidRequest> {
        let first = self.given_vlan()?;
        let last = self.vlan_end.unwrap_or(first);
        reject_if!(
            self.ifindex() == IfIndex(0),
            "no port is given for the VLAN"
        );
        for vlan in [first, last] {
            reject_if!(
                !(1..=MAX_VLAN).contains(&vlan),
                "VLAN {vlan} is not between 1 and {MAX_VLAN}"
            );
        }
        reject_if!(
            last < first,
            "the range of VLANs ends at {last}, before it begins at {first}"
        );
        reject_if!(
            last > first
                && self
                    .flags
                    .is_some_and(|flags| flags.contains(PortVlanFlags::PVID)),
            "pvid applies to one VLAN, not to a range"
        );
        Ok((first, last))
    }
}
