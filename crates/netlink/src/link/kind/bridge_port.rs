use super::{BridgeId, Centiseconds};
use crate::interface::IfIndex;
use crate::table::{Flag, attributes, names};

attributes! {
    /// What a bridge keeps of a port. Times are in hundredths of a second.
    ///
    /// Equals `ip link set NAME type bridge_slave learning off …` and `bridge link set dev NAME learning off …`.
    ///
    /// # Source
    /// `br_port_policy`, net/bridge/br_netlink.c.
    pub struct BridgePort {
        /// Its state in the spanning tree.
        "state" state: PortState = IFLA_BRPORT_STATE;
        /// Its priority among the ports: 0 to 63.
        "priority" [0..=63] priority: u16 = IFLA_BRPORT_PRIORITY;
        /// Cost of the way through it.
        "cost" cost: u32 = IFLA_BRPORT_COST;
        /// Whether a packet may leave where it came in.
        "hairpin" hairpin: bool = IFLA_BRPORT_MODE;
        /// Whether it goes down when a spanning tree packet arrives.
        "guard" guard: bool = IFLA_BRPORT_GUARD;
        /// Whether it may not become the way to the root.
        "root_block" root_block: bool = IFLA_BRPORT_PROTECT;
        /// Whether a group is given up as soon as a host leaves it.
        "fastleave" | "mcast_fast_leave" fastleave: bool = IFLA_BRPORT_FAST_LEAVE;
        /// Whether addresses are learned here.
        "learning" learning: bool = IFLA_BRPORT_LEARNING;
        /// Whether packets to unknown addresses leave here.
        "flood" flood: bool = IFLA_BRPORT_UNICAST_FLOOD;
        /// Its number with its priority. Told only.
        id: u16 = IFLA_BRPORT_ID;
        /// Its number. Told only.
        no: u16 = IFLA_BRPORT_NO;
        /// Number and priority of the port that is nearest to the root here. Told only.
        designated_port: u16 = IFLA_BRPORT_DESIGNATED_PORT;
        /// Cost of the way from there to the root. Told only.
        designated_cost: u16 = IFLA_BRPORT_DESIGNATED_COST;
        /// The bridge that is nearest to the root here. Told only.
        bridge_id: BridgeId = IFLA_BRPORT_BRIDGE_ID;
        /// The root. Told only.
        root_id: BridgeId = IFLA_BRPORT_ROOT_ID;
        /// Until the next spanning tree packet may leave. Told only.
        hold_timer: Centiseconds = IFLA_BRPORT_HOLD_TIMER;
        /// Until what the port knows of the root is too old. Told only.
        message_age_timer: Centiseconds = IFLA_BRPORT_MESSAGE_AGE_TIMER;
        /// Until it goes on to its next state. Told only.
        forward_delay_timer: Centiseconds = IFLA_BRPORT_FORWARD_DELAY_TIMER;
        /// Whether a change of the tree is to be confirmed. Told only.
        topology_change_ack: bool = IFLA_BRPORT_TOPOLOGY_CHANGE_ACK;
        /// Whether a spanning tree packet is waiting. Told only.
        config_pending: bool = IFLA_BRPORT_CONFIG_PENDING;
        /// Forget the addresses learned here. Said only.
        "fdb_flush" fdb_flush: bool as Flag = IFLA_BRPORT_FLUSH;
        /// Whether it answers ARP requests for hosts that are elsewhere.
        "proxy_arp" proxy_arp: bool = IFLA_BRPORT_PROXYARP;
        /// As that, for what IEEE 802.11 and Hotspot 2.0 ask.
        "proxy_arp_wifi" proxy_arp_wifi: bool = IFLA_BRPORT_PROXYARP_WIFI;
        /// Whether a multicast router is behind it: 0 no, 1 when it sees queries, 2 yes, 3 for a while.
        "mcast_router" multicast_router: u8 = IFLA_BRPORT_MULTICAST_ROUTER;
        /// Whether multicast leaves here that nobody asked for.
        "mcast_flood" mcast_flood: bool = IFLA_BRPORT_MCAST_FLOOD;
        /// Whether broadcast leaves here.
        "bcast_flood" bcast_flood: bool = IFLA_BRPORT_BCAST_FLOOD;
        /// Whether multicast leaves as unicast to each who asked.
        "mcast_to_unicast" mcast_to_unicast: bool = IFLA_BRPORT_MCAST_TO_UCAST;
        /// Whether the bridge answers for neighbours it knows.
        "neigh_suppress" neigh_suppress: bool = IFLA_BRPORT_NEIGH_SUPPRESS;
        /// Whether that is decided by VLAN. Since Linux 6.4.
        "neigh_vlan_suppress" neigh_vlan_suppress: bool = IFLA_BRPORT_NEIGH_VLAN_SUPPRESS;
        /// Which link-local groups it forwards, a bit each.
        "group_fwd_mask" group_fwd_mask: u16 = IFLA_BRPORT_GROUP_FWD_MASK;
        /// Whether VLANs are mapped to tunnels here.
        "vlan_tunnel" vlan_tunnel: bool = IFLA_BRPORT_VLAN_TUNNEL;
        /// Whether nothing passes to other isolated ports.
        "isolated" isolated: bool = IFLA_BRPORT_ISOLATED;
        /// Whether only known addresses may send here.
        "locked" locked: bool = IFLA_BRPORT_LOCKED;
        /// Whether unknown ones are noted there. Since Linux 6.2.
        "mab" mab: bool = IFLA_BRPORT_MAB;
        /// The port that takes over when this one has no carrier; 0 for none.
        "backup_port" backup_port: IfIndex = IFLA_BRPORT_BACKUP_PORT;
        /// The nexthop that packets get which go there; 0 for none. Since Linux 6.5.
        "backup_nhid" backup_nhid: u32 = IFLA_BRPORT_BACKUP_NHID;
        /// Most hosts that are followed by explicit host tracking.
        "mcast_eht_hosts_limit" mcast_eht_hosts_limit: u32 = IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT;
        /// Hosts that are followed. Told only.
        mcast_eht_hosts_cnt: u32 = IFLA_BRPORT_MCAST_EHT_HOSTS_CNT;
        /// Groups here. Told only; since Linux 6.3.
        mcast_n_groups: u32 = IFLA_BRPORT_MCAST_N_GROUPS;
        /// Most groups here; 0 for no limit. Since Linux 6.3.
        "mcast_max_groups" mcast_max_groups: u32 = IFLA_BRPORT_MCAST_MAX_GROUPS;
    }
}

names! {
    /// State of a bridge's port in the spanning tree.
    pub enum PortState: u8 {
        /// Nothing passes.
        Disabled = 0, "disabled";
        /// Only spanning tree packets are heard.
        Listening = 1, "listening";
        /// Addresses are learned.
        Learning = 2, "learning";
        /// Packets pass.
        Forwarding = 3, "forwarding";
        /// Nothing passes, to break a loop.
        Blocking = 4, "blocking";
    }
}
