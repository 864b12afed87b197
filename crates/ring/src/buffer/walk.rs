//! Records, one after another.
//!
//! What the kernel keeps in a ring buffer it does not write to again before it is released, so it is lent. Of
//! slots only the program that fills them says so, and who opened them that this is what fills them: what is
//! in them is read by atomic loads, checked, and copied.

use std::ptr::NonNull;

use abi::ring_buffer::{MIRRORED_BYTES, Mirrored, RingBuffer};
use wire::metadata::{Checksum, Direction};

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
        mirrored: Mirrored,
        bytes: NonNull<u8>,
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
        let Some(whole) = memory.step(bytes) else {
            return Written::Nonsense;
        };
        let fits = whole <= self.end.wrapping_sub(self.at);
        let place = memory.bytes_of(self.at, bytes);
        let kept = (bytes as usize).checked_sub(MIRRORED_BYTES);
        let mirrored = memory.mirrored(self.at, bytes);
        let (true, Some(place), Some(kept), Some(mirrored)) = (fits, place, kept, mirrored) else {
            return Written::Nonsense;
        };
        // SAFETY: within the record's bytes, which are mapped (`bytes_of`), or at their end (checked).
        let bytes = unsafe { place.add(MIRRORED_BYTES) };
        Written::Packet {
            mirrored,
            bytes,
            kept,
            next: self.at.wrapping_add(whole),
        }
    }
}

/// A walk over the records of a batch, oldest first.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    pub(super) memory: &'b RingBuffer,
    pub(super) span: Span,
    pub(super) view: View,
    /// Where packets are copied to that cannot be lent.
    pub(super) scratch: &'b mut [u8],
}

impl<'b> Records<'b> {
    /// The next packet; `None` when a record is not what the program writes.
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'b>> {
        let at = self.span.at;
        let Written::Packet {
            mirrored,
            bytes,
            kept,
            next,
        } = self.span.look(self.memory)
        else {
            return None;
        };
        self.span.at = next;
        let kept = kept.min(self.view.snaplen as usize);
        let bytes = if self.memory.is_to_be_copied() {
            let copied = self.take_scratch(kept)?;
            self.memory.copy_packet(at, copied);
            copied
        } else {
            // SAFETY: `look` found that many bytes in the record. It is written, and nobody changes it before
            // it is released (`__bpf_ringbuf_reserve`, kernel/bpf/ringbuf.c, stays behind that), which
            // happens when the batch is dropped that `'b` borrows.
            unsafe { std::slice::from_raw_parts(bytes.as_ptr(), kept) }
        };
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

    /// The next so many bytes of the scratch memory; `None` when it is used up, which a writer can bring
    /// about that changes records after they were counted.
    #[inline]
    fn take_scratch(&mut self, bytes: usize) -> Option<&'b mut [u8]> {
        let scratch = std::mem::take(&mut self.scratch);
        let (taken, rest) = scratch.split_at_mut_checked(bytes)?;
        self.scratch = rest;
        Some(taken)
    }
}
