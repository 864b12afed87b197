use super::bond_names::{BondPortState, MiiStatus};
use crate::interface::MacAddress;
use crate::table::attributes;

attributes! {
    /// What a bond keeps of a port.
    ///
    /// Equals `ip link set NAME type bond_slave queue_id 1 prio 10`.
    ///
    /// # Source
    /// `bond_slave_policy`, drivers/net/bonding/bond_netlink.c.
    pub struct BondPort {
        /// Whether it is in use.
        "state" state: BondPortState = IFLA_BOND_SLAVE_STATE;
        /// Its carrier. Told only.
        mii_status: MiiStatus = IFLA_BOND_SLAVE_MII_STATUS;
        /// How often it failed. Told only.
        link_failure_count: u32 = IFLA_BOND_SLAVE_LINK_FAILURE_COUNT;
        /// Its hardware address before it was a port. Told only.
        perm_hwaddr: MacAddress = IFLA_BOND_SLAVE_PERM_HWADDR;
        /// The queue of the bond whose packets go here; 0 for none.
        "queue_id" queue_id: u16 = IFLA_BOND_SLAVE_QUEUE_ID;
        /// The higher the sooner it is in use.
        "prio" prio: i32 = IFLA_BOND_SLAVE_PRIO;
        /// Number of the group it is in. Told only.
        ad_aggregator_id: u16 = IFLA_BOND_SLAVE_AD_AGGREGATOR_ID;
        /// Its state in LACP, a bit each. Told only.
        ad_actor_oper_port_state: u8 = IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE;
        /// The other side's. Told only.
        ad_partner_oper_port_state: u16 = IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE;
    }
}
