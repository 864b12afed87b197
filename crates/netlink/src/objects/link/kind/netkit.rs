//! Values of netkit pairs. `link/object.rs` has the kind itself, because its peer is a link.

use crate::schema::number_enum;

number_enum! {
    /// The layer of the packets of a netkit.
    pub enum NetkitMode: u32 {
        /// An Ethernet header.
        L2 = 0, "l2";
        /// An IP header.
        L3 = 1, "l3";
    }
}

number_enum! {
    /// Policy for packets of a netkit without a program.
    pub enum NetkitPolicy: u32, bare {
        /// They pass.
        Forward = 0, "forward";
        /// They are dropped.
        Blackhole = 2, "blackhole";
    }
}

number_enum! {
    /// Which metadata is cleared from packets that leave a namespace.
    pub enum NetkitScrub: u32 {
        /// Nothing.
        None = 0, "none";
        /// Mark and priority.
        Default = 1, "default";
    }
}
