//! The fast encoder for typical packets: with a time, flags, and optionally a queue.

use super::ENHANCED_PACKET;
use super::packet::{FLAGS, HEADER, QUEUE, flags, has_rare_options, put};
use crate::model::Packet;

/// Bytes behind the packet: flags, end of options, length.
const TAIL: usize = 8 + 4 + 4;
/// Bytes of the queue option.
const QUEUE_BYTES: usize = 8;

/// An Enhanced Packet Block whose layout depends only on the packet's length and its queue, so that a few
/// stores write it. [`EnhancedPacketBlock`](super::EnhancedPacketBlock) writes the same bytes.
pub(in super::super) struct FastPacketBlock<'a> {
    packet: &'a Packet<'a>,
    bytes: &'a [u8],
    timestamp_ns: u64,
    flags: u32,
    length: usize,
}

impl<'a> FastPacketBlock<'a> {
    /// The block of `packet` with the captured `bytes`. `None` if it has other options.
    #[inline]
    pub(in super::super) fn new(packet: &'a Packet<'a>, bytes: &'a [u8]) -> Option<Self> {
        let timestamp_ns = packet.timestamp_ns?;
        let flags = flags(packet);
        if flags == 0 || has_rare_options(packet) {
            return None;
        }
        let queue = if packet.queue.is_some() {
            QUEUE_BYTES
        } else {
            0
        };
        Some(Self {
            packet,
            bytes,
            timestamp_ns,
            flags,
            length: HEADER + padded(bytes.len()) + queue + TAIL,
        })
    }

    /// Its length in bytes.
    #[inline]
    pub(in super::super) fn length(&self) -> usize {
        self.length
    }

    /// Writes it to `out`, which must have its length.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a packet whose address is passed on is stored in memory first, field by field"
    )]
    pub(in super::super) fn encode(&self, out: &mut [u8]) {
        let header = [
            ENHANCED_PACKET,
            self.length as u32,
            self.packet.interface,
            (self.timestamp_ns >> 32) as u32,
            self.timestamp_ns as u32,
            self.bytes.len() as u32,
            self.packet.original_len,
        ];
        let (head, rest) = out.split_at_mut(HEADER);
        head.copy_from_slice(header.map(u32::to_ne_bytes).as_flattened());
        let (body, end) = rest.split_at_mut(padded(self.bytes.len()));
        let (flags, length) = (self.flags, self.length as u32);
        match self.packet.queue {
            None => put(end, [FLAGS, flags, 0, length]),
            Some(queue) => put(end, [FLAGS, flags, QUEUE, queue, 0, length]),
        };
        // Clears the padding with its word, before the packet's last bytes are written there.
        if let Some(last) = body.last_chunk_mut::<4>() {
            *last = [0; 4];
        }
        copy(&mut body[..self.bytes.len()], self.bytes);
    }
}

/// A packet's length, padded to whole words. It cannot wrap for packets that are written.
#[inline]
fn padded(length: usize) -> usize {
    length.wrapping_add(3) & !3
}

/// Copies `bytes` to `out`, which has the same length. Short packets are copied as two overlapping halves
/// of constant length, which costs less than a call.
#[inline]
fn copy(out: &mut [u8], bytes: &[u8]) {
    const HALF: usize = 64;
    if bytes.len() <= 2 * HALF
        && let (Some(first), Some(last)) = (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>())
    {
        if let Some(out) = out.first_chunk_mut() {
            *out = *first;
        }
        if let Some(out) = out.last_chunk_mut() {
            *out = *last;
        }
    } else {
        out.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::EnhancedPacketBlock;
    use super::*;
    use crate::model::{Checksum, Direction, Reception};

    #[test]
    fn a_block_has_the_bytes_of_the_general_encoder() {
        let bytes: Vec<u8> = (1..=255).cycle().take(400).collect();
        let mut blocks = 0;
        for length in 0..bytes.len() {
            let number = length as u32;
            for queue in [None, Some(7 + number)] {
                let packet = Packet {
                    interface: number % 3,
                    original_len: number + 5,
                    direction: [None, Some(Direction::In), Some(Direction::Out)][length % 3],
                    reception: [None, Some(Reception::Unicast)][length / 3 % 2],
                    checksum: [Checksum::Unknown, Checksum::Valid][length / 6 % 2],
                    queue,
                    ..Packet::new(0x0102_0304_0506_0708 + u64::from(number), &bytes)
                };
                let bytes = &bytes[..length];
                let Some(block) = FastPacketBlock::new(&packet, bytes) else {
                    assert_eq!(flags(&packet), 0);
                    continue;
                };
                let general = EnhancedPacketBlock::new(&packet, bytes);
                assert_eq!(block.length(), general.length());
                let [mut fast, mut expected] = [(); 2].map(|()| vec![0xee; block.length()]);
                block.encode(&mut fast);
                general.encode(&mut expected);
                assert_eq!(fast, expected, "{length} {queue:?}");
                blocks += 1;
            }
        }
        assert!(blocks > bytes.len(), "{blocks}");
        // What it has no place for.
        let rare = Packet {
            direction: Some(Direction::In),
            packet_id: Some(1),
            ..Packet::new(1, &bytes)
        };
        assert!(FastPacketBlock::new(&rare, &bytes).is_none());
    }
}
