//! Forwarding entries are removed by what they are like, all in one message.

use crate::codec::Request;
use crate::error::{Action, Cause, NetlinkError, Subject};
use crate::handle::Netlink;
use crate::interface::IfIndex;
use crate::neigh::Header;
use crate::object::Unfit;
use crate::table::{Table, attributes};
use crate::uapi::{
    AF_BRIDGE, NDA_NDM_FLAGS_MASK, NDA_NDM_STATE_MASK, NLM_F_ACK, NLM_F_BULK, NTF_EXT_LEARNED,
    NTF_MASTER, NTF_OFFLOADED, NTF_SELF, NTF_STICKY, NTF_USE, NUD_NOARP, NUD_PERMANENT,
    RTM_DELNEIGH,
};

/// A VLAN has 12 bits, of which all ones are none.
const MAX_VLAN: u16 = 4094;

attributes! {
    /// Which forwarding entries are to be removed.
    ///
    /// Equals the words behind `bridge fdb flush`; what is not said counts for nothing.
    ///
    /// # Source
    /// `rtnl_fdb_del`, net/core/rtnetlink.c; `br_fdb_delete_bulk`, net/bridge/br_fdb.c.
    pub struct FdbFlush {
        @header {
            /// The bridge or another device with a table, or a port of a bridge.
            "dev" dev: IfIndex;
            /// In the table of the device itself, as where no table is said.
            "self" own: bool;
            /// In the table of the bridge that the device is a port of.
            "master" master: bool;
            /// Whether they are permanent.
            "permanent" permanent: bool;
            /// Whether they are static.
            "static" fixed: bool;
            /// Whether they are learned and pass away.
            "dynamic" dynamic: bool;
            /// Whether somebody has added them.
            "added_by_user" added_by_user: bool;
            /// Whether a program looks after them.
            "extern_learn" extern_learn: bool;
            /// Whether they stay at their port.
            "sticky" sticky: bool;
            /// Whether a device forwards by them.
            "offloaded" offloaded: bool;
        }
        /// The port they are at.
        "brport" port: IfIndex = NDA_IFINDEX;
        /// Their VLAN.
        "vlan" vlan: u16 = NDA_VLAN;
    }
}

impl FdbFlush {
    fn put(&self, request: &mut Request) -> Result<(), Unfit> {
        let dev = self.dev.filter(|dev| dev.0 != 0);
        let dev = dev.ok_or_else(|| Unfit::new("no device is given"))?;
        if let Some(vlan) = self.vlan.filter(|vlan| *vlan > MAX_VLAN) {
            return Err(Unfit::new(format!("VLAN {vlan} is above {MAX_VLAN}")));
        }
        let (state, state_mask) = self.states();
        let (flags, flags_mask) = self.flags();
        let header = Header {
            family: AF_BRIDGE,
            index: dev,
            state,
            flags: flags | self.tables(),
        };
        request.begin(RTM_DELNEIGH, NLM_F_ACK | NLM_F_BULK, &header.emit());
        Table::put(self, request);
        if flags_mask != 0 {
            request.attribute(NDA_NDM_FLAGS_MASK, &[flags_mask]);
        }
        if state_mask != 0 {
            request.attribute(NDA_NDM_STATE_MASK, &state_mask.to_ne_bytes());
        }
        Ok(())
    }

    /// In which tables, `NTF_SELF` and `NTF_MASTER`.
    fn tables(&self) -> u8 {
        match (self.own == Some(true), self.master == Some(true)) {
            (true, true) => NTF_SELF | NTF_MASTER,
            (false, true) => NTF_MASTER,
            _ => NTF_SELF,
        }
    }

    /// The states they are to have, of those in the second. Permanent ones are static as well, so that to be
    /// static or dynamic is also not to be permanent (`fdb_flush`, bridge/fdb.c).
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

    /// The flags they are to have, of those in the second.
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
    /// Removes the forwarding entries that are like `which`, in one message. Equals `bridge fdb flush`.
    ///
    /// Since Linux 6.0 for bridges, and 6.7 for VXLANs.
    ///
    /// # Errors
    /// `Cause::Refused` with EOPNOTSUPP for a device that cannot, e.g. a port for its own table; with EINVAL
    /// by older kernels. `Cause::Unfit` without a device.
    /// # Privileges
    /// `CAP_NET_ADMIN`.
    /// # Source
    /// As [`FdbFlush`].
    pub fn flush_fdb(&mut self, which: &FdbFlush) -> Result<(), NetlinkError> {
        let mut request = self.request();
        let told = match which.put(&mut request) {
            Ok(()) => self.socket.tell(&mut request),
            Err(unfit) => Err(Cause::Unfit(unfit)),
        };
        self.scratch = request;
        let subject = Subject::ForwardingEntriesOf(which.dev.unwrap_or_default());
        told.map_err(NetlinkError::about(Action::Flush, subject))
    }
}
