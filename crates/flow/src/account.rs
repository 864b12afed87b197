//! What became of all packets and flows.

use crate::flow::EndReason;

/// Every packet is in one of four counters, and every flow that began has ended for one reason or is in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowAccount {
    /// All packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that belong to a flow.
    pub in_flows: u64,
    /// Packets that are neither IPv4 nor IPv6, or behind a header that is not followed (a tunnel, MPLS, an unknown link type).
    pub not_ip: u64,
    /// Later fragments, which have no ports.
    pub fragments: u64,
    /// Packets whose IP header or ports are truncated or invalid.
    pub malformed: u64,
    /// Flows now in the table.
    pub flows: u64,
    /// The most at the same time.
    pub most_flows: u64,
    pub(crate) ended: [u64; EndReason::ALL.len()],
}

impl FlowAccount {
    /// Number of exported flows with this reason. One that is exported by the active timeout is exported again later.
    pub fn ended(&self, reason: EndReason) -> u64 {
        self.ended[reason as usize]
    }

    /// Number of all exported flows.
    pub fn exported(&self) -> u64 {
        self.ended.iter().sum()
    }
}
