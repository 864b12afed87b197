//! Bonds and their ports.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::kinds::KindSettings;
use crate::schema::{Listed, Native, Nested, attribute_set, number_enum};
use crate::values::interface::{IfIndex, MacAddress};

attribute_set! {
    /// A bond of several links. Times are in milliseconds.
    ///
    /// Equals `ip link add NAME type bond mode active-backup miimon 100 …`.
    ///
    /// # Source
    /// `bond_policy` and `bond_changelink`, drivers/net/bonding/bond_netlink.c;
    /// Documentation/networking/bonding.rst.
    pub struct Bond {
        /// How packets are distributed over its ports. Settable while it is down and has none.
        "mode" mode: BondMode = IFLA_BOND_MODE;
        /// The active port; 0 is none.
        "active_slave" active_slave: IfIndex = IFLA_BOND_ACTIVE_SLAVE;
        /// Carrier polling interval; 0 is off.
        "miimon" miimon: u32 = IFLA_BOND_MIIMON, 1000 per second;
        /// Delay before a port with a new carrier is used.
        "updelay" updelay: u32 = IFLA_BOND_UPDELAY, 1000 per second;
        /// Delay before a port without a carrier is disabled.
        "downdelay" downdelay: u32 = IFLA_BOND_DOWNDELAY, 1000 per second;
        /// Interval between peer notifications after a failover.
        "peer_notify_delay" peer_notify_delay: u32 = IFLA_BOND_PEER_NOTIF_DELAY, 1000 per second;
        /// Whether the carrier is read with `netif_carrier_ok` instead of MII or ethtool.
        "use_carrier" use_carrier: bool = IFLA_BOND_USE_CARRIER;
        /// ARP monitoring interval; 0 is off.
        "arp_interval" arp_interval: u32 = IFLA_BOND_ARP_INTERVAL, 1000 per second;
        /// Targets of ARP monitoring.
        "arp_ip_target" arp_ip_target: Vec<Ipv4Addr> as Listed<Native> = IFLA_BOND_ARP_IP_TARGET;
        /// Targets of IPv6 monitoring.
        "ns_ip6_target" ns_ip6_target: Vec<Ipv6Addr> as Listed<Native> = IFLA_BOND_NS_IP6_TARGET;
        /// At which ports monitoring replies are validated.
        "arp_validate" arp_validate: ArpValidate = IFLA_BOND_ARP_VALIDATE;
        /// How many targets must reply.
        "arp_all_targets" arp_all_targets: ArpAllTargets = IFLA_BOND_ARP_ALL_TARGETS;
        /// Missed replies before a port is down.
        "arp_missed_max" arp_missed_max: u8 = IFLA_BOND_MISSED_MAX;
        /// The preferred port; 0 is none.
        "primary" primary: IfIndex = IFLA_BOND_PRIMARY;
        /// When the preferred port becomes active again.
        "primary_reselect" primary_reselect: PrimaryReselect = IFLA_BOND_PRIMARY_RESELECT;
        /// Which hardware address its ports have.
        "fail_over_mac" fail_over_mac: FailOverMac = IFLA_BOND_FAIL_OVER_MAC;
        /// The hash that selects the port of a packet.
        "xmit_hash_policy" xmit_hash_policy: XmitHashPolicy = IFLA_BOND_XMIT_HASH_POLICY;
        /// IGMP reports after a failover.
        "resend_igmp" resend_igmp: u32 = IFLA_BOND_RESEND_IGMP;
        /// Peer notifications after a failover.
        "num_grat_arp" | "num_unsol_na" num_peer_notif: u8 = IFLA_BOND_NUM_PEER_NOTIF;
        /// Whether inactive ports accept duplicate frames.
        "all_slaves_active" all_slaves_active: u8 = IFLA_BOND_ALL_SLAVES_ACTIVE;
        /// Minimum number of active ports for carrier.
        "min_links" min_links: u32 = IFLA_BOND_MIN_LINKS;
        /// Interval between learning packets in seconds.
        "lp_interval" lp_interval: u32 = IFLA_BOND_LP_INTERVAL, 1 per second;
        /// Packets per port in round robin; 0 is random.
        "packets_per_slave" packets_per_slave: u32 = IFLA_BOND_PACKETS_PER_SLAVE;
        "lacp_active" ad_lacp_active: bool = IFLA_BOND_AD_LACP_ACTIVE;
        /// The requested LACP rate.
        "lacp_rate" ad_lacp_rate: LacpRate = IFLA_BOND_AD_LACP_RATE;
        /// How the active aggregator is selected.
        "ad_select" ad_select: AdSelect = IFLA_BOND_AD_SELECT;
        /// LACP state. Read-only.
        ad_info @reported: AdInfo as Nested = IFLA_BOND_AD_INFO;
        /// Its priority in LACP.
        "ad_actor_sys_prio" ad_actor_sys_prio: u16 = IFLA_BOND_AD_ACTOR_SYS_PRIO;
        /// User part of the LACP port key: 10 bits.
        "ad_user_port_key" ad_user_port_key: u16 = IFLA_BOND_AD_USER_PORT_KEY;
        /// Its LACP system id.
        "ad_actor_system" ad_actor_system: MacAddress = IFLA_BOND_AD_ACTOR_SYSTEM;
        /// Whether flows are rebalanced, in mode balance-tlb.
        "tlb_dynamic_lb" tlb_dynamic_lb: bool = IFLA_BOND_TLB_DYNAMIC_LB;
        /// Coupled control of LACP ports. Since Linux 6.9.
        "coupled_control" coupled_control: bool = IFLA_BOND_COUPLED_CONTROL;
        /// Whether neighbour messages are sent on all ports, in mode 802.3ad. Since Linux 6.17.
        "broadcast_neighbor" broadcast_neighbor: bool = IFLA_BOND_BROADCAST_NEIGH;
    }
}

