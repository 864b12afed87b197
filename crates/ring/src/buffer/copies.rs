//! The slots of a batch in memory of our own, as they cannot be lent.

use abi::ring_buffer::{HEADER_BYTES, MIRRORED_WORDS, Mirrored, RingBuffer};

use super::walk::{Found, Span};
use crate::prefetch;

/// Double words of a slot in front of its packet.
const FRONT_WORDS: usize = HEADER_BYTES as usize / 8 + MIRRORED_WORDS;

/// Slots of a batch, and their bytes, at most: the copies stay near.
const MOST: usize = 128;
const MOST_BYTES: usize = 1 << 14;

/// Copies of slots, made all at once.
#[derive(Debug)]
pub(super) struct Copies {
    words: Vec<[u8; 8]>,
    slot_words: usize,
    count: usize,
    /// Slots that were written when these were copied, from the first of these on.
    written: usize,
}

impl Copies {
    /// Room for a batch of slots of so many bytes.
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

    /// Copies the slots of the next batch, of `waiting`: those before which the program had lost as many.
    #[inline]
    pub fn find(&mut self, memory: &RingBuffer, waiting: Span, slot_bytes: u64) -> Option<Found> {
        let taken = self.take(memory, waiting);
        let first = self.mirrored(0)?;
        let lost = |number| self.mirrored(number).map(|mirrored| mirrored.lost);
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

    /// Copies the oldest slots of `waiting` that are one behind the other; gives their number.
    #[inline]
    fn take(&mut self, memory: &RingBuffer, waiting: Span) -> usize {
        let up_to_end = memory.bytes() - (waiting.at & (memory.bytes() - 1));
        let bytes = waiting.end.wrapping_sub(waiting.at).min(up_to_end);
        let slots = (bytes as usize / 8).min(self.words.len()) / self.slot_words;
        self.written = bytes as usize / 8 / self.slot_words;
        memory.copy(waiting.at, &mut self.words[..slots * self.slot_words]);
        self.count = slots;
        slots
    }

    /// What is told of the packet in copy `number` from 0.
    #[inline]
    fn mirrored(&self, number: usize) -> Option<Mirrored> {
        let slot = self.slot(number)?;
        slot[1..].first_chunk().map(Mirrored::from_words)
    }

    /// Copy `number` from 0: what is told of the packet, and its bytes; `None` if the program did not write it.
    #[inline]
    pub fn get(&self, number: usize) -> Option<(Mirrored, &[u8])> {
        let (front, packet) = self.slot(number)?.split_first_chunk::<FRONT_WORDS>()?;
        let [[l0, l1, l2, l3, ..], mirrored @ ..] = front;
        let length = u32::from_ne_bytes([*l0, *l1, *l2, *l3]) as usize;
        let kept = length.checked_sub(8 * MIRRORED_WORDS)?;
        let bytes = packet.as_flattened().get(..kept)?;
        Some((Mirrored::from_words(mirrored), bytes))
    }

    /// Fetches the slot that is as far behind copy `number` as a batch is long. One that is not written yet would be
    /// fetched away from who writes it.
    #[inline]
    pub fn fetch(&self, memory: &RingBuffer, batch: Span, number: usize) {
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
