use crate::table::names;

names! {
    /// EtherType of a VLAN's tag.
    pub enum VlanProtocol: u16 {
        /// A customer's tag (0x8100).
        Dot1Q = 0x8100, "802.1Q";
        /// A provider's tag (0x88a8).
        Dot1Ad = 0x88a8, "802.1ad";
    }
}
