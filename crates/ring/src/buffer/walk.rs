//! Records, one after another.
//!
//! What the kernel keeps in a ring buffer it does not write to again before it is released, so it is lent. Of
//! slots only the program that fills them says so, and who opened them that this is what fills them: what is
//! in them is read by atomic loads, checked, and copied.

use abi::ring_buffer::{MIRRORED_BYTES, MIRRORED_WORDS, Mirrored, RingBuffer};
use wire::metadata::{Checksum, Direction};

use super::copies::Copies;
use crate::options::TimestampSource;
use crate::packet::Packet;
use crate::xdp::{View, reception};

/// Positions from `at` up to `end`, which lie in the buffer and have not been released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub at: u64,
    pub end: u64,
}

/// What the program has written at a position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Written {
    /// Nothing, or it is not finished.
    Nothing,
    /// What it does not write: where the next record begins cannot be told.
    Nonsense,
    /// A packet.
    Packet {
        /// Bytes that are kept of it.
        kept: usize,
        /// Where the next record begins.
        next: u64,
    },
}

impl Span {
    /// What begins with the span, which is one of `memory`.
    #[inline]
    pub(super) fn look(self, memory: &RingBuffer) -> Written {
        if self.at == self.end {
            return Written::Nothing;
        }
        let Some(bytes) = memory.record(self.at) else {
            return Written::Nothing;
        };
        let kept = (bytes as usize).checked_sub(MIRRORED_BYTES);
        let (Some(whole), Some(kept)) = (memory.step(bytes), kept) else {
            return Written::Nonsense;
        };
        if whole > self.end.wrapping_sub(self.at) {
            return Written::Nonsense;
        }
        Written::Packet {
            kept,
            next: self.at.wrapping_add(whole),
        }
    }

    /// What the program tells of the packet that begins with the span.
    #[inline]
    pub(super) fn mirrored(self, memory: &RingBuffer) -> Mirrored {
        let mut words = [[0; 8]; MIRRORED_WORDS];
        memory.copy(self.at, &mut words);
        Mirrored::from_words(&words)
    }
}

/// A walk over the records of a batch, oldest first.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    pub(super) memory: &'b RingBuffer,
    pub(super) span: Span,
    pub(super) view: View,
    /// Those of the batch, if they are not lent, and which is the next.
    pub(super) copies: Option<(&'b Copies, usize)>,
}

impl<'b> Records<'b> {
    /// The next packet; `None` when a record is not what the program writes.
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'b>> {
        let (mirrored, bytes) = match &mut self.copies {
            Some((copies, number)) => {
                let copy = copies.get(*number);
                *number += 1;
                copy
            }
            None => self.lent(),
        }?;
        let bytes = &bytes[..bytes.len().min(self.view.snaplen as usize)];
        Some(Packet {
            bytes,
            original_len: mirrored.original_len,
            timestamp_ns: self.view.offset.realtime_ns(mirrored.monotonic_ns),
            timestamp_source: TimestampSource::Kernel,
            direction: Direction::In,
            reception: self.view.mac.and_then(|own| reception(bytes, own)),
            checksum: Checksum::Unknown,
            vlan_tag: None,
            link: self.view.link,
            queue: Some(mirrored.queue),
        })
    }

    /// The record that begins with the span, where it is.
    #[inline]
    fn lent(&mut self) -> Option<(Mirrored, &'b [u8])> {
        let Written::Packet { kept, next } = self.span.look(self.memory) else {
            return None;
        };
        let mirrored = self.span.mirrored(self.memory);
        let whole = (MIRRORED_BYTES + kept) as u32;
        let place = self.memory.bytes_of(self.span.at, whole)?;
        self.span.at = next;
        // SAFETY: so many bytes are mapped from there, and more (`bytes_of`).
        let bytes = unsafe { place.add(MIRRORED_BYTES) };
        // SAFETY: mapped, as above. The record is written (`look`), and nobody changes it before it is
        // released (`__bpf_ringbuf_reserve`, kernel/bpf/ringbuf.c, stays behind that), which happens when
        // the batch is dropped that `'b` borrows.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), kept) };
        Some((mirrored, bytes))
    }
}
