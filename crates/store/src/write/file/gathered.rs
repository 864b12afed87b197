//! Packets that are written from where they were encoded.

use std::io::IoSlice;

use super::super::WriteError;
use super::super::sink::Sink;
use super::CaptureFile;

/// Packets of fewer bytes together are copied into the buffer. A copy reads them from memory outside of the caches, which
/// costs more than a system call from a hundred packets on.
const GATHERED_BYTES_MIN: usize = 16 << 10;

impl CaptureFile {
    /// Whether the kernel can take packets from where they are: not if their bytes are looked at before they are written,
    /// or if each of them can begin a file.
    pub(in super::super) fn gathers(&self) -> bool {
        self.is_plain
            && self.frames.is_none()
            && self.secrets.is_none()
            && self.indexes.counts().is_none()
            && self.sink.as_ref().is_some_and(Sink::is_descriptor)
    }

    /// Adds `packets` packets of a file that [gathers](Self::gathers): native blocks of this file, whole in each of `ranges`,
    /// which are `bytes` bytes together.
    ///
    /// Cost: a `writev(2)`, or one copy if they are few.
    ///
    /// # Errors
    /// As [`write_blocks`](Self::write_blocks).
    pub(in super::super) fn write_ranges(
        &mut self,
        ranges: &mut [IoSlice<'_>],
        bytes: usize,
        packets: u64,
    ) -> Result<(), WriteError> {
        if bytes < GATHERED_BYTES_MIN {
            if bytes > self.buffer.room() || self.sink.is_none() {
                self.make_way(bytes, 0)?;
            }
            self.accepted += packets;
            for range in ranges {
                self.buffer.claim(range.len()).copy_from_slice(range);
            }
            return Ok(());
        }
        self.flush()?;
        self.accepted += packets;
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        let result = sink.write_ranges(ranges, bytes, |part| self.encoder.whole_records(part));
        self.settle(result)
    }
}
