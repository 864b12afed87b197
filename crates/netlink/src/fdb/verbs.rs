//! How forwarding entries are spoken of.

use super::{Fdb, FdbFlags, FdbKey, FdbState};
use crate::codec::{Malformed, Message, Request, attributes};
use crate::error::Subject;
use crate::interface::{IfIndex, MacAddress};
use crate::neigh::{HEADER_BYTES, Header, Moments};
use crate::object::{Messages, Object, Unfit, Verb};
use crate::table::{Entry, Table};
use crate::uapi::{
    AF_BRIDGE, NDA_CACHEINFO, NDA_IFINDEX, NDA_MASTER, RTM_DELADDR, RTM_DELLINK, RTM_DELNEIGH,
    RTM_GETNEIGH, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
    RTNLGRP_LINK, RTNLGRP_NEIGH,
};

/// The last VLAN there is.
const MAX_VLAN: u16 = 4094;
/// The last network identifier there is.
const MAX_VNI: u32 = 0x00ff_ffff;

impl Object for Fdb {
    type Key = FdbKey;

    const MESSAGES: Messages = Messages {
        new: RTM_NEWNEIGH,
        del: RTM_DELNEIGH,
        get: RTM_GETNEIGH,
    };
    const HEADER_BYTES: usize = HEADER_BYTES;
    const GROUPS: &'static [u32] = &[
        RTNLGRP_NEIGH,
        RTNLGRP_LINK,
        RTNLGRP_IPV4_IFADDR,
        RTNLGRP_IPV6_IFADDR,
    ];
    const HAS_GET: bool = true;

    fn entries() -> &'static [Entry] {
        <Self as Table>::entries()
    }

    fn put(&self, verb: Verb, request: &mut Request) -> Result<(), Unfit> {
        let mut header = Header {
            family: AF_BRIDGE,
            ..Header::default()
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
        header.index = self.ifindex();
        header.flags = self.said_flags(verb).0;
        if verb == Verb::Get {
            request.begin(RTM_GETNEIGH, verb.flags(), &header.emit());
            Table::put(&self.key_only(), request);
            return Ok(());
        }
        header.state = self.state.unwrap_or(FdbState::Permanent).into();
        request.begin(Self::MESSAGES.of(verb), verb.flags(), &header.emit());
        Table::put(self, request);
        Ok(())
    }

    /// False for the neighbours of IPv4 and IPv6, which come in the same messages.
    fn parse_into(&mut self, body: &[u8]) -> Result<bool, Malformed> {
        let (header, rest) = Header::split(body)?;
        if header.family != AF_BRIDGE {
            return Ok(false);
        }
        self.clear();
        self.dev = Some(header.index);
        self.state = Some(FdbState::told(header.state));
        self.flags = Some(FdbFlags(header.flags));
        for attribute in attributes(rest, HEADER_BYTES) {
            let attribute = attribute?;
            if attribute.kind == NDA_CACHEINFO {
                let moments = Moments::take(attribute)?;
                self.used = Some(moments.used);
                self.updated = Some(moments.updated);
            } else {
                self.take(attribute)?;
            }
        }
        // A device that forwards without a bridge tells that it has none.
        self.master = self.master.filter(|master| master.0 != 0);
        Ok(true)
    }

    fn key(&self) -> Option<FdbKey> {
        let (dev, lladdr) = (self.dev?, self.lladdr?);
        let floods = lladdr.0[0] & 1 == 1 || lladdr == MacAddress([0; 6]);
        Some(FdbKey {
            // That it is at another port now is told in one message.
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
            return Table::matches(self, wanted);
        };
        // An entry of a bridge says so by naming the bridge.
        let mut own = self.flags.unwrap_or_default();
        if self.master.is_some() {
            own = own | FdbFlags::MASTER;
        }
        let wanted = Self {
            flags: self.flags,
            ..wanted.clone()
        };
        own.contains(flags) && Table::matches(self, &wanted)
    }

    fn is_same(&self, other: &Self) -> bool {
        *self
            == Self {
                used: self.used,
                updated: self.updated,
                ..other.clone()
            }
    }

    /// Without a word a bridge gives a port's own address to another port or to itself when the port leaves
    /// (`fdb_delete_local`, net/bridge/br_fdb.c), and the addresses that devices listen to come and go with
    /// links and addresses (`ndo_dflt_fdb_dump`, net/core/rtnetlink.c). Of groups that a program joins nothing
    /// is told until then.
    fn is_upset_by(message: Message<'_>) -> bool {
        matches!(
            message.kind,
            RTM_NEWLINK | RTM_DELLINK | RTM_NEWADDR | RTM_DELADDR
        )
    }

    /// An entry of a bridge is told by the bridge's name, and said by a flag.
    fn settable(self) -> Self {
        let place = match self.master {
            Some(_) => FdbFlags::MASTER,
            None => FdbFlags::SELF,
        };
        Self {
            flags: Some(self.flags.unwrap_or_default() | place),
            master: None,
            used: None,
            updated: None,
            ..self
        }
    }

    fn subject(&self) -> Subject {
        match self.lladdr {
            Some(lladdr) => Subject::ForwardingEntry(lladdr, self.ifindex()),
            None => Subject::ForwardingEntries,
        }
    }
}

impl Fdb {
    fn check(&self, verb: Verb) -> Result<(), Unfit> {
        if self.lladdr.is_none() {
            return Err(Unfit::new("no hardware address is given"));
        }
        let asked_of_bridge = verb == Verb::Get && self.master.is_some();
        if self.ifindex() == IfIndex(0) && !asked_of_bridge {
            return Err(Unfit::new("no interface is given for the forwarding entry"));
        }
        if let Some(vlan) = self.vlan.filter(|vlan| !(1..=MAX_VLAN).contains(vlan)) {
            return Err(Unfit::new(format!("VLAN {vlan} is not of 1 to {MAX_VLAN}")));
        }
        if let Some(vni) = self.vni.or(self.src_vni).filter(|vni| *vni > MAX_VNI) {
            return Err(Unfit::new(format!("VNI {vni} has more than 24 bits")));
        }
        if self.nhid.is_some() && (self.dst.is_some() || self.port.is_some() || self.vni.is_some())
        {
            return Err(Unfit::new(
                "a nexthop group takes the place of dst, port and vni",
            ));
        }
        Ok(())
    }

    /// Without a word on it an entry is the device's own.
    fn said_flags(&self, verb: Verb) -> FdbFlags {
        let said = self.flags.unwrap_or_default();
        let places = FdbFlags::SELF | FdbFlags::MASTER;
        let of_place = FdbFlags(said.0 & places.0);
        let said = if verb == Verb::Get { of_place } else { said };
        if of_place == FdbFlags::default() {
            said | FdbFlags::SELF
        } else {
            said
        }
    }

    /// What says which entry is meant.
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
