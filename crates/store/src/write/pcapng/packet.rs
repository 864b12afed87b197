//! Packet blocks.

use super::{COMMENT, ENHANCED_PACKET, SIMPLE_PACKET, option_head};
use crate::block::kind;
use crate::model::{Checksum, Direction, Packet, Reception};

/// Bytes of an Enhanced Packet Block before its packet.
pub(super) const HEADER: usize = 28;
pub(super) const FLAGS: u32 = option_head(2, 4);
/// `epb_hash`: a byte for the algorithm, 5 for Toeplitz, and the hash.
const HASH: u32 = option_head(3, 5);
const TOEPLITZ: u8 = 5;
const DROPS: u16 = 4;
const DROP_COUNT: u32 = option_head(DROPS, 8);
const PACKET_ID: u32 = option_head(5, 8);
pub(super) const QUEUE: u32 = option_head(6, 4);
/// `epb_processid_threadid`: the thread is 0, not known.
const PROCESS: u32 = option_head(8, 8);

/// Maximum bytes of a comment. A longer one is truncated at a whole character.
const COMMENT_BYTES_MAX: usize = 4096;

/// An Enhanced Packet Block with a known layout, ready to be written.
pub(in super::super) struct EnhancedPacketBlock<'a> {
    packet: &'a Packet<'a>,
    bytes: &'a [u8],
    comment: Option<&'a str>,
    flags: u32,
    /// The drop count, of options that do not have it.
    other_drops: Option<u64>,
    length: usize,
}

impl<'a> EnhancedPacketBlock<'a> {
    /// The block of `packet` with the captured `bytes`.
    #[inline]
    pub(in super::super) fn new(packet: &'a Packet<'a>, bytes: &'a [u8]) -> Self {
        let flags = flags(packet);
        let shortened = |text: &'a str| &text[..text.floor_char_boundary(COMMENT_BYTES_MAX)];
        let comment = packet.comment.map(shortened);
        let raw = packet.options;
        // That of an obsolete Packet Block is no option.
        let other_drops = packet
            .drop_count
            .filter(|_| !raw.is_empty() && !raw.into_iter().any(|option| option.code == DROPS));
        let mut options = comment.map_or(0, |text| 4 + text.len().next_multiple_of(4));
        if flags != 0 {
            options += 8;
        }
        for is_there in [
            packet.toeplitz.is_some(),
            packet.drop_count.is_some(),
            packet.process_id.is_some(),
        ] {
            if is_there {
                options += 12;
            }
        }
        if packet.packet_id.is_some() {
            options += 12;
        }
        if packet.queue.is_some() {
            options += 8;
        }
        if !packet.options.is_empty() {
            options = packet.options.bytes.len();
            if other_drops.is_some() {
                options += 12;
            }
        }
        if options != 0 {
            options += 4;
        }
        let length = HEADER + bytes.len().next_multiple_of(4) + options + 4;
        Self {
            packet,
            bytes,
            comment,
            flags,
            other_drops,
            length,
        }
    }

    /// Its length in bytes.
    #[inline]
    pub(in super::super) fn length(&self) -> usize {
        self.length
    }

