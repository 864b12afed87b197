//! Iterates over the records of a batch.
//!
//! The kernel does not write to a ring buffer record before the reader releases it, so records are lent. Slots
//! have no such guarantee from the kernel: they are copied, and the copies are checked.

use wire::metadata::{Checksum, Direction};
use wire::record::{DeviceMetadata, RECORD_HEADER_BYTES, RecordHeader};

use super::memory::{RecordMemory, Span, Written};
use super::slot_copies::SlotCopies;
use crate::device_clock::ClockLine;
use crate::options::TimestampSource;
use crate::packet::RingPacket;
use crate::properties::{RingProperties, reception};

/// Iterator over the records of a batch, oldest first.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    pub(super) memory: &'b RecordMemory,
    pub(super) span: Span,
    pub(super) properties: RingProperties,
    /// Converts the device's time stamps. `None` if records have none.
    pub(super) device_line: Option<ClockLine>,
    /// Copies of the batch's slots and the index of the next. `None` if records are lent.
    pub(super) copies: Option<(&'b SlotCopies, usize)>,
}

impl<'b> Records<'b> {
    /// The next packet. `None` if a record is invalid.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet: fields that the caller does not read are not computed"
    )]
    pub fn next(&mut self) -> Option<RingPacket<'b>> {
        let (header, bytes) = match &mut self.copies {
            Some((copies, number)) => {
                let copy = copies.get(*number);
                copies.fetch(self.memory, self.span, *number);
                *number += 1;
                copy
            }
            None => self.lent(),
        }?;
        let mut bytes = bytes;
        let mut timestamp_ns = self.properties.offset.realtime_ns(header.monotonic_ns);
        let mut timestamp_source = TimestampSource::Kernel;
        let mut hash = None;
        if let Some(line) = self.device_line {
            let (told, packet) = bytes.split_first_chunk()?;
            let told = DeviceMetadata::from_bytes(told);
            bytes = packet;
            hash = told.hash();
            if let Some(device_ns) = told.time_ns() {
                timestamp_ns = line.realtime_ns(device_ns);
                timestamp_source = TimestampSource::Hardware;
            }
        }
        let bytes = &bytes[..bytes.len().min(self.properties.snaplen as usize)];
        Some(RingPacket {
            bytes,
            original_len: header.original_len,
            timestamp_ns,
            timestamp_source,
            direction: Direction::In,
            reception: self.properties.mac.and_then(|own| reception(bytes, own)),
            checksum: Checksum::Unknown,
            vlan_tag: None,
            hash,
            link: self.properties.link,
            queue: self.properties.queue(header.queue.into()),
        })
    }

    /// Lends the first record of the span.
    #[inline]
    fn lent(&mut self) -> Option<(RecordHeader, &'b [u8])> {
        let Written::Packet { kept, next } = self.span.look(self.memory) else {
            return None;
        };
        let header = self.memory.header(self.span.at);
        let whole = (RECORD_HEADER_BYTES + kept) as u32;
        let place = self.memory.bytes_of(self.span.at, whole)?;
        self.span.at = next;
        // SAFETY: `bytes_of` checked that more than this many bytes are mapped from there.
        let bytes = unsafe { place.add(RECORD_HEADER_BYTES) };
        // SAFETY: mapped, as above. The record is finished (`look`). The kernel does not write to it before the
        // reader releases it (`__bpf_ringbuf_reserve`, kernel/bpf/ringbuf.c, stops at the read position), and the
        // reader releases it when the batch is dropped, which `'b` borrows.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), kept) };
        Some((header, bytes))
    }
}
