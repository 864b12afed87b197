//! VRF links.

use super::kinds::KindSettings;
use crate::objects::route::RouteTable;
use crate::schema::{Arguments, Parsed, attribute_set};

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

impl KindSettings for Vrf {
    /// `table`, which may be a name.
    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        if word != "table" {
            return Ok(false);
        }
        let table: RouteTable = words.value(word)?;
        self.table = Some(table.into());
        Ok(true)
    }
}

impl KindSettings for VrfPort {}
