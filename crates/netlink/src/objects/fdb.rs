//! Forwarding entries of bridges and VXLANs: the port or remote endpoint behind a hardware address.

use std::net::IpAddr;

use crate::codec::{Malformed, Message, Request, attributes};
use crate::error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget, reject_if};
use crate::header::NeighHeader;
use crate::netlink::Netlink;
use crate::object::Object;
use crate::objects::neigh::CacheInfo;
use crate::objects::port_vlan::{MAX_VLAN, parse_decimal};
use crate::schema::{
    Arguments, AttributeSet, AttributeType, BigEndian, Parsed, attribute_set, flag_set, number_enum,
};
use crate::uapi::{
    AF_BRIDGE, NDA_CACHEINFO, NDA_IFINDEX, NDA_MASTER, NDA_NDM_FLAGS_MASK, NDA_NDM_STATE_MASK,
    NLM_F_ACK, NLM_F_BULK, NTF_EXT_LEARNED, NTF_MASTER, NTF_OFFLOADED, NTF_SELF, NTF_STICKY,
    NTF_USE, NUD_NOARP, NUD_PERMANENT, NUD_REACHABLE, NUD_STALE, RTM_DELADDR, RTM_DELLINK,
    RTM_DELNEIGH, RTM_GETNEIGH, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH, RTNLGRP_IPV4_IFADDR,
    RTNLGRP_IPV6_IFADDR, RTNLGRP_LINK, RTNLGRP_NEIGH,
};
use crate::values::interface::{IfIndex, MacAddress};
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A forwarding entry of a bridge, of a VXLAN or of a device: the desired state, or the state that the kernel
    /// reported.
    ///
    /// Equals `bridge fdb add LLADDR dev DEV …`. Without the flags `self` and `master` the entry belongs to the bridge that
    /// `master` names, as in what the kernel reports, or else to the device itself. Without a
    /// state it is permanent, as with `bridge(8)`. A VXLAN sends packets without an entry of their own to the remote ends of the
    /// address of zeros. Further remote ends of one address are appended.
    ///
    /// # Source
    /// `rtnl_fdb_add`, net/core/rtnetlink.c; `br_fdb_add`, net/bridge/br_fdb.c; `vxlan_fdb_parse`,
    /// drivers/net/vxlan/vxlan_core.c.
    pub struct Fdb {
        @header {
            /// The port, or the device.
            "dev" | "brport" dev: IfIndex;
            /// How long it is kept.
            "state" state: FdbState;
            /// Whether the device or its bridge has it, and how it is treated. A filter matches entries with at least these flags.
            flags: FdbFlags;
            /// Seconds since it was last used. Read-only.
            used @reported: u32, 1 per second;
            /// Seconds since it last changed. Read-only.
            updated @reported: u32, 1 per second;
        }
        @parts { NDA_CACHEINFO: AttributeType::Bytes; }
        @own parse_special_keyword;
        #[serde(rename = "mac")]
        "lladdr" | "to" lladdr: MacAddress = NDA_LLADDR;
        /// The remote end of the VXLAN.
        "dst" dst: IpAddr = NDA_DST;
        /// The VLAN, if the bridge filters by VLAN.
        "vlan" | "vid" [1..=4094] vlan: u16 = NDA_VLAN;
        /// UDP port of the remote end. Default: that of the device.
        "port" port: u16 as BigEndian = NDA_PORT;
        /// Network identifier at the remote end. Default: that of the device.
        "vni" [0..=16_777_215] vni: u32 = NDA_VNI;
        /// The interface through which the remote end is reached.
        #[serde(rename = "viaIf")]
        "via" via: IfIndex = NDA_IFINDEX;
        /// The bridge that has it. In a change, the flag `master` if neither `self` nor `master` is given.
        "br" master: IfIndex = NDA_MASTER;
        /// Network identifier of the packets to which it applies, on a device with several.
        "src_vni" [0..=16_777_215] src_vni: u32 = NDA_SRC_VNI;
        /// The nexthop group of the remote ends.
        "nhid" nhid: u32 = NDA_NH_ID;
    }
}

