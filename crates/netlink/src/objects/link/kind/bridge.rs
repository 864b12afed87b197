//! Bridges and their ports.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::kinds::KindSettings;
use super::vlan::VlanProtocol;
use crate::codec::{Attribute, Malformed, Request};
use crate::schema::{
    AttributeCodec, AttributeType, BigEndian, Flag, InvalidValue, MaskedBitField, Native, Parsed,
    attribute_set, field_values, fixed_size, number_enum, switches, text_field_values, text_form,
};
use crate::values::interface::{IfIndex, MacAddress};

attribute_set! {
    /// A software switch. Times are in hundredths of a second, as in `ip(8)`.
    ///
    /// Equals `ip link add NAME type bridge [vlan_filtering on] …`.
    ///
    /// # Source
    /// `br_policy`, net/bridge/br_netlink.c.
    pub struct Bridge {
        "forward_delay" forward_delay: u32 = IFLA_BR_FORWARD_DELAY, 100 per second;
        /// Hello interval.
        "hello_time" hello_time: u32 = IFLA_BR_HELLO_TIME, 100 per second;
        /// Maximum age of a hello packet.
        "max_age" max_age: u32 = IFLA_BR_MAX_AGE, 100 per second;
        /// Ageing time of learned addresses.
        "ageing_time" ageing_time: u32 = IFLA_BR_AGEING_TIME, 100 per second;
        /// Spanning tree protocol: 0 off, 1 in the kernel, 2 in a daemon.
        "stp_state" stp_state: u32 = IFLA_BR_STP_STATE;
        /// Its spanning tree priority.
        "priority" priority: u16 = IFLA_BR_PRIORITY;
        "vlan_filtering" vlan_filtering: bool = IFLA_BR_VLAN_FILTERING;
        /// EtherType of its VLAN tags.
        "vlan_protocol" vlan_protocol: VlanProtocol as BigEndian = IFLA_BR_VLAN_PROTOCOL;
        /// Its bridge id. Read-only.
        bridge_id @reported: BridgeId = IFLA_BR_BRIDGE_ID;
        /// Bridge id of the root. Read-only.
        root_id @reported: BridgeId = IFLA_BR_ROOT_ID;
        /// The root port; 0 is none. Read-only.
        root_port @reported: u16 = IFLA_BR_ROOT_PORT;
        /// Path cost to the root. Read-only.
        root_path_cost @reported: u32 = IFLA_BR_ROOT_PATH_COST;
        /// Whether a topology change is in progress. Read-only.
        topology_change @reported: bool = IFLA_BR_TOPOLOGY_CHANGE;
        /// Whether it detected a topology change. Read-only.
        topology_change_detected @reported: bool = IFLA_BR_TOPOLOGY_CHANGE_DETECTED;
        /// Hello timer. Read-only.
        hello_timer @reported: Centiseconds = IFLA_BR_HELLO_TIMER, 100 per second;
        /// Topology change notification timer. Read-only.
        tcn_timer @reported: Centiseconds = IFLA_BR_TCN_TIMER, 100 per second;
        /// Topology change timer. Read-only.
        topology_change_timer @reported: Centiseconds = IFLA_BR_TOPOLOGY_CHANGE_TIMER, 100 per second;
        /// Garbage collection timer. Read-only.
        gc_timer @reported: Centiseconds = IFLA_BR_GC_TIMER, 100 per second;
        /// Default PVID of new ports; 0 is none.
        "vlan_default_pvid" vlan_default_pvid: u16 = IFLA_BR_VLAN_DEFAULT_PVID;
        "vlan_stats_enabled" vlan_stats_enabled: bool = IFLA_BR_VLAN_STATS_ENABLED;
        /// Statistics per VLAN and port; settable while it has no ports.
        "vlan_stats_per_port" vlan_stats_per_port: bool = IFLA_BR_VLAN_STATS_PER_PORT;
        /// Mask of the link-local groups that it forwards.
        "group_fwd_mask" group_fwd_mask: u16 = IFLA_BR_GROUP_FWD_MASK;
        /// Destination of spanning tree packets.
        "group_address" group_addr: MacAddress = IFLA_BR_GROUP_ADDR;
        /// Flush all learned addresses. Write-only.
        "fdb_flush" fdb_flush: bool as Flag = IFLA_BR_FDB_FLUSH;
        /// Further switches.
        options: BridgeOptions as MaskedBitField = IFLA_BR_MULTI_BOOLOPT, Flatten;
        /// Number of learned addresses. Read-only; since Linux 6.7.
        fdb_n_learned @reported: u32 = IFLA_BR_FDB_N_LEARNED;
        /// Maximum number of learned addresses; 0 is no limit. Since Linux 6.7.
        "fdb_max_learned" fdb_max_learned: u32 = IFLA_BR_FDB_MAX_LEARNED;
        /// Multicast router: 0 no, 1 if it sees queries, 2 yes.
        "mcast_router" mcast_router: u8 = IFLA_BR_MCAST_ROUTER;
        "mcast_snooping" mcast_snooping: bool = IFLA_BR_MCAST_SNOOPING;
        /// Whether queries use its own IP address.
        "mcast_query_use_ifaddr" mcast_query_use_ifaddr: bool = IFLA_BR_MCAST_QUERY_USE_IFADDR;
        /// Whether it sends queries.
        "mcast_querier" mcast_querier: bool = IFLA_BR_MCAST_QUERIER;
        /// Elasticity of the hash of groups; without effect since Linux 5.0.
        "mcast_hash_elasticity" mcast_hash_elasticity: u32 = IFLA_BR_MCAST_HASH_ELASTICITY;
        /// Maximum number of multicast groups.
        "mcast_hash_max" mcast_hash_max: u32 = IFLA_BR_MCAST_HASH_MAX;
        /// Number of queries after a listener left.
        "mcast_last_member_count" mcast_last_member_cnt: u32 = IFLA_BR_MCAST_LAST_MEMBER_CNT;
        /// Number of startup queries.
        "mcast_startup_query_count" mcast_startup_query_cnt: u32 = IFLA_BR_MCAST_STARTUP_QUERY_CNT;
        /// Interval between queries after a listener left.
        "mcast_last_member_interval" mcast_last_member_intvl: u64 = IFLA_BR_MCAST_LAST_MEMBER_INTVL, 100 per second;
        /// Membership interval without reports.
        "mcast_membership_interval" mcast_membership_intvl: u64 = IFLA_BR_MCAST_MEMBERSHIP_INTVL, 100 per second;
        /// Time during which queries of another querier suppress its own.
        "mcast_querier_interval" mcast_querier_intvl: u64 = IFLA_BR_MCAST_QUERIER_INTVL, 100 per second;
        "mcast_query_interval" mcast_query_intvl: u64 = IFLA_BR_MCAST_QUERY_INTVL, 100 per second;
        "mcast_query_response_interval"
        mcast_query_response_intvl: u64 = IFLA_BR_MCAST_QUERY_RESPONSE_INTVL, 100 per second;
        /// Interval between startup queries.
        "mcast_startup_query_interval"
        mcast_startup_query_intvl: u64 = IFLA_BR_MCAST_STARTUP_QUERY_INTVL, 100 per second;
        /// IGMP and MLD statistics.
        "mcast_stats_enabled" mcast_stats_enabled: bool = IFLA_BR_MCAST_STATS_ENABLED;
        /// Version of IGMP: 2 or 3.
        "mcast_igmp_version" mcast_igmp_version: u8 = IFLA_BR_MCAST_IGMP_VERSION;
        /// Version of MLD: 1 or 2.
        "mcast_mld_version" mcast_mld_version: u8 = IFLA_BR_MCAST_MLD_VERSION;
        /// Whether iptables processes its packets.
        "nf_call_iptables" nf_call_iptables: bool = IFLA_BR_NF_CALL_IPTABLES;
        /// Whether ip6tables processes its packets.
        "nf_call_ip6tables" nf_call_ip6tables: bool = IFLA_BR_NF_CALL_IP6TABLES;
        /// Whether arptables processes its packets.
        "nf_call_arptables" nf_call_arptables: bool = IFLA_BR_NF_CALL_ARPTABLES;
    }
}

