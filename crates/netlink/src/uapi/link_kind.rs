//! What is particular to other kinds of link (`IFLA_INFO_DATA`).

constants! {
    IFLA_INET6_ADDR_GEN_MODE: u16 = 8;

    IFLA_IPVLAN_MODE: u16 = 1;
    IFLA_IPVLAN_FLAGS: u16 = 2;

    IFLA_MACVLAN_MODE: u16 = 1;
    IFLA_MACVLAN_FLAGS: u16 = 2;
    IFLA_MACVLAN_MACADDR_MODE: u16 = 3;
    IFLA_MACVLAN_MACADDR: u16 = 4;
    IFLA_MACVLAN_MACADDR_DATA: u16 = 5;
    IFLA_MACVLAN_MACADDR_COUNT: u16 = 6;
    IFLA_MACVLAN_BC_QUEUE_LEN: u16 = 7;
    IFLA_MACVLAN_BC_QUEUE_LEN_USED: u16 = 8;

    IFLA_TUN_OWNER: u16 = 1;
    IFLA_TUN_GROUP: u16 = 2;
    IFLA_TUN_TYPE: u16 = 3;
    IFLA_TUN_PI: u16 = 4;
    IFLA_TUN_VNET_HDR: u16 = 5;
    IFLA_TUN_PERSIST: u16 = 6;
    IFLA_TUN_MULTI_QUEUE: u16 = 7;
    IFLA_TUN_NUM_QUEUES: u16 = 8;
    IFLA_TUN_NUM_DISABLED_QUEUES: u16 = 9;

    IFLA_VLAN_ID: u16 = 1;
    IFLA_VLAN_QOS_MAPPING: u16 = 1;
    IFLA_VLAN_FLAGS: u16 = 2;
    IFLA_VLAN_EGRESS_QOS: u16 = 3;
    IFLA_VLAN_INGRESS_QOS: u16 = 4;
    IFLA_VLAN_PROTOCOL: u16 = 5;

    IFLA_VRF_PORT_TABLE: u16 = 1;
    IFLA_VRF_TABLE: u16 = 1;
}

/// The attribute of a family within `IFLA_AF_SPEC` is called by the family.
pub(crate) const AF_INET6_SPEC: u16 = super::AF_INET6 as u16;
