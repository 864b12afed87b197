//! Neighbours (the hardware address of an IP address on a link), and the neighbour tables.

use crate::header::NeighHeader;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::codec::{Attribute, Malformed, Message, Request, attributes, split};
use crate::error::{Action, InvalidRequest, NetlinkError, RequestTarget, reject_if};
use crate::netlink::Netlink;
use crate::object::Object;
use crate::objects::link::HardwareAddress;
use crate::objects::route::RouteProtocol;
use crate::schema::{
    Arguments, AttributeSet, AttributeType, Parsed, attribute_set, number_enum, parse_ip,
};
use crate::socket::Listing;
use crate::uapi::{
    AF_INET, AF_INET6, AF_UNSPEC, NDA_CACHEINFO, NDA_FLAGS_EXT, NDA_IFINDEX, NDA_MASTER,
    NDTA_CONFIG, NDTA_NAME, NDTA_THRESH1, NDTA_THRESH2, NDTA_THRESH3, NTF_EXT_MANAGED,
    NTF_OFFLOADED, NTF_PROXY, NTF_USE, RTM_GETNEIGH, RTM_GETNEIGHTBL, RTM_NEWNEIGH,
    RTM_NEWNEIGHTBL, RTNLGRP_NEIGH,
};
use crate::values::interface::IfIndex;
use crate::values::prefix::Family;
use crate::verb::{MessageTypes, Verb};

attribute_set! {
    /// A neighbour, a host on the link of an interface: the desired state, or the state that the kernel reported.
    ///
    /// Equals `ip neighbour add DST lladdr LLADDR dev DEV [nud STATE] …`. `dst` and `dev` are the key. As in
    /// `ip(8)`, the default state is permanent, also in a change.
    ///
    /// # Source
    /// `neigh_add` and `neigh_fill_info`, net/core/neighbour.c.
    pub struct Neigh {
        @header {
            /// Its interface.
            "dev" dev: IfIndex;
            /// Its family. Derived from `dst` in changes; a filter in queries.
            family: Family;
            /// Its state.
            #[serde(with = "as_list")]
            "nud" | "state" state: NeighState;
            /// The kernel keeps its hardware address resolved; Linux 5.16.
            "managed" managed: bool;
            /// Seconds since it was last used. Read-only.
            used @reported: u32, 1 per second;
            /// Seconds since it was last confirmed. Read-only.
            confirmed @reported: u32, 1 per second;
            /// Seconds since it was last updated. Read-only.
            updated @reported: u32, 1 per second;
            /// Reference count. Read-only.
            refcnt @reported: u32;
        }
        @flags {
            /// A proxy entry: this host answers for the address. Queries return either proxy entries or
            /// neighbours, never both.
            "proxy" proxy = NTF_PROXY;
            /// It is a router; IPv6.
            "router" router = NTF_ROUTER;
            /// Learned and maintained by a program.
            "extern_learn" extern_learn = NTF_EXT_LEARNED;
            /// Resolve its hardware address now. Write-only.
            "use" resolve = NTF_USE;
            /// Offloaded to a device. Read-only.
            offload @reported = NTF_OFFLOADED;
        }
        @parts {
            NDA_CACHEINFO: AttributeType::Bytes;
            NDA_FLAGS_EXT: AttributeType::Number;
        }
        @own parse_special_keyword;
        "to" dst: IpAddr = NDA_DST;
        "lladdr" lladdr: HardwareAddress = NDA_LLADDR;
        /// Unanswered probes. Read-only.
        probes @reported: u32 = NDA_PROBES;
        /// The bridge, bond or VRF of its link; a filter in queries only.
        "master" master: IfIndex = NDA_MASTER;
        /// Origin.
        "protocol" protocol: RouteProtocol = NDA_PROTOCOL;
    }
}

