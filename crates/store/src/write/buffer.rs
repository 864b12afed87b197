//! The buffer for encoded blocks.

/// Page alignment, so that the kernel copies whole pages.
const ALIGN: usize = 4096;

/// A page-aligned buffer that is filled from its start and emptied as a whole.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Box<[u8]>,
    /// Index of the first aligned byte of `memory`.
    start: usize,
    /// Index in `memory` behind the filled bytes.
    end: usize,
}

impl Buffer {
    /// Allocates and zeroes `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + ALIGN].into_boxed_slice();
        let start = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
        Self {
            memory,
            start,
            end: start,
        }
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    pub(super) fn clear(&mut self) {
        self.end = self.start;
    }

    /// Bytes that can still be claimed.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.memory.len() - self.end
    }

    /// Appends `bytes` bytes to the buffer, for the caller to overwrite.
    ///
    /// # Panics
    /// If there is not enough [`room`](Self::room).
    #[inline]
    pub(super) fn claim(&mut self, bytes: usize) -> &mut [u8] {
        let claimed = &mut self.memory[self.end..][..bytes];
        self.end += bytes;
        claimed
    }

    /// As [`claim`](Self::claim). Returns `None` if there is not enough room.
    #[inline]
    pub(super) fn try_claim(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let claimed = self.memory.get_mut(self.end..)?.get_mut(..bytes)?;
        self.end += bytes;
        Some(claimed)
    }

    /// Grows an empty buffer to at least `bytes`.
    pub(super) fn grow(&mut self, bytes: usize) {
        debug_assert_eq!(self.end, self.start, "growing keeps nothing");
        if self.room() < bytes {
            *self = Self::new(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_starts_at_a_page_and_holds_its_capacity() {
        let mut buffer = Buffer::new(10_000);
        assert_eq!(buffer.filled().as_ptr().align_offset(ALIGN), 0);
        assert_eq!(buffer.claim(10_000).len(), 10_000);
        assert_eq!(buffer.filled().len(), 10_000);
        assert!(buffer.room() <= ALIGN);
    }

    #[test]
    fn growing_keeps_what_suffices() {
        let mut buffer = Buffer::new(64);
        buffer.grow(10);
        assert!(buffer.room() <= 64 + ALIGN);
        buffer.grow(100_000);
        assert!(buffer.room() >= 100_000);
        assert_eq!(buffer.filled().as_ptr().align_offset(ALIGN), 0);
    }
}
