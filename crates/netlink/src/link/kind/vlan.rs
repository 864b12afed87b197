use crate::table::{Be, attributes};

attributes! {
    /// A VLAN of the link below it.
    ///
    /// Equals `ip link add NAME link LOWER type vlan id ID [protocol PROTOCOL]`.
    ///
    /// # Source
    /// `vlan_policy`, net/8021q/vlan_netlink.c.
    pub struct Vlan {
        /// Its number: 0 to 4094.
        "id" id: u16 = IFLA_VLAN_ID;
        /// EtherType of its tag: 0x8100 (802.1Q) or 0x88a8 (802.1ad).
        protocol: u16 as Be = IFLA_VLAN_PROTOCOL;
    }
}
