//! The layout of a ring's memory, from what its reader asked for.

use std::time::Duration;

use abi::packet::BlockDesc;
use abi::region::page_bytes;

use crate::error::OptionError;
use crate::options::{Backend, DEFAULT_STALL, Delivery, Options, STALL_PPS};
use crate::ring::MAX_FRAMES;

/// Free bytes before each packet, room for a VLAN tag to be put back.
pub(crate) const RESERVE_BYTES: u32 = 4;

/// Headers before a packet's bytes, at most: ring header, address, alignment and [`RESERVE_BYTES`].
const HEADROOM_BYTES: usize = 128;

/// The largest packet a driver hands over unless "BIG TCP" is set up: 64 KiB and an Ethernet header.
const LARGEST_PACKET_BYTES: usize = 65_536 + 18;

/// Blocks that a ring has at least: one with the reader, one with the kernel.
const MIN_BLOCKS: usize = 2;

/// The smallest frame. A packet so short takes hardly less of a block, so that TPACKET_V3 has room for no more.
const SMALLEST_FRAME_BYTES: usize = 256;

/// Blocks that the timer hands over while a reader gathers, beyond which they count no more: its batch may
/// end early then, since the ring fills.
const GATHERED_BLOCKS: usize = 16;

/// The longest block timer with which blocks suit a reader that gathers; it sees no packets of a block
/// before that is handed over.
const COARSE_MS: u32 = 16;

/// Memory of a ring: `count` equal slots, which are frames in V2 and blocks in V3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub backend: Backend,
    /// Bytes of a slot. Slots are contiguous.
    pub slot_bytes: usize,
    pub count: usize,
    /// Bytes of a block as the kernel allocates them: one slot in V3, several frames in V2.
    pub block_bytes: usize,
    /// V3: milliseconds after which a block is handed over though not full.
    pub retire_ms: u32,
    /// The pause of the reader for which the ring is larger than was asked for.
    pub grown_for: Option<Duration>,
}

impl Geometry {
    pub fn new(options: &Options) -> Result<Self, OptionError> {
        Self::in_pages(options, page_bytes())
    }

    fn in_pages(options: &Options, page_bytes: usize) -> Result<Self, OptionError> {
        if options.snaplen == 0 {
            return Err(OptionError::SnaplenZero);
        }
        if u32::try_from(options.buffer_bytes).is_err() {
            let bytes = options.buffer_bytes;
            return Err(OptionError::BufferTooLarge { bytes });
        }
        let packet_bytes = HEADROOM_BYTES + (options.snaplen as usize).min(LARGEST_PACKET_BYTES);
        let frames = Self::frames(packet_bytes, options.buffer_bytes, page_bytes);
        let blocks = || Self::blocks(packet_bytes, options, page_bytes);
        let geometry = match backend(options, &frames, blocks)? {
            Backend::PacketV2 => match options.stall {
                Some(stall) => frames.grown(frames_for(stall, options, usize::MAX), stall),
                None => frames,
            },
            Backend::PacketV3 => blocks()?,
        };
        // The kernel counts bytes in 32 bits.
        match (u32::try_from(geometry.bytes()), geometry.grown_for) {
            (Ok(_), _) => Ok(geometry),
            (Err(_), Some(stall)) => Err(OptionError::StallTooLong {
                stall,
                bytes: geometry.bytes(),
            }),
            // Rounding up to whole blocks went over the limit.
            (Err(_), None) => Err(OptionError::BufferTooLarge {
                bytes: options.buffer_bytes,
            }),
        }
    }

    /// Small frames share a block; a large one is a block, so that slots are contiguous always.
    fn frames(packet_bytes: usize, buffer_bytes: usize, page_bytes: usize) -> Self {
        let slot_bytes = if packet_bytes <= page_bytes {
            packet_bytes.next_power_of_two()
        } else {
            packet_bytes.next_multiple_of(page_bytes)
        };
        let block_bytes = slot_bytes.next_multiple_of(page_bytes).max(slot_bytes);
        let blocks = buffer_bytes.div_ceil(block_bytes).max(MIN_BLOCKS);
        let count = blocks * (block_bytes / slot_bytes);
        Self {
            backend: Backend::PacketV2,
            slot_bytes,
            count,
            block_bytes,
            retire_ms: 0,
            grown_for: None,
        }
    }

    fn blocks(
        packet_bytes: usize,
        options: &Options,
        page_bytes: usize,
    ) -> Result<Self, OptionError> {
        let floor = size_of::<BlockDesc>() + packet_bytes;
        let smallest = floor.max(page_bytes).next_power_of_two();
        let stall = stall(options);
        let retire_ms = apt_retire_ms(options, stall, options.buffer_bytes / smallest)?;
        let least = blocks_for(stall, options.gather, retire_ms);
        // The kernel takes memory in powers of two.
        let largest = 1 << (options.buffer_bytes / least).max(page_bytes).ilog2();
        let slot_bytes = match options.delivery {
            Delivery::Adaptive { .. } => largest.max(floor.next_multiple_of(page_bytes)),
            Delivery::Batch {
                min_bytes: bytes, ..
            }
            | Delivery::Blocks { bytes, .. }
                if bytes.min(largest) >= floor =>
            {
                bytes.min(largest).next_multiple_of(page_bytes)
            }
            _ => smallest,
        };
        let geometry = Self {
            backend: Backend::PacketV3,
            slot_bytes,
            count: options.buffer_bytes.div_ceil(slot_bytes).max(MIN_BLOCKS),
            block_bytes: slot_bytes,
            retire_ms,
            grown_for: None,
        };
        // Of long packets that come as fast as is assumed nothing is known.
        let short = options.stall.map_or(0, packets_in);
        let short = short.saturating_mul(SMALLEST_FRAME_BYTES);
        // A ring that is too small for what gathers ends a batch early, and loses nothing.
        let least = blocks_for(stall, Duration::ZERO, retire_ms);
        Ok(geometry.grown(least.max(short.div_ceil(slot_bytes)), stall))
    }

