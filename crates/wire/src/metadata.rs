//! Packet metadata: direction, reception and checksum state.

/// The direction of a packet at its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
}

/// The link-layer destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reception {
    /// To this host.
    Unicast,
    /// To a multicast group.
    Multicast,
    /// To all hosts.
    Broadcast,
    /// To another host; captured in promiscuous mode.
    Promiscuous,
}

/// The state of a packet's transport checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// Unknown.
    #[default]
    Unknown,
    /// Checksum offload: the hardware has not filled in the checksum yet.
    NotReady,
    /// Verified by the receiver.
    Valid,
}
