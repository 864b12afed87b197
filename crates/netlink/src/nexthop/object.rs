use std::net::IpAddr;

use super::{Group, GroupType, ResilientArgs};
use crate::addr::Scope;
use crate::interface::IfIndex;
use crate::prefix::Family;
use crate::route::{Encap, EncapCode, RouteFlags, RouteProtocol};
use crate::table::{Boxed, Flag, attributes};

attributes! {
    /// A next hop, or a group of them, that routes name by its number ([`Route::nhid`](crate::Route::nhid)).
    ///
    /// Routes that share one are added about one and a half times as fast, and change all at once with it.
    /// Equals `ip nexthop add id ID via GATEWAY dev NAME` and `ip nexthop add id ID group 1/2`.
    ///
    /// # Kernel
    /// Linux 5.3; resilient groups 5.13.
    /// # Source
    /// `rtm_to_nh_config` and `nh_fill_node`, net/ipv4/nexthop.c.
    pub struct Nexthop {
        @header {
            /// Its family; that of the gateway if not said.
            family: Family;
            /// How far away it is. Told only.
            scope: Scope;
            /// Who has made it.
            "proto" protocol: RouteProtocol;
            /// It is reached on the link whatever the addresses there.
            onlink: bool;
            /// What the kernel tells beside. Told only.
            flags: RouteFlags;
        }
        /// Its number; without one the kernel gives it one.
        "id" id: u32 = NHA_ID;
        /// The members it has, if it is a group.
        "group" group: Group = NHA_GROUP;
        /// How a group shares traffic.
        #[serde(rename = "type")]
        "type" group_type: GroupType = NHA_GROUP_TYPE;
        /// How a resilient group moves flows.
        resilient_args: Box<ResilientArgs> as Boxed = NHA_RES_GROUP;
        /// Whether it swallows packets.
        blackhole: bool as Flag = NHA_BLACKHOLE;
        /// The router.
        "via" gateway: IpAddr = NHA_GATEWAY;
        /// The link that packets leave by.
        "dev" dev: IfIndex = NHA_OIF;
        /// What is put around each packet.
        encap: Box<Encap> as EncapCode = NHA_ENCAP;
        /// Whether it is for entries of a bridge's forwarding database.
        fdb: bool as Flag = NHA_FDB;
        /// In a question: groups alone.
        groups: bool as Flag = NHA_GROUPS;
        /// In a question: those on links of this bridge, bond or VRF.
        master: IfIndex = NHA_MASTER;
    }
}

impl Nexthop {
    /// The nexthop of this number.
    pub fn numbered(id: u32) -> Self {
        Self::new().id(id)
    }
}