/// The key of a forwarding entry: an address is at one port of a bridge, and behind one remote end of a VXLAN, unless
/// it is flooded to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FdbKey {
    /// The device, if the entry belongs to the device itself.
    pub dev: Option<IfIndex>,
    /// The hardware address.
    pub lladdr: MacAddress,
    /// The VLAN.
    pub vlan: Option<u16>,
    /// The bridge, if the entry belongs to it.
    pub master: Option<IfIndex>,
    /// The remote end of the VXLAN, of several.
    pub dst: Option<IpAddr>,
    /// The UDP port of that end.
    pub port: Option<u16>,
    /// The network identifier of that end.
    pub vni: Option<u32>,
    /// The network identifier of the packets.
    pub src_vni: Option<u32>,
}

impl Fdb {
    /// The entry for this address at a port or in a device.
    pub fn on(dev: IfIndex, lladdr: MacAddress) -> Self {
        Self::new().dev(dev).lladdr(lladdr)
    }

    /// The interface; 0 if none is given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }
}

/// Requests need the reachable bit in addition to the state.
const STATIC: u16 = NUD_NOARP | NUD_REACHABLE;
const PERMANENT: u16 = NUD_NOARP | NUD_PERMANENT;

number_enum! {
    /// The lifetime of a forwarding entry, as in `bridge fdb add`.
    pub enum FdbState: u16, bare {
        /// Permanent; in a bridge it is a local address.
        Permanent = PERMANENT, "permanent";
        /// Until it is deleted.
        Static = STATIC, "static";
        /// Until it ages out.
        Dynamic = NUD_REACHABLE, "dynamic";
        /// Not used for a while.
        Stale = NUD_STALE, "stale";
    }
}

