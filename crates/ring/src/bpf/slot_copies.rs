//! Copies of the slots of one batch. Slots are copied because the program may overwrite them at any time.

use abi::ring_buffer::HEADER_BYTES;
use wire::record::{RECORD_HEADER_WORDS, RecordHeader};

use super::memory::{Found, RecordMemory, Span};
use crate::prefetch;

/// 8-byte words of a slot before its packet.
const FRONT_WORDS: usize = HEADER_BYTES as usize / 8 + RECORD_HEADER_WORDS;

/// Largest number of slots in a batch, and of their bytes, so that the copies stay in the cache.
const MOST: usize = 128;
const MOST_BYTES: usize = 1 << 14;

/// Copies of consecutive slots.
#[derive(Debug)]
pub(super) struct SlotCopies {
    words: Vec<[u8; 8]>,
    slot_words: usize,
    count: usize,
    /// Number of slots that were written when these were copied, counted from the first copy.
    written: usize,
}

impl SlotCopies {
    /// Allocates room for one batch of slots of `slot_bytes` bytes.
    pub fn new(slot_bytes: u64) -> Self {
        let slot_bytes = slot_bytes as usize;
        let most = (MOST_BYTES / slot_bytes).clamp(1, MOST);
        Self {
            words: vec![[0; 8]; most * slot_bytes / 8],
            slot_words: slot_bytes / 8,
            count: 0,
            written: 0,
        }
    }

    /// Copies the oldest slots of `waiting`. The batch ends where the program's loss counter changes.
    #[inline]
    pub fn find(&mut self, memory: &RecordMemory, waiting: Span, slot_bytes: u64) -> Option<Found> {
        let taken = self.take(memory, waiting);
        let first = self.header(0)?;
        let lost = |number| self.header(number).map(|header| header.lost);
        let packets = match lost(taken - 1) {
            Some(lost) if lost == first.lost => taken,
            _ => {
                (1..taken)
                    .take_while(|&number| lost(number) == Some(first.lost))
                    .count()
                    + 1
            }
        };
        Some(Found {
            span: Span {
                end: waiting.at.wrapping_add(packets as u64 * slot_bytes),
                ..waiting
            },
            packets: packets as u32,
            lost: first.lost,
            monotonic_ns: first.monotonic_ns,
        })
    }

    /// Copies the oldest contiguous slots of `waiting` and returns their number.
    #[inline]
    fn take(&mut self, memory: &RecordMemory, waiting: Span) -> usize {
        let up_to_end = memory.bytes() - (waiting.at & (memory.bytes() - 1));
        let bytes = waiting.end.wrapping_sub(waiting.at).min(up_to_end);
        let slots = (bytes as usize / 8).min(self.words.len()) / self.slot_words;
        self.written = bytes as usize / 8 / self.slot_words;
        memory.copy(waiting.at, &mut self.words[..slots * self.slot_words]);
        self.count = slots;
        slots
    }

    /// The record header of copy `number`, counted from 0.
    #[inline]
    fn header(&self, number: usize) -> Option<RecordHeader> {
        let slot = self.slot(number)?;
        slot[1..].first_chunk().map(RecordHeader::from_words)
    }

    /// Record header and packet bytes of copy `number`, counted from 0. `None` if the program did not write it.
    #[inline]
    pub fn get(&self, number: usize) -> Option<(RecordHeader, &[u8])> {
        let (front, packet) = self.slot(number)?.split_first_chunk::<FRONT_WORDS>()?;
        let [[l0, l1, l2, l3, ..], header @ ..] = front;
        let length = u32::from_ne_bytes([*l0, *l1, *l2, *l3]) as usize;
        let kept = length.checked_sub(8 * RECORD_HEADER_WORDS)?;
        let bytes = packet.as_flattened().get(..kept)?;
        Some((RecordHeader::from_words(header), bytes))
    }

    /// Prefetches the slot one batch length after copy `number`. Does not touch slots that are not written yet:
    /// that would take the cache line away from the CPU that writes it.
    #[inline]
    pub fn fetch(&self, memory: &RecordMemory, batch: Span, number: usize) {
        let ahead = 8 * (self.words.len() + number * self.slot_words) as u64;
        if self.count + number < self.written
            && let Some(slot) = memory.bytes_of(batch.at.wrapping_add(ahead), 0)
        {
            prefetch::two_lines(slot);
        }
    }

    #[inline]
    fn slot(&self, number: usize) -> Option<&[[u8; 8]]> {
        let slots = &self.words[..self.count * self.slot_words];
        slots
            .get(number * self.slot_words..)?
            .get(..self.slot_words)
    }
}
