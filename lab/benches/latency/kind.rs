//! The readers.

use std::time::Duration;

use tapline::capture::Backend;
use tapline::capture::DeliveryMode;

use crate::task::Task;

/// Bytes kept of each packet.
pub const SNAPLEN: u32 = 96;
/// Memory of a reader's ring.
pub const RING_BYTES: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// poll(2) on a TPACKET_V2 ring, all that is there, poll(2) again.
    V2Poll,
    Immediate,
    Adaptive200,
    Adaptive500,
    /// With the snaplen of a whole Ethernet packet; frames for a stall do not fit into the ring.
    AdaptiveFull,
    /// With a snaplen that asks for TPACKET_V3.
    AdaptiveLong,
    V3,
    LibpcapImmediate,
    Libpcap,
    Tcpdump,
    Dumpcap,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::V2Poll,
        Self::Immediate,
        Self::Adaptive200,
        Self::Adaptive500,
        Self::AdaptiveFull,
        Self::AdaptiveLong,
        Self::V3,
        Self::LibpcapImmediate,
        Self::Libpcap,
        Self::Tcpdump,
        Self::Dumpcap,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::V2Poll => "V2, poll(2)",
            Self::Immediate => "tapline immediate",
            Self::Adaptive200 => "tapline adaptive, 200 us",
            Self::Adaptive500 => "tapline adaptive, 500 us",
            Self::AdaptiveFull => "tapline adaptive, -s 1518",
            Self::AdaptiveLong => "tapline adaptive, -s 9018",
            Self::V3 => "tapline, V3, 1 ms",
            Self::LibpcapImmediate => "libpcap immediate",
            Self::Libpcap => "libpcap, 100 ms",
            Self::Tcpdump => "tcpdump -U -w -",
            Self::Dumpcap => "dumpcap -w -",
        }
    }

    pub fn is_for(self, task: Task) -> bool {
        match task {
            Task::Sparse | Task::Dense => self != Self::AdaptiveFull,
            // The programs cannot be kept from reading.
            Task::Stall => matches!(
                self,
                Self::V2Poll
                    | Self::Adaptive200
                    | Self::AdaptiveFull
                    | Self::AdaptiveLong
                    | Self::V3
                    | Self::LibpcapImmediate
            ),
            Task::Jump => matches!(
                self,
                Self::V2Poll
                    | Self::Adaptive200
                    | Self::AdaptiveLong
                    | Self::V3
                    | Self::LibpcapImmediate
                    | Self::Tcpdump
                    | Self::Dumpcap
            ),
        }
    }

    /// Whether it wakes for each packet while they are rare.
    pub fn wakes_for_each(self) -> bool {
        matches!(
            self,
            Self::V2Poll | Self::Immediate | Self::Adaptive200 | Self::LibpcapImmediate
        )
    }

    /// What tapline is asked for.
    pub fn delivery(self) -> (Option<Backend>, DeliveryMode) {
        let adaptive = |us| DeliveryMode::Adaptive {
            target: Duration::from_micros(us),
        };
        match self {
            Self::Adaptive200 | Self::AdaptiveFull | Self::AdaptiveLong => (None, adaptive(200)),
            Self::Adaptive500 => (None, adaptive(500)),
            Self::V3 => {
                let delivery = DeliveryMode::Blocks {
                    bytes: 32 << 10,
                    timeout: Duration::from_millis(1),
                };
                (Some(Backend::PacketV3), delivery)
            }
            _ => (None, DeliveryMode::Immediate),
        }
    }

    /// How long packets may lie in the ring of a peer.
    pub fn timer(self) -> Duration {
        match self {
            Self::Tcpdump => Duration::from_secs(1),
            _ => Duration::ZERO,
        }
    }

    pub fn snaplen(self) -> u32 {
        match self {
            Self::AdaptiveFull => 1518,
            Self::AdaptiveLong => 9018,
            _ => SNAPLEN,
        }
    }
}
