//! What is known of a packet beside its bytes.

/// Which way a packet crossed its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
}

/// How a packet was addressed at the link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reception {
    /// To this host.
    Unicast,
    /// To a group.
    Multicast,
    /// To all.
    Broadcast,
    /// To another host, seen because the interface is promiscuous.
    Promiscuous,
}

/// What is known of a packet's transport checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// Nothing is known.
    #[default]
    Unknown,
    /// The sender left it to the hardware: the bytes in the packet are not yet the checksum.
    NotReady,
    /// Checked by the receiver and found right.
    Valid,
}