impl Fdb {
    /// Parses the VLAN, flags, further names of states, and a hardware address without a keyword.
    fn parse_special_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        if matches!(keyword, "vlan" | "vid") {
            self.vlan = Some(parse_decimal(keyword, 1..=MAX_VLAN, args)?);
            return Ok(true);
        }
        if let Some(flag) = FdbFlags::named(keyword) {
            self.flags = Some(self.flags.unwrap_or_default() | flag);
            return Ok(true);
        }
        match (keyword, keyword.parse()) {
            ("local", _) => self.state = Some(FdbState::Permanent),
            ("temp", _) => self.state = Some(FdbState::Static),
            (_, Ok(lladdr)) if self.lladdr.is_none() => self.lladdr = Some(lladdr),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl FdbState {
    /// Decodes the state in a message.
    fn from_message(state: u16) -> Self {
        let bits = [
            (NUD_PERMANENT, Self::Permanent),
            (NUD_NOARP, Self::Static),
            (NUD_STALE, Self::Stale),
            (NUD_REACHABLE, Self::Dynamic),
        ];
        let found = bits.into_iter().find(|(bit, _)| state & bit != 0);
        found.map_or(Self::Other(state), |(_, state)| state)
    }
}

flag_set! {
    /// Flags of a forwarding entry (`NTF_*`).
    pub struct FdbFlags: u8 {
        /// In the table of the device itself.
        SELF = NTF_SELF, "self";
        /// In the table of the bridge that the device is a port of.
        MASTER = NTF_MASTER, "master";
        /// The destination is a router.
        ROUTER = NTF_ROUTER, "router";
        /// Learned and maintained by a program.
        EXTERN_LEARN = NTF_EXT_LEARNED, "extern_learn";
        /// Offloaded to a device.
        OFFLOAD = NTF_OFFLOADED, "offload";
        /// The address never moves to another port.
        STICKY = NTF_STICKY, "sticky";
        /// It is to be taken as just used; write-only.
        USE = NTF_USE, "use";
    }
}

/// The highest VNI.
const MAX_VNI: u32 = 0x00ff_ffff;

impl Object for Fdb {
    type Key = FdbKey;

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWNEIGH);
    const HEADER_BYTES: usize = NeighHeader::BYTES;

    const GROUPS: &'static [u32] = &[
        RTNLGRP_NEIGH,
        RTNLGRP_LINK,
        RTNLGRP_IPV4_IFADDR,
        RTNLGRP_IPV6_IFADDR,
    ];
    const HAS_GET: bool = true;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        let mut header = NeighHeader {
            family: AF_BRIDGE,
            ..NeighHeader::default()
        };
        if verb == Verb::List {
            request.begin(RTM_GETNEIGH, verb.flags(), &header.emit());
            for (kind, link) in [(NDA_IFINDEX, self.dev), (NDA_MASTER, self.master)] {
                if let Some(link) = link {
                    request.u32(kind, link.0);
                }
            }
            return Ok(());
        }
        self.check(verb)?;
        header.index = self.ifindex().0;
        header.flags = self.request_flags(verb).0;
        if verb == Verb::Get {
            request.begin(RTM_GETNEIGH, verb.flags(), &header.emit());
            AttributeSet::encode_attributes(&self.key_only(), request);
            return Ok(());
        }
        header.state = self.state.unwrap_or(FdbState::Permanent).into();
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        AttributeSet::encode_attributes(self, request);
        Ok(())
    }

    /// False for IPv4 and IPv6 neighbours, which use the same messages.
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = NeighHeader::split(body)?;
        if header.family != AF_BRIDGE {
            return Ok(false);
        }
        self.clear();
        self.dev = Some(IfIndex(header.index));
        self.state = Some(FdbState::from_message(header.state));
        self.flags = Some(FdbFlags(header.flags));
        for attribute in attributes(rest, NeighHeader::BYTES) {
            let attribute = attribute?;
            if attribute.kind == NDA_CACHEINFO {
                let cache_info = CacheInfo::decode(attribute)?;
                self.used = Some(cache_info.used);
                self.updated = Some(cache_info.updated);
            } else {
                self.decode_attribute(attribute)?;
            }
        }
        // A device without a bridge reports master 0.
        self.master = self.master.filter(|master| master.0 != 0);
        Ok(true)
    }

    fn key(&self) -> Option<FdbKey> {
        let (dev, lladdr) = (self.dev?, self.lladdr?);
        let floods = lladdr.0[0] & 1 == 1 || lladdr == MacAddress([0; 6]);
        Some(FdbKey {
            // A bridge entry that moves to another port is reported in one message.
            dev: Some(dev).filter(|_| self.master.is_none()),
            lladdr,
            vlan: self.vlan,
            master: self.master,
            dst: self.dst.filter(|_| floods),
            port: self.port.filter(|_| floods),
            vni: self.vni.filter(|_| floods),
            src_vni: self.src_vni,
        })
    }

    fn matches(&self, wanted: &Self) -> bool {
        let Some(flags) = wanted.flags else {
            return AttributeSet::fields_match(self, wanted);
        };
        // An entry of a bridge has a master instead of the flag.
        let mut own = self.flags.unwrap_or_default();
        if self.master.is_some() {
            own = own | FdbFlags::MASTER;
        }
        let wanted = Self {
            flags: self.flags,
            ..wanted.clone()
        };
        own.contains(flags) && AttributeSet::fields_match(self, &wanted)
    }

    fn target(&self) -> RequestTarget {
        match self.lladdr {
            Some(lladdr) => RequestTarget::ForwardingEntry(lladdr, self.ifindex()),
            None => RequestTarget::ForwardingEntries,
        }
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
        *self
            == Self {
                used: self.used,
                updated: self.updated,
                ..other.clone()
            }
    }

    /// The kernel does not report these changes: a bridge moves the address of a leaving port to another port or to
    /// itself (`fdb_delete_local`, net/bridge/br_fdb.c), and the addresses that a device listens to change with its
    /// links and addresses (`ndo_dflt_fdb_dump`, net/core/rtnetlink.c). Groups that a program joins are never
    /// reported.
    fn requires_relist(message: Message<'_>) -> bool {
        matches!(
            message.kind,
            RTM_NEWLINK | RTM_DELLINK | RTM_NEWADDR | RTM_DELADDR
        )
    }
}

