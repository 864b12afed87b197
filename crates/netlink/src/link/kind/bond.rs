use std::net::{Ipv4Addr, Ipv6Addr};

use super::bond_names::{
    AdSelect, ArpAllTargets, ArpValidate, BondMode, FailOverMac, LacpRate, PrimaryReselect,
    XmitHashPolicy,
};
use super::data::Data;
use crate::interface::{IfIndex, MacAddress};
use crate::table::{Listed, Native, Nested, attributes};

attributes! {
    /// Several links as one. Times are in milliseconds.
    ///
    /// Equals `ip link add NAME type bond mode active-backup miimon 100 …`.
    ///
    /// # Source
    /// `bond_policy` and `bond_changelink`, drivers/net/bonding/bond_netlink.c;
    /// Documentation/networking/bonding.rst.
    pub struct Bond {
        /// How packets are divided among its ports; only while it is down and has none.
        "mode" mode: BondMode = IFLA_BOND_MODE;
        /// The port in use; 0 for none.
        "active_slave" active_slave: IfIndex = IFLA_BOND_ACTIVE_SLAVE;
        /// Between looks at the carriers; 0 for never.
        "miimon" miimon: u32 = IFLA_BOND_MIIMON;
        /// How long a carrier has to be there before the port is used.
        "updelay" updelay: u32 = IFLA_BOND_UPDELAY;
        /// How long it has to be gone before the port is not.
        "downdelay" downdelay: u32 = IFLA_BOND_DOWNDELAY;
        /// Between messages that tell of a new port in use.
        "peer_notify_delay" peer_notify_delay: u32 = IFLA_BOND_PEER_NOTIF_DELAY;
        /// Whether drivers are asked for the carrier in the way of today.
        "use_carrier" use_carrier: bool = IFLA_BOND_USE_CARRIER;
        /// Between ARP requests that find out whether a port works; 0 for none.
        "arp_interval" arp_interval: u32 = IFLA_BOND_ARP_INTERVAL;
        /// Whom they are for.
        "arp_ip_target" arp_ip_target: Vec<Ipv4Addr> as Listed<Native> = IFLA_BOND_ARP_IP_TARGET;
        /// Whom the same in IPv6 is for.
        "ns_ip6_target" ns_ip6_target: Vec<Ipv6Addr> as Listed<Native> = IFLA_BOND_NS_IP6_TARGET;
        /// At which ports the answers are looked at.
        "arp_validate" arp_validate: ArpValidate = IFLA_BOND_ARP_VALIDATE;
        /// How many of them have to answer.
        "arp_all_targets" arp_all_targets: ArpAllTargets = IFLA_BOND_ARP_ALL_TARGETS;
        /// Requests without answer before a port is given up.
        "arp_missed_max" arp_missed_max: u8 = IFLA_BOND_MISSED_MAX;
        /// The port that is preferred; 0 for none.
        "primary" primary: IfIndex = IFLA_BOND_PRIMARY;
        /// When it is used again.
        "primary_reselect" primary_reselect: PrimaryReselect = IFLA_BOND_PRIMARY_RESELECT;
        /// Whose hardware address its ports have.
        "fail_over_mac" fail_over_mac: FailOverMac = IFLA_BOND_FAIL_OVER_MAC;
        /// By what a packet's port is chosen.
        "xmit_hash_policy" xmit_hash_policy: XmitHashPolicy = IFLA_BOND_XMIT_HASH_POLICY;
        /// IGMP reports after another port came into use.
        "resend_igmp" resend_igmp: u32 = IFLA_BOND_RESEND_IGMP;
        /// Messages that tell of a new port in use.
        "num_grat_arp" | "num_unsol_na" num_peer_notif: u8 = IFLA_BOND_NUM_PEER_NOTIF;
        /// Whether ports that are not in use receive.
        "all_slaves_active" all_slaves_active: u8 = IFLA_BOND_ALL_SLAVES_ACTIVE;
        /// Ports with a carrier that it needs for its own.
        "min_links" min_links: u32 = IFLA_BOND_MIN_LINKS;
        /// Seconds between packets by which switches learn where its addresses are.
        "lp_interval" lp_interval: u32 = IFLA_BOND_LP_INTERVAL;
        /// Packets before the next port has its turn; 0 is chance.
        "packets_per_slave" packets_per_slave: u32 = IFLA_BOND_PACKETS_PER_SLAVE;
        /// Whether it begins the conversation by LACP.
        "lacp_active" ad_lacp_active: bool = IFLA_BOND_AD_LACP_ACTIVE;
        /// How often the other side is asked to speak.
        "lacp_rate" ad_lacp_rate: LacpRate = IFLA_BOND_AD_LACP_RATE;
        /// How the group of ports in use is chosen.
        "ad_select" ad_select: AdSelect = IFLA_BOND_AD_SELECT;
        /// What LACP has found. Told only.
        ad_info: AdInfo as Nested = IFLA_BOND_AD_INFO;
        /// Its priority in LACP.
        "ad_actor_sys_prio" ad_actor_sys_prio: u16 = IFLA_BOND_AD_ACTOR_SYS_PRIO;
        /// A part of the key of its ports in LACP: 10 bits.
        "ad_user_port_key" ad_user_port_key: u16 = IFLA_BOND_AD_USER_PORT_KEY;
        /// What it is called in LACP.
        "ad_actor_system" ad_actor_system: MacAddress = IFLA_BOND_AD_ACTOR_SYSTEM;
        /// Whether flows may change their port, in mode balance-tlb.
        "tlb_dynamic_lb" tlb_dynamic_lb: bool = IFLA_BOND_TLB_DYNAMIC_LB;
        /// Whether LACP switches receiving and sending together. Since Linux 6.9.
        "coupled_control" coupled_control: bool = IFLA_BOND_COUPLED_CONTROL;
        /// Whether neighbour messages leave by all ports, in mode 802.3ad. Since Linux 6.17.
        "broadcast_neighbor" broadcast_neighbor: bool = IFLA_BOND_BROADCAST_NEIGH;
    }
}

impl Data for Bond {}

attributes! {
    /// What LACP has found out.
    pub struct AdInfo {
        /// Number of the group of ports in use.
        aggregator: u16 = IFLA_BOND_AD_INFO_AGGREGATOR;
        /// Ports in it.
        num_ports: u16 = IFLA_BOND_AD_INFO_NUM_PORTS;
        /// Its key here.
        actor_key: u16 = IFLA_BOND_AD_INFO_ACTOR_KEY;
        /// Its key on the other side.
        partner_key: u16 = IFLA_BOND_AD_INFO_PARTNER_KEY;
        /// The other side.
        partner_mac: MacAddress = IFLA_BOND_AD_INFO_PARTNER_MAC;
    }
}