impl KindSettings for Bond {}

impl KindSettings for BondPort {}

attribute_set! {
    /// LACP state of a bond.
    pub struct AdInfo {
        /// Id of the active aggregator.
        aggregator: u16 = IFLA_BOND_AD_INFO_AGGREGATOR;
        num_ports: u16 = IFLA_BOND_AD_INFO_NUM_PORTS;
        /// Local key.
        actor_key: u16 = IFLA_BOND_AD_INFO_ACTOR_KEY;
        /// Partner's key.
        partner_key: u16 = IFLA_BOND_AD_INFO_PARTNER_KEY;
        /// Partner's address.
        partner_mac: MacAddress = IFLA_BOND_AD_INFO_PARTNER_MAC;
    }
}

number_enum! {
    /// How a bond distributes packets over its ports.
    pub enum BondMode: u8 {
        /// Round robin.
        BalanceRr = 0, "balance-rr";
        /// One active port; failover to another.
        ActiveBackup = 1, "active-backup";
        /// By a hash of the packet.
        BalanceXor = 2, "balance-xor";
        /// Every packet on all ports.
        Broadcast = 3, "broadcast";
        /// IEEE 802.3ad with LACP.
        Ieee8023Ad = 4, "802.3ad";
        /// Adaptive transmit load balancing.
        BalanceTlb = 5, "balance-tlb";
        /// Adaptive transmit and receive load balancing.
        BalanceAlb = 6, "balance-alb";
    }
}

number_enum! {
    /// At which ports a bond validates ARP monitoring replies.
    pub enum ArpValidate: u32 {
        None = 0, "none";
        /// At the active port.
        Active = 1, "active";
        /// At the backup ports.
        Backup = 2, "backup";
        All = 3, "all";
        /// At none; only ARP packets count as activity.
        Filter = 4, "filter";
        /// At the active port; only ARP packets count as activity.
        FilterActive = 5, "filter_active";
        /// At the backup ports; only ARP packets count as activity.
        FilterBackup = 6, "filter_backup";
    }
}

number_enum! {
    /// How many ARP targets must reply.
    pub enum ArpAllTargets: u32 {
        /// One.
        Any = 0, "any";
        All = 1, "all";
    }
}