impl Neigh {
    /// The neighbour of this address on an interface.
    pub fn on(dev: IfIndex, dst: impl Into<IpAddr>) -> Self {
        Self::new().dev(dev).dst(dst.into())
    }

    /// Its interface; 0 if none is given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }
}

impl Neigh {
    /// Parses the address without a keyword.
    #[expect(clippy::unnecessary_wraps, reason = "the table calls it")]
    fn parse_special_keyword(&mut self, keyword: &str, _: &mut Arguments<'_>) -> Parsed<bool> {
        let dst = parse_ip(keyword).filter(|_| self.dst.is_none());
        self.dst = dst.or(self.dst);
        Ok(dst.is_some())
    }
}

number_enum! {
    /// The state of a neighbour (`NUD_*`).
    pub enum NeighState: u16 {
        /// No state.
        None = NUD_NONE, "none";
        /// The first resolution is in progress.
        Incomplete = NUD_INCOMPLETE, "incomplete";
        /// Confirmed recently.
        Reachable = NUD_REACHABLE, "reachable";
        /// Not confirmed for a while.
        Stale = NUD_STALE, "stale";
        /// Not confirmed for a while and in use; a probe follows.
        Delay = NUD_DELAY, "delay";
        /// Probes are in progress.
        Probe = NUD_PROBE, "probe";
        /// Resolution failed.
        Failed = NUD_FAILED, "failed";
        /// Needs no resolution on this link.
        Noarp = NUD_NOARP, "noarp";
        /// Configured by an administrator; never probed.
        Permanent = NUD_PERMANENT, "permanent";
    }
}

/// JSON like `ip -json`: a list with one name in upper case.
mod as_list {
    use super::{Deserialize, Deserializer, NeighState, Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands it over so"
    )]
    pub fn serialize<S: Serializer>(
        state: &Option<NeighState>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let names: Vec<_> = state.iter().map(|s| s.to_string().to_uppercase()).collect();
        names.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<NeighState>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let first = names.first().map(|name| name.to_lowercase().parse());
        first.transpose().map_err(serde::de::Error::custom)
    }
}

/// The kernel reports times in hundredths of a second (`USER_HZ`).
const TICKS_PER_SECOND: u32 = 100;

/// Ages in seconds and the reference count (`struct nda_cacheinfo`).
pub(crate) struct CacheInfo {
    pub confirmed: u32,
    pub used: u32,
    pub updated: u32,
    pub references: u32,
}

impl CacheInfo {
    pub(crate) fn decode(attribute: Attribute<'_>) -> Result<Self, Malformed> {
        let bytes: [u8; 16] = attribute.array()?;
        let (numbers, _) = bytes.as_chunks::<4>();
        let [confirmed, used, updated, references] =
            [0, 1, 2, 3].map(|at| u32::from_ne_bytes(numbers[at]));
        Ok(Self {
            confirmed: confirmed / TICKS_PER_SECOND,
            used: used / TICKS_PER_SECOND,
            updated: updated / TICKS_PER_SECOND,
            references,
        })
    }
}

impl Object for Neigh {
    /// Interface, address, whether it is a proxy.
    type Key = (IfIndex, IpAddr, bool);

    const MESSAGES: MessageTypes = MessageTypes::starting_with(RTM_NEWNEIGH);
    const HEADER_BYTES: usize = NeighHeader::BYTES;
    const GROUPS: &'static [u32] = &[RTNLGRP_NEIGH];
    const HAS_GET: bool = true;

