//! Decoding in the middle of a file: the fast path for plain blocks, and the search for a block.

use super::block::{BLOCK_BYTES_MIN, ENHANCED_PACKET, PACKET, SIMPLE_PACKET};
use super::decoder::Pcapng;
use super::descriptions::PacketInterface;
use crate::model::Packet;
use crate::read::clock::Clock;
use crate::read::format::{BLOCK_BYTES_MAX, ByteOrder, Frame, plain_packet};

/// Bytes of an Enhanced Packet Block before its packet.
const ENHANCED_HEADER_BYTES: usize = 28;

/// The `if_tsresol` of nanoseconds.
const NANOSECONDS: u8 = 9;

/// Consecutive blocks that must be consistent to guess the start of a block.
const CHAIN: usize = 4;

impl Pcapng {
    /// Whether this machine would write plain blocks with the same bytes to a file with these interfaces.
    pub(in crate::read) fn has_native_blocks(&self) -> bool {
        let native = if cfg!(target_endian = "little") {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        };
        let counts_nanoseconds =
            |interface: &PacketInterface| interface.clock == Clock::from_resolution(NANOSECONDS);
        self.order == native
            && self.first_interface == 0
            && self.interfaces.iter().all(counts_nanoseconds)
    }

    /// Decodes the Enhanced Packet Block at the start of `block`, if it is valid and has no options.
    ///
    /// Returns the packet and the block's length. Everything else is for [`Self::step`].
    #[inline]
    pub(in crate::read) fn plain<'a>(&self, block: &'a [u8]) -> Option<(Packet<'a>, usize)> {
        let (frame, original_len, has_options) = self.enhanced(self.order, block)?;
        if has_options {
            return None;
        }
        let packet = Packet {
            bytes: frame.bytes,
            ..plain_packet(frame.interface, frame.timestamp_ns, original_len)
        };
        Some((packet, frame.block_bytes))
    }

    /// Decodes the Enhanced Packet Block at the start of `block`, but not its options, which may be invalid. Everything else is for
    /// [`Self::step`].
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what it returns stays in registers")]
    pub(in crate::read) fn frame<'a>(&self, block: &'a [u8]) -> Option<Frame<'a>> {
        if self.order != ByteOrder::NATIVE {
            return self.foreign_frame(block);
        }
        // Without a choice between two orders for each number.
        self.enhanced(ByteOrder::NATIVE, block)
            .map(|(frame, ..)| frame)
    }

    /// As [`Self::frame`], for a file of a machine with another byte order.
    #[inline(never)]
    fn foreign_frame<'a>(&self, block: &'a [u8]) -> Option<Frame<'a>> {
        self.enhanced(self.order, block).map(|(frame, ..)| frame)
    }

    /// As [`Self::frame`], for a file of this `order`, with the length on the wire and whether there are options.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what it returns stays in registers")]
    fn enhanced<'a>(&self, order: ByteOrder, block: &'a [u8]) -> Option<(Frame<'a>, u32, bool)> {
        let [kind, length, interface, high, low, captured, original_len] = order.words(block)?;
        let packet_interface = self.interfaces.get(interface as usize)?;
        let (length, captured) = (length as usize, captured as usize);
        if kind != ENHANCED_PACKET || captured > packet_interface.captured_max {
            return None;
        }
        // Without the padding of the packet. A length of whole words that is at least this has room for the padding, too.
        let unpadded = ENHANCED_HEADER_BYTES + captured + 4;
        if length < unpadded || !length.is_multiple_of(4) {
            return None;
        }
        let (body, trailer) = block.get(..length)?.split_last_chunk::<4>()?;
        let [trailer] = order.words(trailer)?;
        if trailer as usize != length {
            return None;
        }
        let frame = Frame {
            interface: self.first_interface + interface,
            timestamp_ns: packet_interface.clock.nanoseconds(high, low),
            bytes: body.get(ENHANCED_HEADER_BYTES..)?.get(..captured)?,
            block_bytes: length,
        };
        Some((frame, original_len, length >= unpadded + 4))
    }

    /// The first index in `..within` of `window` at which a packet's block seems to begin: it and the
    /// next ones have the same length at both ends. `offset` is the window's in the file.
    ///
    /// Packet bytes can look like that, too. `reaches_end` says that the file ends with the window.
    pub(in crate::read) fn find_packet(
        &self,
        window: &[u8],
        offset: u64,
        within: usize,
        reaches_end: bool,
    ) -> Option<usize> {
        // The length of every block is a multiple of 4.
        let first = (offset.next_multiple_of(4) - offset) as usize;
        (first..within).step_by(4).find(|&index| {
            self.begins_packet(window, index) && self.begins_chain(window, index, reaches_end)
        })
    }

    fn begins_packet(&self, window: &[u8], index: usize) -> bool {
        self.words_at(window, index).is_some_and(|[kind, length]| {
            matches!(kind, ENHANCED_PACKET | SIMPLE_PACKET | PACKET)
                && length >= BLOCK_BYTES_MIN as u32
        })
    }

    fn begins_chain(&self, window: &[u8], mut index: usize, reaches_end: bool) -> bool {
        for checked in 0..CHAIN {
            // One block with equal lengths suffices if the next one is outside the window.
            let is_enough = if reaches_end {
                index == window.len()
            } else {
                checked > 0
            };
            let Some([_, length]) = self.words_at(window, index) else {
                return is_enough;
            };
            if !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&(length as usize)) {
                return false;
            }
            index += (length as usize).next_multiple_of(4);
            let Some([trailer]) = self.words_at(window, index - 4) else {
                return is_enough && !reaches_end;
            };
            if trailer != length {
                return false;
            }
        }
        true
    }

    fn words_at<const N: usize>(&self, window: &[u8], index: usize) -> Option<[u32; N]> {
        window.get(index..).and_then(|rest| self.order.words(rest))
    }
}