number_enum! {
    /// When the preferred port of a bond becomes active again.
    pub enum PrimaryReselect: u8 {
        /// As soon as it works.
        Always = 0, "always";
        /// When it is better than the active one.
        Better = 1, "better";
        /// When the active one fails.
        Failure = 2, "failure";
    }
}

number_enum! {
    /// Which hardware address the ports of a bond have.
    pub enum FailOverMac: u8 {
        /// The bond's.
        None = 0, "none";
        /// Their own; the bond has that of the active port.
        Active = 1, "active";
        /// The active port has the bond's.
        Follow = 2, "follow";
    }
}

number_enum! {
    /// The hash that selects the port of a packet.
    pub enum XmitHashPolicy: u8 {
        /// Hardware addresses.
        Layer2 = 0, "layer2";
        /// IP addresses and ports.
        Layer34 = 1, "layer3+4";
        /// Hardware and IP addresses.
        Layer23 = 2, "layer2+3";
        /// Hardware and IP addresses, inside tunnels.
        Encap23 = 3, "encap2+3";
        /// IP addresses and ports, inside tunnels.
        Encap34 = 4, "encap3+4";
        VlanSrcMac = 5, "vlan+srcmac";
    }
}

number_enum! {
    /// The LACP rate that a bond requests.
    pub enum LacpRate: u8 {
        /// Every 30 seconds.
        Slow = 0, "slow";
        /// Every second.
        Fast = 1, "fast";
    }
}

number_enum! {
    /// How a bond selects its active aggregator.
    pub enum AdSelect: u8 {
        /// A new one only when the active one has no ports.
        Stable = 0, "stable";
        /// By bandwidth, when something changes.
        Bandwidth = 1, "bandwidth";
        /// By number of ports, when something changes.
        Count = 2, "count";
    }
}

number_enum! {
    /// The state of a bond port.
    pub enum BondPortState: u8 {
        /// In use.
        Active = 0, "ACTIVE";
        /// Standby.
        Backup = 1, "BACKUP";
    }
}

number_enum! {
    /// The carrier of a bond port.
    pub enum MiiStatus: u8 {
        /// Present.
        Up = 0, "UP";
        /// Lost recently.
        GoingDown = 1, "GOING_DOWN";
        /// Absent.
        Down = 2, "DOWN";
        /// Gained recently.
        GoingBack = 3, "GOING_BACK";
    }
}

attribute_set! {
    /// Settings of a bond port.
    ///
    /// Equals `ip link set NAME type bond_slave queue_id 1 prio 10`.
    ///
    /// # Source
    /// `bond_slave_policy`, drivers/net/bonding/bond_netlink.c.
    pub struct BondPort {
        /// Whether it is active.
        "state" state: BondPortState = IFLA_BOND_SLAVE_STATE;
        /// Its carrier state. Read-only.
        mii_status @reported: MiiStatus = IFLA_BOND_SLAVE_MII_STATUS;
        /// Number of failures. Read-only.
        link_failure_count @reported: u32 = IFLA_BOND_SLAVE_LINK_FAILURE_COUNT;
        /// Its permanent hardware address. Read-only.
        perm_hwaddr @reported: MacAddress = IFLA_BOND_SLAVE_PERM_HWADDR;
        /// The queue id of the bond that uses this port; 0 is none.
        "queue_id" queue_id: u16 = IFLA_BOND_SLAVE_QUEUE_ID;
        /// Failover priority; higher is preferred.
        "prio" prio: i32 = IFLA_BOND_SLAVE_PRIO;
        /// Id of its aggregator. Read-only.
        ad_aggregator_id @reported: u16 = IFLA_BOND_SLAVE_AD_AGGREGATOR_ID;
        /// Its LACP state bits. Read-only.
        ad_actor_oper_port_state @reported: u8 = IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE;
        /// The partner's LACP state bits. Read-only.
        ad_partner_oper_port_state @reported: u16 = IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE;
    }
}
