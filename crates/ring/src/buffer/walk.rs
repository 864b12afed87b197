//! Records, one after another.
//!
//! What the kernel keeps in a ring buffer it does not write to again before it is released, so it is lent. Of
//! slots only the program that fills them says so, and who opened them that this is what fills them: they are
//! copied as they are, and the copies checked.

use abi::ring_buffer::{MIRRORED_BYTES, Mirrored, RingBuffer};
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

/// The records of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub span: Span,
    pub packets: u32,
    /// What the program had lost before.
    pub lost: u64,
    /// When the first packet was seen.
    pub monotonic_ns: u64,
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

    /// What is behind the first `packets` of the span.
    pub(super) fn behind(self, packets: u32, memory: &RingBuffer) -> Self {
        let mut rest = self;
        match memory.slot_bytes() {
            Some(slot_bytes) => rest.at = rest.at.wrapping_add(u64::from(packets) * slot_bytes),
            None => {
                for _ in 0..packets {
                    if let Written::Packet { next, .. } = rest.look(memory) {
                        rest.at = next;
                    }
                }
            }
        }
        rest
    }

    /// Packets in it, up to one that is being written.
    pub(super) fn count(self, memory: &RingBuffer) -> u64 {
        if let Some(slot_bytes) = memory.slot_bytes() {
            return self.end.wrapping_sub(self.at) / slot_bytes;
        }
        let mut rest = self;
        let mut count = 0;
        while let Written::Packet { next, .. } = rest.look(memory) {
            rest.at = next;
            count += 1;
        }
        count
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
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: what its caller does not read is not made"
    )]
    pub fn next(&mut self) -> Option<Packet<'b>> {
        let (mirrored, bytes) = match &mut self.copies {
            Some((copies, number)) => {
                let copy = copies.get(*number);
                copies.fetch(self.memory, self.span, *number);
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
            queue: self.view.queue(mirrored.queue.into()),
        })
    }

    /// The record that begins with the span, where it is.
    #[inline]
    fn lent(&mut self) -> Option<(Mirrored, &'b [u8])> {
        let Written::Packet { kept, next } = self.span.look(self.memory) else {
            return None;
        };
        let mirrored = self.memory.mirrored(self.span.at);
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
