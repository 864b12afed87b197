//! A flow as it is exported.

use std::net::IpAddr;

/// What two ends exchanged until it ended, or until the active timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// IP protocol.
    pub protocol: u8,
    /// Who sent the first packet; of TCP, who sent the SYN if it or its answer was seen.
    pub initiator: FlowEnd,
    /// The other end.
    pub responder: FlowEnd,
    /// Number of the interface on which the first packet was seen.
    pub interface: u32,
    /// Time of the first packet, nanoseconds since 1970.
    pub first_ns: u64,
    /// Time of the last packet.
    pub last_ns: u64,
    /// From the initiator.
    pub forward: Traffic,
    /// To the initiator.
    pub backward: Traffic,
    /// Why it is exported.
    pub end: EndReason,
    /// What is known of a TCP connection.
    pub tcp: Option<TcpFlow>,
}

impl Flow {
    /// A flow without packets and times.
    pub fn new(protocol: u8, initiator: FlowEnd, responder: FlowEnd) -> Self {
        Self {
            protocol,
            initiator,
            responder,
            interface: 0,
            first_ns: 0,
            last_ns: 0,
            forward: Traffic::default(),
            backward: Traffic::default(),
            end: EndReason::End,
            tcp: None,
        }
    }

    /// Time from the first packet to the last one.
    pub fn duration_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// Packets in both directions.
    pub fn packets(&self) -> u64 {
        self.forward.packets + self.backward.packets
    }

    /// Bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.forward.bytes + self.backward.bytes
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEnd {
    /// IPv4 or IPv6 address.
    pub address: IpAddr,
    /// Port of TCP, UDP, UDP-Lite, DCCP or SCTP; 0 for other protocols.
    pub port: u16,
}

/// Packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of packets.
    pub packets: u64,
    /// Their length on the wire, from the link-layer header on.
    pub bytes: u64,
    /// Their length from the IP header on, as the headers state it.
    pub ip_bytes: u64,
}

/// Why a flow is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// No packet came for the idle timeout.
    Idle,
    /// It has lasted for the active timeout, and goes on.
    Active,
    /// Both ends closed the TCP connection.
    Fin,
    /// An end reset the TCP connection.
    Rst,
    /// Another TCP connection began between the same ports.
    Reused,
    /// It made room for another flow.
    Evicted,
    /// The measurement ended.
    End,
}

impl EndReason {
    /// All reasons, in the order of the account.
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Active,
        Self::Fin,
        Self::Rst,
        Self::Reused,
        Self::Evicted,
        Self::End,
    ];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::Reused => "reused",
            Self::Evicted => "evicted",
            Self::End => "end",
        }
    }
}

/// What is known of a TCP connection. Of pairs, the first is of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpFlow {
    /// How far it came.
    pub state: TcpState,
    /// All flags that an end has sent (RFC 9293, section 3.1; CWR is 0x80, FIN is 1).
    pub flags: [u8; 2],
    /// Segments sent again, as far as that can be seen here: their bytes were seen before, or fill a gap later than
    /// reordering explains.
    pub retransmissions: [u32; 2],
    /// Segments that fill a gap, sooner than a retransmission could.
    pub out_of_order: [u32; 2],
    /// From the last SYN to the acknowledgement of its answer: the round-trip time between the ends.
    pub rtt_ns: Option<u64>,
    /// From the SYN to its first answer: the round-trip time between here and the responder.
    pub responder_rtt_ns: Option<u64>,
}

/// How far a TCP connection came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TcpState {
    /// A SYN was seen.
    SynSent,
    /// Its answer, too.
    SynReceived,
    /// Neither, or both and more.
    #[default]
    Established,
    /// One end has closed it.
    HalfClosed,
    /// Both ends have.
    Closed,
    /// An end has reset it.
    Reset,
}

impl TcpState {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::SynSent => "syn_sent",
            Self::SynReceived => "syn_received",
            Self::Established => "established",
            Self::HalfClosed => "half_closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
        }
    }
}
