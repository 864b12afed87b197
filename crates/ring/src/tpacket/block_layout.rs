//! The blocks of a TPACKET_V3 ring, and why they have their size and their timer.

use std::time::Duration;

/// The blocks of a TPACKET_V3 ring. The kernel fills them in turn and wakes the reader for each one that it hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockLayout {
    /// Size of a block, bytes.
    pub bytes: usize,
    /// Number of blocks.
    pub count: usize,
    /// After how long the kernel hands over a block that is not full.
    pub timer: Duration,
    /// Why they have this size and this timer.
    pub reason: BlockReason,
}

/// Why blocks have their size and their timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockReason {
    /// The delivery determines both: the reader does not let packets gather.
    Delivery,
    /// Each block is a batch. The reader sleeps until the kernel hands one over, and checks nothing.
    Batch,
    /// Blocks are parts of a batch that is smaller than a quarter of the ring. The reader checks when it is complete.
    SmallBatch,
    /// Blocks are parts of a batch, because the reader merges the packets of several rings by time stamp.
    SeveralRings,
    /// Blocks are parts of a batch, because the ring is too small for larger ones: it needs many of them to outlast a pause of the
    /// reader, or larger ones than a sixteenth of it for long packets.
    SmallRing,
}

impl BlockReason {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivery => "delivery",
            Self::Batch => "batch",
            Self::SmallBatch => "small-batch",
            Self::SeveralRings => "several-rings",
            Self::SmallRing => "small-ring",
        }
    }
}