    fn encode(&self, verb: Verb, request: &mut Request) -> Result<(), InvalidRequest> {
        if verb == Verb::List {
            self.encode_list(request);
            return Ok(());
        }
        let dst = self.validate(verb)?;
        let proxy = if self.is_proxy() { NTF_PROXY } else { 0 };
        let mut header = NeighHeader {
            family: Family::of(dst).into(),
            index: self.ifindex().0,
            flags: proxy,
            ..NeighHeader::default()
        };
        if matches!(verb, Verb::Get | Verb::Del) {
            request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
            AttributeSet::encode_attributes(&Self::new().dst(dst), request);
            return Ok(());
        }
        header.state = self.request_state();
        let (flags, _) = self.flag_bits();
        header.flags = flags as u8 & !NTF_OFFLOADED;
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        if let Some(managed) = self.managed {
            request.u32(NDA_FLAGS_EXT, if managed { NTF_EXT_MANAGED } else { 0 });
        }
        AttributeSet::encode_attributes(self, request);
        Ok(())
    }

    /// False for families other than IPv4 and IPv6: bridges use the same messages.
    fn decode_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = NeighHeader::split(body)?;
        if header.family != AF_INET && header.family != AF_INET6 {
            return Ok(false);
        }
        self.clear();
        self.dev = Some(IfIndex(header.index));
        self.family = Some(header.family.into());
        self.state = Some(header.state.into());
        self.set_flag_bits(header.flags.into(), u32::from(!NTF_USE));
        self.managed = Some(false);
        for attribute in attributes(rest, NeighHeader::BYTES) {
            let attribute = attribute?;
            match attribute.kind {
                NDA_CACHEINFO => {
                    let cache_info = CacheInfo::decode(attribute)?;
                    self.confirmed = Some(cache_info.confirmed);
                    self.used = Some(cache_info.used);
                    self.updated = Some(cache_info.updated);
                    self.refcnt = Some(cache_info.references);
                }
                NDA_FLAGS_EXT => self.managed = Some(attribute.u32()? & NTF_EXT_MANAGED != 0),
                _ => self.decode_attribute(attribute)?,
            }
        }
        Ok(true)
    }

    fn key(&self) -> Option<Self::Key> {
        Some((self.dev?, self.dst?, self.is_proxy()))
    }

    fn matches(&self, wanted: &Self) -> bool {
        if wanted.master.is_none() {
            return AttributeSet::fields_match(self, wanted);
        }
        // The kernel filters by the master and does not report it.
        let mut wanted = wanted.clone();
        wanted.master = None;
        AttributeSet::fields_match(self, &wanted)
    }

    fn target(&self) -> RequestTarget {
        match self.dst {
            Some(dst) => RequestTarget::Neighbour(dst, self.ifindex()),
            None => RequestTarget::Neighbours,
        }
    }

    fn has_same_configuration(&self, other: &Self) -> bool {
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
}

impl Neigh {
    fn is_proxy(&self) -> bool {
        self.proxy == Some(true)
    }

    /// Encodes a list request. The kernel filters by family, interface, master and proxy flag.
    fn encode_list(&self, request: &mut Request) {
        let family = self.family.or_else(|| self.dst.map(Family::of));
        let header = NeighHeader {
            family: family.map_or(AF_UNSPEC, Into::into),
            flags: if self.is_proxy() { NTF_PROXY } else { 0 },
            ..NeighHeader::default()
        };
        request.begin(RTM_GETNEIGH, Verb::List.flags(), &header.emit());
        if let Some(dev) = self.dev {
            request.u32(NDA_IFINDEX, dev.0);
        }
        if let Some(master) = self.master {
            request.u32(NDA_MASTER, master.0);
        }
    }

    /// The address, if the request is valid.
    fn validate(&self, verb: Verb) -> Result<IpAddr, InvalidRequest> {
        let dst = (self.dst).ok_or_else(|| InvalidRequest::new("no address is given"))?;
        reject_if!(
            matches!(verb, Verb::Append | Verb::Prepend),
            "a neighbour cannot be appended; add it"
        );
        // A proxy entry can apply to all interfaces.
        reject_if!(
            self.ifindex() == IfIndex(0) && !self.is_proxy(),
            "no interface is given for the neighbour"
        );
        reject_if!(
            self.family.is_some_and(|given| given != Family::of(dst)),
            "{dst} does not belong to the given family"
        );
        reject_if!(self.master.is_some(), "master is a filter for queries only");
        reject_if!(
            self.is_proxy() && self.lladdr.is_some(),
            "a proxy entry cannot have a hardware address"
        );
        Ok(dst)
    }

