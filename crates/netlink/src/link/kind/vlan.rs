use super::data::Data;
use super::{QosMap, QosMapping, VlanProtocol};
use crate::table::{Be, Masked, attributes, bits};

attributes! {
    /// A VLAN of the link below it.
    ///
    /// Equals `ip link add NAME link LOWER type vlan id ID [protocol PROTOCOL] [gvrp on] …`.
    ///
    /// # Source
    /// `vlan_policy`, net/8021q/vlan_netlink.c.
    pub struct Vlan {
        /// EtherType of its tag.
        "protocol" protocol: VlanProtocol as Be = IFLA_VLAN_PROTOCOL;
        /// Its number: 0 to 4094.
        "id" [0..=4094] id: u16 = IFLA_VLAN_ID;
        /// Its switches.
        flags: VlanFlags as Masked = IFLA_VLAN_FLAGS, Spread;
        /// Priority of a packet that arrives, by the priority in its tag.
        "ingress-qos-map" ingress_qos: Vec<QosMapping> as QosMap = IFLA_VLAN_INGRESS_QOS;
        /// Priority in the tag of a packet that leaves, by its own priority.
        "egress-qos-map" egress_qos: Vec<QosMapping> as QosMap = IFLA_VLAN_EGRESS_QOS;
    }
}

impl Data for Vlan {
    fn suspect(&self) -> Option<&'static str> {
        self.id.filter(|id| *id > 4094).map(|_| "vlan-id")
    }
}

bits! {
    /// Switches of a VLAN.
    pub struct VlanFlags {
        /// Whether programs see a packet without its tag.
        "reorder_hdr" reorder_hdr = 0x1;
        /// Whether switches are told of it (GARP VLAN Registration Protocol).
        "gvrp" gvrp = 0x2;
        /// Whether it may be up when the link below is down.
        "loose_binding" loose_binding = 0x4;
        /// Whether switches are told of it (Multiple VLAN Registration Protocol).
        "mvrp" mvrp = 0x8;
        /// Whether it follows the bridge's ports that are in the VLAN.
        "bridge_binding" bridge_binding = 0x10;
    }
}