impl KindSettings for Bridge {}

impl KindSettings for BridgePort {}

switches! {
    /// Further switches of a bridge.
    ///
    /// # Source
    /// `enum br_boolopt_id`, include/uapi/linux/if_bridge.h.
    pub struct BridgeOptions {
        /// No learning from link-local packets.
        "no_linklocal_learn" no_linklocal_learn = 0x1;
        "mcast_vlan_snooping" mcast_vlan_snooping = 0x2;
        /// Multiple spanning trees; settable while it has no ports. Since Linux 5.18.
        "mst_enabled" mst_enabled = 0x4;
    }
}

attribute_set! {
    /// Settings of a bridge port. Times are in hundredths of a second.
    ///
    /// Equals `ip link set NAME type bridge_slave learning off …` and `bridge link set dev NAME learning off …`.
    ///
    /// # Source
    /// `br_port_policy`, net/bridge/br_netlink.c.
    pub struct BridgePort {
        /// Its spanning tree state.
        "state" state: PortState = IFLA_BRPORT_STATE;
        /// Its spanning tree priority: 0 to 63.
        "priority" [0..=63] priority: u16 = IFLA_BRPORT_PRIORITY;
        /// Its path cost.
        "cost" cost: u32 = IFLA_BRPORT_COST;
        /// Hairpin mode: packets may leave by the port of arrival.
        "hairpin" hairpin: bool = IFLA_BRPORT_MODE;
        /// BPDU guard: it is disabled if a spanning tree packet arrives.
        "guard" guard: bool = IFLA_BRPORT_GUARD;
        /// Root block: it cannot become the root port.
        "root_block" root_block: bool = IFLA_BRPORT_PROTECT;
        /// Fast leave: groups are deleted as soon as a listener leaves.
        "fastleave" | "mcast_fast_leave" fastleave: bool = IFLA_BRPORT_FAST_LEAVE;
        /// Address learning.
        "learning" learning: bool = IFLA_BRPORT_LEARNING;
        /// Flooding of unknown unicast.
        "flood" flood: bool = IFLA_BRPORT_UNICAST_FLOOD;
        /// Its port id, with the priority. Read-only.
        id @reported: u16 = IFLA_BRPORT_ID;
        /// Its port number. Read-only.
        no @reported: u16 = IFLA_BRPORT_NO;
        /// Port id of the designated port. Read-only.
        designated_port @reported: u16 = IFLA_BRPORT_DESIGNATED_PORT;
        /// Path cost of the designated port. Read-only.
        designated_cost @reported: u16 = IFLA_BRPORT_DESIGNATED_COST;
        /// The designated bridge. Read-only.
        bridge_id @reported: BridgeId = IFLA_BRPORT_BRIDGE_ID;
        /// The root bridge. Read-only.
        root_id @reported: BridgeId = IFLA_BRPORT_ROOT_ID;
        /// Hold timer. Read-only.
        hold_timer @reported: Centiseconds = IFLA_BRPORT_HOLD_TIMER, 100 per second;
        /// Message age timer. Read-only.
        message_age_timer @reported: Centiseconds = IFLA_BRPORT_MESSAGE_AGE_TIMER, 100 per second;
        /// Forward delay timer. Read-only.
        forward_delay_timer @reported: Centiseconds = IFLA_BRPORT_FORWARD_DELAY_TIMER, 100 per second;
        /// Whether a topology change must be acknowledged. Read-only.
        topology_change_ack @reported: bool = IFLA_BRPORT_TOPOLOGY_CHANGE_ACK;
        /// Whether a spanning tree packet is pending. Read-only.
        config_pending @reported: bool = IFLA_BRPORT_CONFIG_PENDING;
        /// Flush the addresses learned here. Write-only.
        "fdb_flush" fdb_flush: bool as Flag = IFLA_BRPORT_FLUSH;
        "proxy_arp" proxy_arp: bool = IFLA_BRPORT_PROXYARP;
        /// ARP proxy according to IEEE 802.11 and Hotspot 2.0.
        "proxy_arp_wifi" proxy_arp_wifi: bool = IFLA_BRPORT_PROXYARP_WIFI;
        /// Multicast router behind it: 0 no, 1 if it sees queries, 2 yes, 3 temporarily.
        "mcast_router" multicast_router: u8 = IFLA_BRPORT_MULTICAST_ROUTER;
        /// Flooding of unregistered multicast.
        "mcast_flood" mcast_flood: bool = IFLA_BRPORT_MCAST_FLOOD;
        "bcast_flood" bcast_flood: bool = IFLA_BRPORT_BCAST_FLOOD;
        /// Multicast to unicast conversion.
        "mcast_to_unicast" mcast_to_unicast: bool = IFLA_BRPORT_MCAST_TO_UCAST;
        /// Neighbour suppression: the bridge answers for known neighbours.
        "neigh_suppress" neigh_suppress: bool = IFLA_BRPORT_NEIGH_SUPPRESS;
        /// Neighbour suppression per VLAN. Since Linux 6.4.
        "neigh_vlan_suppress" neigh_vlan_suppress: bool = IFLA_BRPORT_NEIGH_VLAN_SUPPRESS;
        /// Mask of the link-local groups that it forwards.
        "group_fwd_mask" group_fwd_mask: u16 = IFLA_BRPORT_GROUP_FWD_MASK;
        /// VLAN to tunnel mapping.
        "vlan_tunnel" vlan_tunnel: bool = IFLA_BRPORT_VLAN_TUNNEL;
        /// Isolated from other isolated ports.
        "isolated" isolated: bool = IFLA_BRPORT_ISOLATED;
        /// Locked: only known source addresses are accepted.
        "locked" locked: bool = IFLA_BRPORT_LOCKED;
        /// MAC authentication bypass: unknown sources get locked entries. Since Linux 6.2.
        "mab" mab: bool = IFLA_BRPORT_MAB;
        /// Backup port without carrier; 0 is none.
        "backup_port" backup_port: IfIndex = IFLA_BRPORT_BACKUP_PORT;
        /// Nexthop id of packets redirected to the backup port; 0 is none. Since Linux 6.5.
        "backup_nhid" backup_nhid: u32 = IFLA_BRPORT_BACKUP_NHID;
        /// Maximum number of hosts for explicit host tracking.
        "mcast_eht_hosts_limit" mcast_eht_hosts_limit: u32 = IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT;
        /// Number of tracked hosts. Read-only.
        mcast_eht_hosts_cnt @reported: u32 = IFLA_BRPORT_MCAST_EHT_HOSTS_CNT;
        /// Number of multicast groups. Read-only; since Linux 6.3.
        mcast_n_groups @reported: u32 = IFLA_BRPORT_MCAST_N_GROUPS;
        /// Maximum number of multicast groups; 0 is no limit. Since Linux 6.3.
        "mcast_max_groups" mcast_max_groups: u32 = IFLA_BRPORT_MCAST_MAX_GROUPS;
    }
}

