use super::data::Data;
use crate::table::attributes;

attributes! {
    /// A routing domain of its own.
    ///
    /// Equals `ip link add NAME type vrf table TABLE`.
    ///
    /// # Source
    /// `vrf_nl_policy`, drivers/net/vrf.c.
    pub struct Vrf {
        /// Its routing table; needed when it is made.
        "table" table: u32 = IFLA_VRF_TABLE;
    }
}

attributes! {
    /// What a VRF tells of a link in it.
    pub struct VrfPort {
        /// The routing table. Told only.
        table: u32 = IFLA_VRF_PORT_TABLE;
    }
}

impl Data for Vrf {}
