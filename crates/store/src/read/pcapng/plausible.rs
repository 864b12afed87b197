//! Blocks in the middle of a file: where one may begin, and the plain ones that most are.

use super::block::{BLOCK_BYTES_MIN, ENHANCED_PACKET, PACKET, SIMPLE_PACKET};
use super::interface::Port;
use super::walk::Pcapng;
use crate::model::Packet;
use crate::read::event::blank;
use crate::read::limits::BLOCK_BYTES_MAX;
use crate::read::order::ByteOrder;
use crate::read::time::Clock;

/// Bytes of an Enhanced Packet Block before its packet.
const ENHANCED_HEADER_BYTES: usize = 28;

/// The `if_tsresol` of nanoseconds.
const NANOSECONDS: u8 = 9;

/// Blocks in a row that have to look right.
const CHAIN: usize = 4;

impl Pcapng {
    /// Whether plain blocks are as this machine would write them to a file with these interfaces.
    pub(in crate::read) fn has_native_blocks(&self) -> bool {
        let native = if cfg!(target_endian = "little") {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        };
        let counts_nanoseconds = |port: &Port| port.clock == Clock::from_resolution(NANOSECONDS);
        self.order == native && self.earlier == 0 && self.ports.iter().all(counts_nanoseconds)
    }

    /// The packet of the block at `at`, and the block's length, if it is an Enhanced Packet Block
    /// without options and all is well with it. Of anything else [`Self::advance`] knows what it is.
    #[inline]
    pub(in crate::read) fn plain<'a>(
        &self,
        bytes: &'a [u8],
        at: usize,
    ) -> Option<(Packet<'a>, usize)> {
        let block = bytes.get(at..)?;
        let [kind, length, interface, high, low, captured, original_len] =
            self.order.words(block)?;
        let port = self.ports.get(interface as usize)?;
        let (length, captured) = (length as usize, captured as usize);
        if kind != ENHANCED_PACKET || captured > port.captured_max {
            return None;
        }
        let end = ENHANCED_HEADER_BYTES + captured.next_multiple_of(4);
        let [trailer] = self.order.words(block.get(end..)?)?;
        if length != end + 4 || trailer as usize != length {
            return None;
        }
        let time = port.clock.nanoseconds(high, low);
        let packet = Packet {
            bytes: block.get(ENHANCED_HEADER_BYTES..)?.get(..captured)?,
            ..blank(self.earlier + interface, time, original_len)
        };
        Some((packet, length))
    }

    /// How far it is to the length at the end of the block that begins in `window`.
    #[inline]
    pub(in crate::read) fn next_trailer(&self, window: &[u8]) -> Option<usize> {
        let [_, length] = self.order.words(window)?;
        (length as usize).checked_sub(4)
    }

    /// The first place in `from..to` of `bytes`, a whole file, where a packet's block seems to
    /// begin: it and those behind it have the same length at both ends.
    ///
    /// Bytes of a packet can look so too: who reads from there has to see that the reading of what
    /// is before ends at this place.
    pub(in crate::read) fn plausible(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        // The length of every block is a multiple of 4.
        (from.next_multiple_of(4)..to)
            .step_by(4)
            .find(|&at| self.begins_packet(bytes, at) && self.begins_chain(bytes, at))
    }

    fn begins_packet(&self, bytes: &[u8], at: usize) -> bool {
        let head = bytes.get(at..).and_then(|rest| self.order.words(rest));
        head.is_some_and(|[kind, length]| {
            matches!(kind, ENHANCED_PACKET | SIMPLE_PACKET | PACKET)
                && length >= BLOCK_BYTES_MIN as u32
        })
    }

    fn begins_chain(&self, bytes: &[u8], mut at: usize) -> bool {
        for _ in 0..CHAIN {
            if at == bytes.len() {
                break;
            }
            let head = bytes.get(at..).and_then(|rest| self.order.words(rest));
            let Some([_, length]) = head else {
                return false;
            };
            if !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&(length as usize)) {
                return false;
            }
            at += (length as usize).next_multiple_of(4);
            let trailer = bytes.get(at - 4..).and_then(|rest| self.order.words(rest));
            if trailer != Some([length]) {
                return false;
            }
        }
        true
    }
}