number_enum! {
    /// Spanning tree state of a bridge port.
    pub enum PortState: u8 {
        /// No traffic.
        Disabled = 0, "disabled";
        /// Listens to spanning tree packets only.
        Listening = 1, "listening";
        /// Learns addresses.
        Learning = 2, "learning";
        /// Forwards packets.
        Forwarding = 3, "forwarding";
        /// Blocked to break a loop.
        Blocking = 4, "blocking";
    }
}

/// A bridge id (`struct ifla_bridge_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BridgeId {
    /// Its priority; lower is preferred.
    pub priority: u16,
    /// Its hardware address.
    pub address: MacAddress,
}

impl fmt::Display for BridgeId {
    /// Formats it like `ip(8)`: without leading zeros in the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.address.0;
        write!(f, "{:04x}.{first:x}", self.priority)?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:x}"))
    }
}

impl FromStr for BridgeId {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Parsed<Self> {
        let parts = text.split_once('.').and_then(|(priority, address)| {
            Some(Self {
                priority: u16::from_str_radix(priority, 16).ok()?,
                address: address.parse().ok()?,
            })
        });
        parts.ok_or_else(|| InvalidValue::new("bridge id", Some(text)))
    }
}

text_form!(BridgeId);
text_field_values!(BridgeId);

impl AttributeCodec<BridgeId> for Native {
    const TYPE: AttributeType = AttributeType::Bytes;

    fn encode(value: &BridgeId, kind: u16, request: &mut Request) {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&value.priority.to_be_bytes());
        bytes[2..].copy_from_slice(&value.address.0);
        request.attribute(kind, &bytes);
    }

    fn decode(attribute: Attribute<'_>) -> Result<BridgeId, Malformed> {
        let [p0, p1, address @ ..] = attribute.array::<8>()?;
        Ok(BridgeId {
            priority: u16::from_be_bytes([p0, p1]),
            address: MacAddress(address),
        })
    }
}

field_values! {
    Centiseconds: Unsigned(8), |it| it.0.to_ne_bytes(), |bytes| Self(u64::from_ne_bytes(bytes));
}

/// A time in hundredths of a second; in JSON in seconds, as in `ip(8)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Centiseconds(pub u64);

impl Serialize for Centiseconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0 as f64 / 100.0)
    }
}

impl<'de> Deserialize<'de> for Centiseconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        let time = Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)?;
        Ok(Self(((time.as_micros() + 5000) / 10_000) as u64))
    }
}

fixed_size! {
    Native: Centiseconds = Number, |time| time.0.to_ne_bytes(), |bytes| Centiseconds(u64::from_ne_bytes(bytes));
}
