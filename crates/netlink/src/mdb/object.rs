use std::net::IpAddr;

use super::source::Sources;
use super::{MdbGroup, MdbSource, Timer};
use crate::interface::IfIndex;
use crate::route::RouteProtocol;
use crate::table::{attributes, flag_set, names};
use crate::uapi::{
    MDB_FLAGS_BLOCKED, MDB_FLAGS_FAST_LEAVE, MDB_FLAGS_OFFLOAD, MDB_FLAGS_STAR_EXCL, MDB_PERMANENT,
    MDB_TEMPORARY,
};

attributes! {
    /// A multicast group that is asked for behind a port of a bridge: what is wanted of one, or what the kernel
    /// told of one.
    ///
    /// Equals `bridge mdb add dev DEV port PORT grp GRP [permanent | temp] [src SRC] [vid VID] …`.
    ///
    /// # Kernel
    /// A mode, a list of senders or a protocol is for Linux 6.2 and later; so is `replace`.
    /// # Source
    /// `br_mdb_add` and `nla_put_mdb_entry`, net/bridge/br_mdb.c.
    pub struct Mdb {
        @header {
            /// The bridge.
            "dev" dev: IfIndex;
            /// The port; the bridge where the host itself asks.
            "port" port: IfIndex;
            /// The group.
            "grp" grp: MdbGroup;
            /// Its VLAN.
            "vid" vid: u16;
            /// How long it stays; made without it is temporary.
            state: MdbState;
            /// What became of it. Told only.
            flags: MdbFlags;
        }
        @own read_word show_words;
        /// Until it is forgotten. Told only.
        timer: Timer = MDBA_MDB_EATTR_TIMER;
        /// The senders that are meant by `filter_mode`.
        source_list: Vec<MdbSource> as Sources = MDBA_MDB_EATTR_SRC_LIST;
        /// Whether the senders are those that are asked for or those that are not.
        "filter_mode" filter_mode: FilterMode = MDBA_MDB_EATTR_GROUP_MODE;
        /// The only sender that is asked for.
        "src" src: IpAddr = MDBA_MDB_EATTR_SOURCE;
        /// Who made it.
        "proto" protocol: RouteProtocol = MDBA_MDB_EATTR_RTPROT;
    }
}

names! {
    /// How long a group stays at a port.
    pub enum MdbState: u8 {
        /// Until nobody asks for it any more.
        Temporary = MDB_TEMPORARY, "temp";
        /// Until it is removed.
        Permanent = MDB_PERMANENT, "permanent";
    }
}

names! {
    /// What a list of senders means (`MCAST_EXCLUDE`, `MCAST_INCLUDE`).
    pub enum FilterMode: u8 {
        /// All but these are asked for.
        Exclude = 0, "exclude";
        /// These are asked for.
        Include = 1, "include";
    }
}

flag_set! {
    /// What became of a group at a port.
    pub struct MdbFlags: u8 {
        /// A device forwards by it.
        OFFLOAD = MDB_FLAGS_OFFLOAD, "offload";
        /// It is forgotten at once when somebody leaves.
        FAST_LEAVE = MDB_FLAGS_FAST_LEAVE, "fast_leave";
        /// Made because another port asks for all senders.
        STAR_EXCL = MDB_FLAGS_STAR_EXCL, "added_by_star_ex";
        /// The sender is not asked for.
        BLOCKED = MDB_FLAGS_BLOCKED, "blocked";
    }
}

impl Mdb {
    /// The group at a port of a bridge.
    pub fn on(dev: IfIndex, port: IfIndex, grp: MdbGroup) -> Self {
        Self::new().dev(dev).port(port).grp(grp)
    }
}
