//! pcapng blocks, in the byte order of this machine, with time stamps in nanoseconds.

mod blocks;
mod fast;
mod packet;
mod process;

pub(super) use blocks::{interface, section, statistics};
pub(super) use fast::FastPacketBlock;
pub(super) use packet::{EnhancedPacketBlock, simple, simple_fits};
pub(super) use process::process;

/// Section Header Block.
const SECTION: u32 = 0x0A0D_0D0A;
/// Interface Description Block.
const INTERFACE: u32 = 1;
/// Simple Packet Block.
const SIMPLE_PACKET: u32 = 3;
/// Interface Statistics Block.
const STATISTICS: u32 = 5;
/// Enhanced Packet Block.
const ENHANCED_PACKET: u32 = 6;

/// `opt_comment`, in every block.
const COMMENT: u16 = 1;

/// The first word of an option: code and length.
const fn option_head(code: u16, bytes: u16) -> u32 {
    let [a, b] = code.to_ne_bytes();
    let [c, d] = bytes.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

/// Length of the block at the start of `bytes`, and whether it is a packet. `None` if it is incomplete.
pub(super) fn first_block(bytes: &[u8]) -> Option<(usize, bool)> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
    let kind = u32::from_ne_bytes(*kind);
    (length >= 12 && length <= bytes.len())
        .then_some((length, kind == ENHANCED_PACKET || kind == SIMPLE_PACKET))
}
