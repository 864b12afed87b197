//! Packets that are added together.

use crate::decode::{FlowPacket, Outside, Segment};

/// Packets of a batch: as many as the loads that a CPU has under way at the same time, about.
const PACKETS: usize = 16;

/// Packets with decoded headers that wait to be added together.
///
/// In a table of many flows, most packets find their flow in main memory. A batch loads the flows of all its packets before it adds the
/// first one, so that these loads take the time of one.
#[derive(Clone, Debug)]
pub struct FlowBatch {
    pub(crate) packets: Vec<Waiting>,
}

/// A packet without its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub packet: FlowPacket<'static>,
    pub segment: Result<Segment, Outside>,
    /// Of the key.
    pub hash: u64,
}

impl Default for FlowBatch {
    fn default() -> Self {
        Self {
            packets: Vec::with_capacity(PACKETS),
        }
    }
}

impl FlowBatch {
    /// Decodes the headers of a packet. Returns whether the batch is full: it is to be added then.
    #[inline]
    pub fn push(&mut self, packet: &FlowPacket<'_>) -> bool {
        self.packets.push(Waiting {
            packet: FlowPacket {
                bytes: &[],
                ..*packet
            },
            segment: Segment::of(packet),
            hash: 0,
        });
        self.packets.len() >= PACKETS
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
