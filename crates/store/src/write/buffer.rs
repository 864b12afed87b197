//! The buffer for encoded blocks.

use std::alloc::{Layout, handle_alloc_error};

use abi::pages::Pages;

/// A buffer that is filled from its start and emptied as a whole. It begins at a page, so that the kernel copies whole
/// pages.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Pages,
    /// Index in `memory` behind the filled bytes.
    end: usize,
}

impl Buffer {
    /// Allocates `capacity` bytes or somewhat more.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            memory: pages(capacity),
            end: 0,
        }
    }

    /// Allocates `count` buffers of `capacity` bytes or somewhat more, next to each other.
    pub(super) fn several(count: usize, capacity: usize) -> Vec<Self> {
        let buffer = |memory| Self { memory, end: 0 };
        parts(count, capacity).into_iter().map(buffer).collect()
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.memory[..self.end]
    }

    pub(super) fn clear(&mut self) {
        self.end = 0;
    }

    /// Number of filled bytes.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.end
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
        debug_assert_eq!(self.end, 0, "growing keeps nothing");
        if self.room() < bytes {
            *self = Self::new(bytes);
        }
    }
}

/// Memory of `bytes` bytes or somewhat more.
pub(super) fn pages(bytes: usize) -> Pages {
    match parts(1, bytes).pop() {
        Some(pages) => pages,
        None => handle_alloc_error(Layout::new::<Pages>()),
    }
}

fn parts(count: usize, bytes: usize) -> Vec<Pages> {
    match Pages::map(count, bytes) {
        Ok(parts) => parts,
        // As for every other allocation.
        Err(_) => handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    #[test]
    fn the_buffer_starts_at_a_page_and_holds_its_capacity() {
        for mut buffer in Buffer::several(2, 10_000) {
            assert_eq!(buffer.filled().as_ptr().align_offset(PAGE), 0);
            assert_eq!(buffer.claim(10_000).len(), 10_000);
            assert_eq!(buffer.filled().len(), 10_000);
        }
    }

    #[test]
    fn growing_keeps_what_suffices() {
        let mut buffer = Buffer::new(64);
        let room = buffer.room();
        buffer.grow(10);
        assert_eq!(buffer.room(), room);
        buffer.grow(100_000);
        assert!(buffer.room() >= 100_000);
        assert_eq!(buffer.filled().as_ptr().align_offset(PAGE), 0);
    }
}
