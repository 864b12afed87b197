use super::data::Data;
use crate::table::{attributes, names};

attributes! {
    /// A link with IP addresses of its own and the hardware address of the link below it.
    ///
    /// Equals `ip link add NAME link LOWER type ipvlan mode l3 private` or `… type ipvtap …`.
    ///
    /// # Source
    /// `ipvlan_nl_policy`, drivers/net/ipvlan/ipvlan_main.c.
    pub struct Ipvlan {
        /// At which layer it decides.
        "mode" mode: IpvlanMode = IFLA_IPVLAN_MODE;
        /// With whom it speaks.
        "flags" flags: IpvlanFlags = IFLA_IPVLAN_FLAGS;
    }
}

impl Data for Ipvlan {}

names! {
    /// At which layer an ipvlan decides.
    pub enum IpvlanMode: u16 {
        /// It resolves neighbours and carries broadcast.
        L2 = 0, "l2";
        /// It routes.
        L3 = 1, "l3";
        /// It routes, and the packet filter sees it.
        L3s = 2, "l3s";
    }
}

names! {
    /// With whom an ipvlan speaks.
    pub enum IpvlanFlags: u16, bare {
        /// With its siblings.
        Bridge = 0, "bridge";
        /// With none of them.
        Private = 1, "private";
        /// With them through a switch outside.
        Vepa = 2, "vepa";
    }
}
