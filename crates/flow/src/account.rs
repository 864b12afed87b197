//! What became of all packets and flows.

use wire::protocol::ip;

use crate::flow::{EndReason, Traffic};

/// IP protocols whose packets are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolClass {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP for IPv4.
    Icmp,
    /// ICMP for IPv6.
    Icmpv6,
    /// All others.
    Other,
}

impl ProtocolClass {
    /// All classes, in the order of the account.
    pub const ALL: [Self; 5] = [Self::Tcp, Self::Udp, Self::Icmp, Self::Icmpv6, Self::Other];

    /// The class of an IP protocol.
    #[inline]
    pub fn of(protocol: u8) -> Self {
        match protocol {
            ip::TCP => Self::Tcp,
            ip::UDP => Self::Udp,
            ip::ICMPV4 => Self::Icmp,
            ip::ICMPV6 => Self::Icmpv6,
            _ => Self::Other,
        }
    }

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::Icmpv6 => "icmpv6",
            Self::Other => "other",
        }
    }
}

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
    pub(crate) protocols: [Traffic; ProtocolClass::ALL.len()],
}

impl FlowAccount {
    /// Number of exported flows with this reason. One that is exported by the active timeout is exported again later.
    pub fn ended(&self, reason: EndReason) -> u64 {
        self.ended[reason as usize]
    }

    /// Packets in flows of these protocols, in both directions.
    pub fn of_protocol(&self, class: ProtocolClass) -> Traffic {
        self.protocols[class as usize]
    }

    /// Number of all exported flows.
    pub fn exported(&self) -> u64 {
        self.ended.iter().sum()
    }
}