impl Fdb {
    fn check(&self, verb: Verb) -> Result<(), InvalidRequest> {
        reject_if!(self.lladdr.is_none(), "no hardware address is given");
        let asked_of_bridge = verb == Verb::Get && self.master.is_some();
        reject_if!(
            self.ifindex() == IfIndex(0) && !asked_of_bridge,
            "no interface is given for the forwarding entry"
        );
        if let Some(vlan) = self.vlan.filter(|vlan| !(1..=MAX_VLAN).contains(vlan)) {
            return Err(InvalidRequest::new(format!(
                "VLAN {vlan} is not between 1 and {MAX_VLAN}"
            )));
        }
        if let Some(vni) = self.vni.or(self.src_vni).filter(|vni| *vni > MAX_VNI) {
            return Err(InvalidRequest::new(format!(
                "VNI {vni} has more than 24 bits"
            )));
        }
        reject_if!(
            self.nhid.is_some()
                && (self.dst.is_some() || self.port.is_some() || self.vni.is_some()),
            "a nexthop group excludes dst, port and vni"
        );
        Ok(())
    }

    /// The flags of a request. Default table: that of the bridge if one is named, as in a reply, which has no flag then;
    /// otherwise that of the device itself. A bridge has its own addresses in its own table.
    fn request_flags(&self, verb: Verb) -> FdbFlags {
        let said = self.flags.unwrap_or_default();
        let places = FdbFlags::SELF | FdbFlags::MASTER;
        let of_place = FdbFlags(said.0 & places.0);
        let said = if verb == Verb::Get { of_place } else { said };
        let default = match (self.master, self.dev) {
            (Some(master), Some(dev)) if master != dev => FdbFlags::MASTER,
            _ => FdbFlags::SELF,
        };
        if of_place == FdbFlags::default() {
            said | default
        } else {
            said
        }
    }

    /// Only the fields of the key.
    fn key_only(&self) -> Self {
        Self {
            lladdr: self.lladdr,
            vlan: self.vlan,
            vni: self.vni,
            master: self.master.filter(|_| self.dev.is_none()),
            ..Self::default()
        }
    }
}

attribute_set! {
    /// Selects the forwarding entries to delete. Equals the arguments of `bridge fdb flush`.
    ///
    /// # Source
    /// `rtnl_fdb_del`, net/core/rtnetlink.c; `br_fdb_delete_bulk`, net/bridge/br_fdb.c.
    pub struct FdbFlush {
        @header {
            /// A bridge, another device with a table, or a bridge port.
            "dev" dev: IfIndex;
            /// In the table of the device itself. Default if no table is given.
            "self" own: bool;
            /// In the table of the bridge that the device is a port of.
            "master" master: bool;
            /// Whether they are permanent.
            "permanent" permanent: bool;
            /// Whether they are static.
            "static" fixed: bool;
            /// Whether they are learned and age out.
            "dynamic" dynamic: bool;
            /// Whether a user added them.
            "added_by_user" added_by_user: bool;
            /// Whether a program maintains them.
            "extern_learn" extern_learn: bool;
            /// Whether they are sticky.
            "sticky" sticky: bool;
            /// Whether they are offloaded to a device.
            "offloaded" offloaded: bool;
        }
        /// Their port.
        "brport" port: IfIndex = NDA_IFINDEX;
        /// Their VLAN.
        "vlan" vlan: u16 = NDA_VLAN;
    }
}

