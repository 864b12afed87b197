//! Packets that are added together.

use crate::decode::{Arrival, FlowPacket, Outside, Segment, plain};

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
    pub arrival: Arrival,
    pub segment: Result<Segment, Outside>,
    /// Of the key.
    pub hash: u64,
    /// Number of the flow that it most likely belongs to.
    pub likely: u32,
}

impl Waiting {
    #[inline]
    fn new(packet: &FlowPacket<'_>, segment: Result<Segment, Outside>) -> Self {
        Self {
            arrival: Arrival::of(packet),
            segment,
            hash: 0,
            likely: 0,
        }
    }
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
        // Apart: if both were stored by the same code, it would load what it has just stored in smaller pieces, which stalls the CPU.
        match plain(packet) {
            Some(segment) => self.packets.push(Waiting::new(packet, Ok(segment))),
            None => self.push_unusual(packet),
        }
        self.packets.len() >= PACKETS
    }

    #[cold]
    fn push_unusual(&mut self, packet: &FlowPacket<'_>) {
        let segment = Segment::dissected(packet);
        self.packets.push(Waiting::new(packet, segment));
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