    /// Writes it to `out`, which must have its length.
    #[inline]
    pub(in super::super) fn encode(&self, out: &mut [u8]) {
        let packet = self.packet;
        let time = packet.timestamp_ns.unwrap_or(0);
        let header = [
            ENHANCED_PACKET,
            self.length as u32,
            packet.interface,
            (time >> 32) as u32,
            time as u32,
            self.bytes.len() as u32,
            packet.original_len,
        ];
        let (head, rest) = out.split_at_mut(HEADER);
        head.copy_from_slice(header.map(u32::to_ne_bytes).as_flattened());
        let (body, mut tail) = rest.split_at_mut(self.bytes.len().next_multiple_of(4));
        // Clears the padding with its word, before the packet's last bytes are written there.
        if let Some(last) = body.last_chunk_mut::<4>() {
            *last = [0; 4];
        }
        body[..self.bytes.len()].copy_from_slice(self.bytes);

        if !packet.options.is_empty() {
            let (options, rest) = tail.split_at_mut(packet.options.bytes.len());
            options.copy_from_slice(packet.options.bytes);
            packet.options.make_native(kind::PACKET, options);
            tail = rest;
            if let Some(count) = self.other_drops {
                tail = put(put(tail, [DROP_COUNT]), halves(count));
            }
            put(tail, [0, self.length as u32]);
            return;
        }
        let any = tail.len() > 4;
        if let Some(text) = self.comment {
            let (option, rest) = tail.split_at_mut(4 + text.len().next_multiple_of(4));
            let value = put(option, [option_head(COMMENT, text.len() as u16)]);
            if let Some(last) = value.last_chunk_mut::<4>() {
                *last = [0; 4];
            }
            value[..text.len()].copy_from_slice(text.as_bytes());
            tail = rest;
        }
        if self.flags != 0 {
            tail = put(tail, [FLAGS, self.flags]);
        }
        if let Some(hash) = packet.toeplitz {
            let [a, b, c, d] = hash.to_ne_bytes();
            let words = [[TOEPLITZ, a, b, c], [d, 0, 0, 0]].map(u32::from_ne_bytes);
            tail = put(put(tail, [HASH]), words);
        }
        if let Some(count) = packet.drop_count {
            tail = put(put(tail, [DROP_COUNT]), halves(count));
        }
        if let Some(id) = packet.packet_id {
            tail = put(put(tail, [PACKET_ID]), halves(id));
        }
        if let Some(queue) = packet.queue {
            tail = put(tail, [QUEUE, queue]);
        }
        if let Some(process) = packet.process_id {
            tail = put(tail, [PROCESS, process, 0]);
        }
        if any {
            tail = put(tail, [0]);
        }
        put(tail, [self.length as u32]);
    }
}

/// Writes `words` to the start of `out`. Returns the rest.
#[inline]
pub(super) fn put<const N: usize>(out: &mut [u8], words: [u32; N]) -> &mut [u8] {
    let (here, rest) = out.split_at_mut(4 * N);
    here.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
    rest
}

/// A 64-bit number as two words, in memory order.
#[inline]
fn halves(value: u64) -> [u32; 2] {
    let (low, high) = (value as u32, (value >> 32) as u32);
    if cfg!(target_endian = "little") {
        [low, high]
    } else {
        [high, low]
    }
}

/// `epb_flags`. 0 means that nothing is known.
#[inline]
pub(super) fn flags(packet: &Packet<'_>) -> u32 {
    let direction = match packet.direction {
        None => 0,
        Some(Direction::In) => 1,
        Some(Direction::Out) => 2,
    };
    let reception = match packet.reception {
        None => 0,
        Some(Reception::Unicast) => 1,
        Some(Reception::Multicast) => 2,
        Some(Reception::Broadcast) => 3,
        Some(Reception::Promiscuous) => 4,
    };
    let checksum = match packet.checksum {
        Checksum::Unknown => 0,
        Checksum::NotReady => 1,
        Checksum::Valid => 2,
    };
    direction | reception << 2 | checksum << 9
}

/// Whether a Simple Packet Block can store everything about a packet without a time.
pub(in super::super) fn simple_fits(packet: &Packet<'_>, bytes: &[u8], snaplen: usize) -> bool {
    packet.interface == 0
        && bytes.len() == snaplen.min(packet.original_len as usize)
        && flags(packet) == 0
        && !has_rare_options(packet)
        && packet.queue.is_none()
}

/// Whether `packet` has options that few packets have.
#[inline]
pub(super) fn has_rare_options(packet: &Packet<'_>) -> bool {
    packet.toeplitz.is_some()
        || packet.drop_count.is_some()
        || packet.packet_id.is_some()
        || packet.process_id.is_some()
        || packet.comment.is_some()
        || !packet.options.is_empty()
}

/// The Simple Packet Block of `bytes`.
pub(in super::super) fn simple(bytes: &[u8], original_len: u32) -> Vec<u8> {
    let padded = bytes.len().next_multiple_of(4);
    let length = (16 + padded) as u32;
    let mut block = Vec::with_capacity(length as usize);
    block.extend(
        [SIMPLE_PACKET, length, original_len]
            .map(u32::to_ne_bytes)
            .as_flattened(),
    );
    block.extend(bytes);
    block.resize(12 + padded, 0);
    block.extend(length.to_ne_bytes());
    block
}
