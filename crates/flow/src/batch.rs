//! Packets that are added to a table together.

use crate::decode::{Arrival, FlowPacket, NoFlow, Segment, plain};
use crate::index::Index;
use crate::key::Seed;

/// Packets of half a batch: as many as the loads that a CPU has under way at the same time, about.
const PACKETS: usize = 16;

/// Packets with decoded headers that wait to be added together.
///
/// In a table of many flows, most packets find their flow in main memory. So a packet waits twice while the headers
/// of a few others are decoded: for the index entry of its flow, and then for the flow.
#[derive(Debug)]
pub(crate) struct FlowBatch {
    /// The CPU fetches the index entries of these packets.
    pub arrived: Vec<Waiting>,
    /// Earlier packets, whose flows the CPU fetches.
    pub found: Vec<Waiting>,
}

/// A packet without its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub arrival: Arrival,
    pub segment: Result<Segment, NoFlow>,
    /// Of the key.
    pub hash: u64,
    /// Number of the flow that it most likely belongs to.
    pub likely: u32,
}

impl Default for FlowBatch {
    fn default() -> Self {
        Self {
            arrived: Vec::with_capacity(PACKETS),
            found: Vec::with_capacity(PACKETS),
        }
    }
}

impl FlowBatch {
    /// Decodes the headers of a packet. Returns whether half of the batch is full.
    #[inline]
    pub fn push(&mut self, packet: &FlowPacket<'_>, seed: &Seed, index: &Index) -> bool {
        let arrival = Arrival::of(packet);
        // Apart: if both were stored by the same code, it would load what it has just stored in smaller pieces, which stalls the CPU.
        match plain(packet) {
            Some(segment) => {
                let hash = segment.key.hash(seed);
                index.prefetch(hash);
                self.arrived.push(Waiting {
                    arrival,
                    segment: Ok(segment),
                    hash,
                    likely: 0,
                });
            }
            None => self.push_unusual(packet, seed),
        }
        self.arrived.len() >= PACKETS
    }

    #[cold]
    fn push_unusual(&mut self, packet: &FlowPacket<'_>, seed: &Seed) {
        let segment = Segment::dissected(packet);
        self.arrived.push(Waiting {
            arrival: Arrival::of(packet),
            hash: segment.as_ref().map_or(0, |segment| segment.key.hash(seed)),
            segment,
            likely: 0,
        });
    }
}