    fn request_state(&self) -> u16 {
        let default = match (self.resolve, self.managed) {
            (Some(true), _) | (_, Some(true)) => NeighState::None,
            _ => NeighState::Permanent,
        };
        self.state.unwrap_or(default).into()
    }
}

/// Length of `struct ndtmsg`.
const TABLE_HEADER_BYTES: usize = 4;

/// A neighbour table, shared by all namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeighbourTable {
    /// Its name: `arp_cache` for IPv4, `ndisc_cache` for IPv6.
    pub name: String,
    /// Number of entries above which periodic garbage collection starts (`gc_thresh1`).
    pub keep: Option<u32>,
    /// Number of entries above which new entries trigger garbage collection (`gc_thresh2`).
    pub soft_limit: Option<u32>,
    /// Maximum number of entries (`gc_thresh3`). Packets to further neighbours are dropped.
    pub limit: Option<u32>,
    /// Number of entries.
    pub entries: Option<u32>,
}

impl Netlink {
    /// The neighbour tables. Equals `ip ntable show`.
    ///
    /// # Errors
    /// [`NetlinkError`] if the kernel's reply is lost or cannot be decoded.
    /// # Source
    /// `neightbl_fill_info`, net/core/neighbour.c.
    #[doc(alias = "RTM_GETNEIGHTBL")]
    pub fn neighbour_tables(&mut self) -> Result<Listing<NeighbourTable>, NetlinkError> {
        let request = Request::dump(RTM_GETNEIGHTBL, &[AF_UNSPEC, 0, 0, 0]);
        let about = NetlinkError::about(Action::List, RequestTarget::NeighbourTables);
        self.list_messages(request, decode_table).map_err(about)
    }
}

/// A table; `None` for the messages with the parameters of one interface.
fn decode_table(message: Message<'_>) -> Result<Option<NeighbourTable>, Malformed> {
    if message.kind != RTM_NEWNEIGHTBL {
        return Ok(None);
    }
    let (_, rest) = split::<TABLE_HEADER_BYTES>("neighbour table header", 0, message.body)?;
    let mut table = NeighbourTable::default();
    let mut is_table = false;
    for attribute in attributes(rest, TABLE_HEADER_BYTES) {
        let attribute = attribute?;
        match attribute.kind {
            NDTA_NAME => table.name = attribute.text(),
            NDTA_THRESH1 => table.keep = Some(attribute.u32()?),
            NDTA_THRESH2 => table.soft_limit = Some(attribute.u32()?),
            NDTA_THRESH3 => table.limit = Some(attribute.u32()?),
            NDTA_CONFIG => {
                // `struct ndt_config`: two 16-bit lengths, then the number of entries.
                let [_, _, _, _, e0, e1, e2, e3] = attribute.array()?;
                table.entries = Some(u32::from_ne_bytes([e0, e1, e2, e3]));
                is_table = true;
            }
            _ => {}
        }
    }
    Ok(is_table.then_some(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `get` and `del` encode only the key: strict kernels reject other attributes.
    #[test]
    fn get_requests_contain_only_the_key() {
        let neigh = Neigh::on(IfIndex(3), [192, 0, 2, 1]).state(NeighState::Stale);
        let mut request = Request::default();
        Object::encode(&neigh, Verb::Get, &mut request).expect("fit");
        let kinds: Vec<_> = attributes(&request.body()[NeighHeader::BYTES..], 0)
            .map(|attribute| attribute.expect("whole").kind)
            .collect();
        assert_eq!(kinds, [crate::uapi::NDA_DST]);
        assert_eq!(request.body()[8..12], [0; 4]);
    }
}