impl FdbFlush {
    fn put(&self, request: &mut Request) -> Result<(), InvalidRequest> {
        let dev = self.dev.filter(|dev| dev.0 != 0);
        let dev = dev.ok_or_else(|| InvalidRequest::new("no device is given"))?;
        if let Some(vlan) = self.vlan.filter(|vlan| *vlan > MAX_VLAN) {
            return Err(InvalidRequest::new(format!(
                "VLAN {vlan} is above {MAX_VLAN}"
            )));
        }
        let (state, state_mask) = self.states();
        let (flags, flags_mask) = self.flags();
        let header = NeighHeader {
            family: AF_BRIDGE,
            index: dev.0,
            state,
            flags: flags | self.tables(),
        };
        request.begin(RTM_DELNEIGH, NLM_F_ACK | NLM_F_BULK, &header.emit());
        AttributeSet::encode_attributes(self, request);
        if flags_mask != 0 {
            request.attribute(NDA_NDM_FLAGS_MASK, &[flags_mask]);
        }
        if state_mask != 0 {
            request.attribute(NDA_NDM_STATE_MASK, &state_mask.to_ne_bytes());
        }
        Ok(())
    }

    /// The tables: `NTF_SELF` and `NTF_MASTER`.
    fn tables(&self) -> u8 {
        match (self.own == Some(true), self.master == Some(true)) {
            (true, true) => NTF_SELF | NTF_MASTER,
            (false, true) => NTF_MASTER,
            _ => NTF_SELF,
        }
    }

    /// The required states and their mask. Permanent entries have the static bit too, so both static and dynamic
    /// require that the permanent bit is clear (`fdb_flush`, bridge/fdb.c).
    fn states(&self) -> (u16, u16) {
        let (mut state, mut mask) = (0, 0);
        if let Some(permanent) = self.permanent {
            mask |= NUD_PERMANENT;
            state |= if permanent { NUD_PERMANENT } else { 0 };
        }
        let kinds = [(self.fixed, true), (self.dynamic, false)];
        for (said, is_static) in kinds {
            let Some(said) = said else { continue };
            mask |= NUD_NOARP | if said { NUD_PERMANENT } else { 0 };
            state &= !NUD_NOARP;
            state |= if said == is_static { NUD_NOARP } else { 0 };
        }
        (state, mask)
    }

    /// The required flags and their mask.
    fn flags(&self) -> (u8, u8) {
        let said = [
            (self.added_by_user, NTF_USE),
            (self.extern_learn, NTF_EXT_LEARNED),
            (self.sticky, NTF_STICKY),
            (self.offloaded, NTF_OFFLOADED),
        ];
        let said = said.into_iter().filter_map(|(on, flag)| Some((on?, flag)));
        said.fold((0, 0), |(flags, mask), (on, flag)| {
            (flags | if on { flag } else { 0 }, mask | flag)
        })
    }
}

impl Netlink {
    /// Deletes the forwarding entries that `which` selects, in one message. Equals `bridge fdb flush`.
    ///
    /// Since Linux 6.0 for bridges, and 6.7 for VXLANs.
    ///
    /// # Errors
    /// `Cause::Refused` with EOPNOTSUPP if the device does not support it, e.g. a port for its own table; with
    /// EINVAL on older kernels. `Cause::Invalid` without a device.
    /// # Privileges
    /// `CAP_NET_ADMIN`.
    /// # Source
    /// As [`FdbFlush`].
    pub fn flush_fdb(&mut self, which: &FdbFlush) -> Result<(), NetlinkError> {
        let mut request = self.request();
        let told = match which.put(&mut request) {
            Ok(()) => self.socket.change(&mut request),
            Err(unfit) => Err(Cause::Invalid(unfit)),
        };
        self.scratch = request;
        let subject = RequestTarget::ForwardingEntriesOf(which.dev.unwrap_or_default());
        told.map_err(NetlinkError::about(Action::Flush, subject))
    }
}
