use super::data::Data;
use super::{BridgeId, Centiseconds, VlanProtocol};
use crate::interface::MacAddress;
use crate::table::{Be, Flag, Masked, attributes, bits};

attributes! {
    /// A switch in software. Times are in hundredths of a second, as `ip(8)` takes them.
    ///
    /// Equals `ip link add NAME type bridge [vlan_filtering on] …`.
    ///
    /// # Source
    /// `br_policy`, net/bridge/br_netlink.c.
    pub struct Bridge {
        /// How long a port listens and learns before it forwards.
        "forward_delay" forward_delay: u32 = IFLA_BR_FORWARD_DELAY;
        /// Between two hello packets of the root.
        "hello_time" hello_time: u32 = IFLA_BR_HELLO_TIME;
        /// How old a hello packet may be.
        "max_age" max_age: u32 = IFLA_BR_MAX_AGE;
        /// How long an address is remembered that is silent.
        "ageing_time" ageing_time: u32 = IFLA_BR_AGEING_TIME;
        /// Whether it speaks the spanning tree protocol: 0 no, 1 the kernel, 2 a daemon.
        "stp_state" stp_state: u32 = IFLA_BR_STP_STATE;
        /// Its priority to become the root.
        "priority" priority: u16 = IFLA_BR_PRIORITY;
        /// Whether packets are kept within their VLAN.
        "vlan_filtering" vlan_filtering: bool = IFLA_BR_VLAN_FILTERING;
        /// EtherType of its VLAN tags.
        "vlan_protocol" vlan_protocol: VlanProtocol as Be = IFLA_BR_VLAN_PROTOCOL;
        /// Its own number in the spanning tree. Told only.
        bridge_id: BridgeId = IFLA_BR_BRIDGE_ID;
        /// That of the root. Told only.
        root_id: BridgeId = IFLA_BR_ROOT_ID;
        /// The port towards the root; 0 for none. Told only.
        root_port: u16 = IFLA_BR_ROOT_PORT;
        /// Cost of the way to the root. Told only.
        root_path_cost: u32 = IFLA_BR_ROOT_PATH_COST;
        /// Whether the tree is changing. Told only.
        topology_change: bool = IFLA_BR_TOPOLOGY_CHANGE;
        /// Whether it has seen a change of the tree. Told only.
        topology_change_detected: bool = IFLA_BR_TOPOLOGY_CHANGE_DETECTED;
        /// What is left of its timers. Told only.
        hello_timer: Centiseconds = IFLA_BR_HELLO_TIMER;
        /// Until it tells the root of a change again. Told only.
        tcn_timer: Centiseconds = IFLA_BR_TCN_TIMER;
        /// Until a change is over. Told only.
        topology_change_timer: Centiseconds = IFLA_BR_TOPOLOGY_CHANGE_TIMER;
        /// Until old addresses are forgotten. Told only.
        gc_timer: Centiseconds = IFLA_BR_GC_TIMER;
        /// VLAN of untagged packets at new ports; 0 for none.
        "vlan_default_pvid" vlan_default_pvid: u16 = IFLA_BR_VLAN_DEFAULT_PVID;
        /// Whether packets are counted by VLAN.
        "vlan_stats_enabled" vlan_stats_enabled: bool = IFLA_BR_VLAN_STATS_ENABLED;
        /// Whether they are counted by port as well; only while it has no port.
        "vlan_stats_per_port" vlan_stats_per_port: bool = IFLA_BR_VLAN_STATS_PER_PORT;
        /// Which link-local groups it forwards, a bit each.
        "group_fwd_mask" group_fwd_mask: u16 = IFLA_BR_GROUP_FWD_MASK;
        /// Where its spanning tree packets go.
        "group_address" group_addr: MacAddress = IFLA_BR_GROUP_ADDR;
        /// Forget all addresses it has learned. Said only.
        "fdb_flush" fdb_flush: bool as Flag = IFLA_BR_FDB_FLUSH;
        /// Its newer switches.
        options: BridgeOptions as Masked = IFLA_BR_MULTI_BOOLOPT, Spread;
        /// Addresses it has learned. Told only; since Linux 6.7.
        fdb_n_learned: u32 = IFLA_BR_FDB_N_LEARNED;
        /// Most addresses it learns; 0 for no limit. Since Linux 6.7.
        "fdb_max_learned" fdb_max_learned: u32 = IFLA_BR_FDB_MAX_LEARNED;
        /// Whether it takes itself for a multicast router: 0 no, 1 when it sees queries, 2 yes.
        "mcast_router" mcast_router: u8 = IFLA_BR_MCAST_ROUTER;
        /// Whether multicast goes only where it was asked for.
        "mcast_snooping" mcast_snooping: bool = IFLA_BR_MCAST_SNOOPING;
        /// Whether its queries have its own IP address.
        "mcast_query_use_ifaddr" mcast_query_use_ifaddr: bool = IFLA_BR_MCAST_QUERY_USE_IFADDR;
        /// Whether it sends queries.
        "mcast_querier" mcast_querier: bool = IFLA_BR_MCAST_QUERIER;
        /// Elasticity of the hash of groups; without effect since Linux 5.0.
        "mcast_hash_elasticity" mcast_hash_elasticity: u32 = IFLA_BR_MCAST_HASH_ELASTICITY;
        /// Most groups it follows.
        "mcast_hash_max" mcast_hash_max: u32 = IFLA_BR_MCAST_HASH_MAX;
        /// Queries before a group is given up that somebody left.
        "mcast_last_member_count" mcast_last_member_cnt: u32 = IFLA_BR_MCAST_LAST_MEMBER_CNT;
        /// Queries at its start.
        "mcast_startup_query_count" mcast_startup_query_cnt: u32 = IFLA_BR_MCAST_STARTUP_QUERY_CNT;
        /// Between queries for a group that somebody left.
        "mcast_last_member_interval" mcast_last_member_intvl: u64 = IFLA_BR_MCAST_LAST_MEMBER_INTVL;
        /// How long a group is followed that nobody reports.
        "mcast_membership_interval" mcast_membership_intvl: u64 = IFLA_BR_MCAST_MEMBERSHIP_INTVL;
        /// How long another's queries keep it from sending its own.
        "mcast_querier_interval" mcast_querier_intvl: u64 = IFLA_BR_MCAST_QUERIER_INTVL;
        /// Between its queries.
        "mcast_query_interval" mcast_query_intvl: u64 = IFLA_BR_MCAST_QUERY_INTVL;
        /// How long hosts may take to answer a query.
        "mcast_query_response_interval"
        mcast_query_response_intvl: u64 = IFLA_BR_MCAST_QUERY_RESPONSE_INTVL;
        /// Between its queries at its start.
        "mcast_startup_query_interval"
        mcast_startup_query_intvl: u64 = IFLA_BR_MCAST_STARTUP_QUERY_INTVL;
        /// Whether multicast packets of its own protocols are counted.
        "mcast_stats_enabled" mcast_stats_enabled: bool = IFLA_BR_MCAST_STATS_ENABLED;
        /// Version of IGMP: 2 or 3.
        "mcast_igmp_version" mcast_igmp_version: u8 = IFLA_BR_MCAST_IGMP_VERSION;
        /// Version of MLD: 1 or 2.
        "mcast_mld_version" mcast_mld_version: u8 = IFLA_BR_MCAST_MLD_VERSION;
        /// Whether iptables sees its packets.
        "nf_call_iptables" nf_call_iptables: bool = IFLA_BR_NF_CALL_IPTABLES;
        /// Whether ip6tables sees its packets.
        "nf_call_ip6tables" nf_call_ip6tables: bool = IFLA_BR_NF_CALL_IP6TABLES;
        /// Whether arptables sees its packets.
        "nf_call_arptables" nf_call_arptables: bool = IFLA_BR_NF_CALL_ARPTABLES;
    }
}

impl Data for Bridge {}

bits! {
    /// Newer switches of a bridge.
    ///
    /// # Source
    /// `enum br_boolopt_id`, include/uapi/linux/if_bridge.h.
    pub struct BridgeOptions {
        /// Whether it learns nothing from link-local packets.
        "no_linklocal_learn" no_linklocal_learn = 0x1;
        /// Whether it follows multicast groups by VLAN.
        "mcast_vlan_snooping" mcast_vlan_snooping = 0x2;
        /// Whether it keeps port states by spanning tree instance; only while it has no port. Since Linux 5.18.
        "mst_enabled" mst_enabled = 0x4;
    }
}
