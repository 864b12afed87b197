//! VRF links.

use super::kinds::KindSettings;
use crate::schema::attribute_set;

attribute_set! {
    /// A routing domain of its own.
    ///
    /// Equals `ip link add NAME type vrf table TABLE`.
    ///
    /// # Source
    /// `vrf_nl_policy`, drivers/net/vrf.c.
    pub struct Vrf {
        /// Its routing table. Required at creation.
        "table" table: u32 = IFLA_VRF_TABLE;
    }
}

attribute_set! {
    /// What the kernel reports about a port of a VRF.
    pub struct VrfPort {
        /// The routing table. Read-only.
        table @reported: u32 = IFLA_VRF_PORT_TABLE;
    }
}

impl KindSettings for Vrf {}

impl KindSettings for VrfPort {}
