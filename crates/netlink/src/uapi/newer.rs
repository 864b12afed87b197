//! Numbers that are newer than the headers of Linux 6.1, which a system may still have. The test compares with
//! bindings made from a newer kernel's headers.

macro_rules! newer_constants {
    ($($name:ident = $value:expr;)*) => {
        $(pub(crate) const $name: u16 = $value;)*

        #[cfg(test)]
        #[test]
        fn every_newer_number_is_that_of_the_bindings() {
            $(assert_eq!(u64::from($name), linux_raw_sys::netlink::$name as u64);)*
        }
    };
}

newer_constants! {
    IFLA_BOND_COUPLED_CONTROL = 32;
    IFLA_BOND_BROADCAST_NEIGH = 33;
    IFLA_BR_FDB_N_LEARNED = 48;
    IFLA_BR_FDB_MAX_LEARNED = 49;
    IFLA_BRPORT_MAB = 40;
    IFLA_BRPORT_MCAST_N_GROUPS = 41;
    IFLA_BRPORT_MCAST_MAX_GROUPS = 42;
    IFLA_BRPORT_NEIGH_VLAN_SUPPRESS = 43;
    IFLA_BRPORT_BACKUP_NHID = 44;
    IFLA_GENEVE_PORT_RANGE = 15;
    IFLA_MACVLAN_BC_CUTOFF = 9;
    IFLA_NETKIT_PEER_INFO = 1;
    IFLA_NETKIT_PRIMARY = 2;
    IFLA_NETKIT_POLICY = 3;
    IFLA_NETKIT_PEER_POLICY = 4;
    IFLA_NETKIT_MODE = 5;
    IFLA_NETKIT_SCRUB = 6;
    IFLA_NETKIT_PEER_SCRUB = 7;
    IFLA_NETKIT_HEADROOM = 8;
    IFLA_NETKIT_TAILROOM = 9;
    IFLA_VXLAN_LOCALBYPASS = 31;
    IFLA_VXLAN_LABEL_POLICY = 32;
    IFLA_VXLAN_MC_ROUTE = 34;
}