    /// With `least` slots, which a reader that is away for `stall` needs.
    fn grown(self, least: usize, stall: Duration) -> Self {
        if self.count >= least {
            return self;
        }
        let in_block = self.block_bytes / self.slot_bytes;
        Self {
            count: least.div_ceil(in_block).saturating_mul(in_block),
            grown_for: Some(stall),
            ..self
        }
    }

    pub fn bytes(&self) -> usize {
        self.slot_bytes.saturating_mul(self.count)
    }

    pub fn block_count(&self) -> usize {
        self.bytes() / self.block_bytes
    }
}

/// The version that was asked for, or the one that suits; `frames` is what TPACKET_V2 makes of the buffer.
fn backend(
    options: &Options,
    frames: &Geometry,
    blocks: impl Fn() -> Result<Geometry, OptionError>,
) -> Result<Backend, OptionError> {
    let lasts = || frames.count >= frames_for(stall(options), options, frames.count);
    Ok(match (options.backend, options.delivery) {
        (Some(Backend::PacketV3), Delivery::Immediate) => {
            return Err(OptionError::ImmediateNeedsV2);
        }
        (Some(backend), _) => backend,
        (None, Delivery::Immediate) => Backend::PacketV2,
        (None, Delivery::Blocks { .. }) => Backend::PacketV3,
        (None, Delivery::Adaptive { .. }) => {
            if frames.slot_bytes <= SMALLEST_FRAME_BYTES || lasts() {
                Backend::PacketV2
            } else {
                Backend::PacketV3
            }
        }
        (None, Delivery::Batch { timeout, .. }) => {
            let is_short = timeout < Duration::from_millis(1);
            let is_coarse = || {
                let gathers = options.gather > Duration::ZERO;
                Ok(gathers && blocks()?.retire_ms > COARSE_MS && lasts())
            };
            if is_short || is_coarse()? {
                Backend::PacketV2
            } else {
                Backend::PacketV3
            }
        }
    })
}

/// How long the reader may be away.
fn stall(options: &Options) -> Duration {
    let gathers =
        options.gather > Duration::ZERO || matches!(options.delivery, Delivery::Adaptive { .. });
    let usual = if gathers {
        DEFAULT_STALL
    } else {
        Duration::ZERO
    };
    options.stall.unwrap_or(usual)
}

/// Frames that last for a pause of the reader, of a ring that has `count`.
///
/// Beside those of the batch that it has, and those that it lets gather; a ring that is full to a quarter ends
/// that.
fn frames_for(stall: Duration, options: &Options, count: usize) -> usize {
    let gather = match options.delivery {
        Delivery::Adaptive { target } => target,
        _ => options.gather,
    };
    let away = packets_in(stall);
    if away == 0 {
        return 0;
    }
    let gathered = packets_in(gather).min(count / 4).min(away.div_ceil(3));
    away.saturating_add(gathered + MAX_FRAMES)
}

/// Packets that come within `time`, if they come as fast as is assumed.
fn packets_in(time: Duration) -> usize {
    let packets = (time.as_nanos() * u128::from(STALL_PPS)).div_ceil(1_000_000_000);
    usize::try_from(packets).unwrap_or(usize::MAX)
}

/// Milliseconds of the timer. It counts whole ones in 16 bits (`struct tpacket_kbdq_core`, before Linux
/// 6.18), and 0 would mean a time of its own choice.
fn retire_ms(delivery: Delivery) -> Result<u32, OptionError> {
    let timeout = match delivery {
        Delivery::Adaptive { target } => return Ok(target.as_millis().clamp(1, 65_535) as u32),
        Delivery::Batch { timeout, .. } | Delivery::Blocks { timeout, .. } => timeout,
        Delivery::Immediate => return Err(OptionError::ImmediateNeedsV2),
    };
    let ms = timeout.as_nanos().div_ceil(1_000_000);
    match u32::try_from(ms) {
        Ok(ms @ 1..=65_535) if timeout >= Duration::from_millis(1) => Ok(ms),
        _ => Err(OptionError::Timeout { timeout }),
    }
}

/// The time asked for, or a longer one where a reader gathers and the ring has fewer than the `most` small
/// blocks that it takes; it is no longer than the reader waits anyway.
fn apt_retire_ms(options: &Options, stall: Duration, most: usize) -> Result<u32, OptionError> {
    let mut apt = retire_ms(options.delivery)?;
    let longest = options.gather.as_millis().min(65_535) as u32;
    while apt < longest && blocks_for(stall, options.gather, apt) > most {
        apt = apt.saturating_mul(2).min(longest);
    }
    Ok(apt)
}

/// Blocks that last for a pause of the reader when one is handed over every `retire_ms`.
///
/// Twice as many as the timer hands over: with a fifth more a few packets were measured to be lost at the
/// end of a pause (Linux 6.18, 241 blocks, 1 ms, a pause of 200 ms), with twice as many none. And six times
/// as many as it hands over while a batch gathers, so that with those that get full it takes no quarter of
/// the ring.
fn blocks_for(stall: Duration, gather: Duration, retire_ms: u32) -> usize {
    let blocks = |time: Duration| {
        let blocks = time.as_millis().div_ceil(u128::from(retire_ms));
        usize::try_from(blocks).unwrap_or(usize::MAX)
    };
    let gathered = blocks(gather).min(GATHERED_BLOCKS);
    blocks(stall)
        .saturating_mul(2)
        .saturating_add(6 * gathered + MIN_BLOCKS)
}

#[cfg(test)]
mod tests;
