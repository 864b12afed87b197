//! Packets that are there as blocks already.

use super::CaptureFile;
use crate::write::WriteError;

impl CaptureFile {
    /// Whether [`Self::write_blocks`] may be used: this is one pcapng file, not a row of them.
    pub fn takes_blocks(&self) -> bool {
        self.encoder.unit().is_none() && !self.budget.rules().is_any()
    }

    /// Adds `packets` packets as the `blocks` that another file holds, without a look into them.
    ///
    /// They have to be whole Enhanced Packet Blocks as this file would have them (see
    /// [`Spot::block_bytes`](crate::read::Spot::block_bytes)) with the numbers of its interfaces, or
    /// the file is damaged. They are not cut to a snaplen.
    ///
    /// Cost: one copy, and as [`Self::write`] when the buffer is full.
    ///
    /// # Errors
    /// As [`Self::write`], of making room; none of the packets is accepted then.
    pub fn write_blocks(&mut self, blocks: &[u8], packets: u64) -> Result<(), WriteError> {
        if blocks.len() > self.buffer.room() || self.sink.is_none() {
            self.make_way(blocks.len(), 0)?;
        }
        self.accepted += packets;
        self.buffer.claim(blocks.len()).copy_from_slice(blocks);
        Ok(())
    }
}
