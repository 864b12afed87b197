use crate::table::{Be, attributes};

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
        /// EtherType of its VLAN tags: 0x8100 (802.1Q) or 0x88a8 (802.1ad).
        vlan_protocol: u16 as Be = IFLA_BR_VLAN_PROTOCOL;
        /// Which link-local groups it forwards, a bit each.
        "group_fwd_mask" group_fwd_mask: u16 = IFLA_BR_GROUP_FWD_MASK;
        /// Whether multicast goes only where it was asked for.
        "mcast_snooping" mcast_snooping: bool = IFLA_BR_MCAST_SNOOPING;
        /// VLAN of untagged packets at new ports; 0 for none.
        "vlan_default_pvid" vlan_default_pvid: u16 = IFLA_BR_VLAN_DEFAULT_PVID;
    }
}
