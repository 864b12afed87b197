//! Records, one after another.

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
    /// What begins with the span.
    ///
    /// # Safety
    /// `memory` is the buffer of the span, none of which is released before the packet is done with.
    #[inline]
    pub(super) unsafe fn look(self, memory: &RingBuffer) -> Written {
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
        let (true, Some(place), Some(kept)) = (fits, place, kept) else {
            return Written::Nonsense;
        };
        // SAFETY: mapped: the record's bytes are (`bytes_of`), and they are more than the struct's
        // (checked). Written: the record is not busy. Any bytes are a value of this struct of integers, and
        // no alignment is asked for.
        let mirrored = unsafe { place.cast::<Mirrored>().read_unaligned() };
        // SAFETY: within the record's bytes, or at their end.
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
}

impl<'b> Records<'b> {
    /// The next packet; `None` when a record is not what the program writes.
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'b>> {
        // SAFETY: the span is the batch's, which is released when the batch is dropped; `'b` borrows it.
        let written = unsafe { self.span.look(self.memory) };
        let Written::Packet {
            mirrored,
            bytes,
            kept,
            next,
        } = written
        else {
            return None;
        };
        self.span.at = next;
        let kept = kept.min(self.view.snaplen as usize);
        // SAFETY: `look` found that many bytes in the record; it is written, and nobody changes it before
        // it is released (as above): `__bpf_ringbuf_reserve`, kernel/bpf/ringbuf.c, stays behind that, and
        // so does the program of `bpf::Intake`, which looks how far we have read before it writes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), kept) };
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
}
