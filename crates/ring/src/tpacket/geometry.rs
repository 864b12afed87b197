//! Computes the memory layout of a packet ring from its options.

use std::time::Duration;

use abi::packet::BlockDesc;
use abi::region::page_bytes;

use super::block_layout::BlockReason;
use crate::error::RingOptionError;
use crate::options::{DEFAULT_STALL, DeliveryMode, RingOptions, STALL_PPS, TpacketVersion};

/// Largest number of frames in a TPACKET_V2 batch, so that memory returns to the kernel steadily.
pub(crate) const MAX_FRAMES: usize = 256;

/// Headroom before each packet, into which the reader puts a VLAN tag back.
pub(crate) const RESERVE_BYTES: u32 = 4;

/// Largest size of the headers before a packet: ring header, address, alignment and [`RESERVE_BYTES`].
const HEADROOM_BYTES: usize = 128;

/// Largest packet that a driver delivers without "BIG TCP": 64 KiB and an Ethernet header.
const LARGEST_PACKET_BYTES: usize = 65_536 + 18;

/// Smallest number of blocks: one for the reader, one for the kernel.
const MIN_BLOCKS: usize = 2;

/// The smallest frame. A packet this short takes about as much of a block, so TPACKET_V3 holds no more of them.
const SMALLEST_FRAME_BYTES: usize = 256;

/// Bytes that the shortest packets take of a frame, with their headers.
const SHORT_PACKET_BYTES: usize = 112;

/// Most blocks counted for packets that gather while the reader waits. With more, the batch may end early
/// because the ring fills.
const GATHERED_BLOCKS: usize = 16;

/// Longest block timer that suits a reader that lets packets gather. The reader sees no packet of a block before
/// the kernel hands the block over.
const COARSE_MS: u32 = 16;

/// Fewest blocks that are batches. The reader holds one of them while it reads, so it holds a small part of the ring.
const BATCH_BLOCKS_MIN: usize = 16;

/// With blocks that are batches: how long the reader may pause, in milliseconds, while there are so few packets that only the
/// timer hands blocks over. Each of them then holds some packets and a whole block of the ring.
const BATCH_PAUSE_MS: usize = 1200;

/// Most blocks that the ring may need if they are to be batches. With more, wake-ups for all of them cost about as much as timed
/// checks of the ring.
const BATCH_BLOCKS_MAX: usize = 64;

/// Largest block that is a batch, which is also the largest that the kernel allocates in one piece (`MAX_PAGE_ORDER`).
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Layout of a ring: `count` slots of equal size, which are frames in V2 and blocks in V3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub version: TpacketVersion,
    /// Size of a slot. Slots are contiguous.
    pub slot_bytes: usize,
    pub count: usize,
    /// Size of a block that the kernel allocates: one slot in V3, several frames in V2.
    pub block_bytes: usize,
    /// V3: milliseconds after which the kernel hands over a block that is not full.
    pub retire_ms: u32,
    /// V3: why the blocks have this size and this timer.
    pub reason: BlockReason,
    /// The stall for which the ring is larger than `buffer_bytes`.
    pub grown_for: Option<Duration>,
}

impl Geometry {
    pub fn new(options: &RingOptions) -> Result<Self, RingOptionError> {
        Self::in_pages(options, page_bytes())
    }

    fn in_pages(options: &RingOptions, page_bytes: usize) -> Result<Self, RingOptionError> {
        if options.snaplen == 0 {
            return Err(RingOptionError::SnaplenZero);
        }
        if u32::try_from(options.buffer_bytes).is_err() {
            let bytes = options.buffer_bytes;
            return Err(RingOptionError::BufferTooLarge { bytes });
        }
        let packet_bytes = HEADROOM_BYTES + (options.snaplen as usize).min(LARGEST_PACKET_BYTES);
        let frames = Self::frames(packet_bytes, options.buffer_bytes, page_bytes);
        let blocks = || Self::blocks(packet_bytes, options, page_bytes);
        let geometry = match version(options, &frames, blocks)? {
            TpacketVersion::V2 => match options.stall {
                Some(stall) => frames.grown(frames_for(stall, options, usize::MAX), stall),
                None => frames,
            },
            TpacketVersion::V3 => blocks()?,
        };
        // The kernel counts bytes in 32 bits.
        match (u32::try_from(geometry.bytes()), geometry.grown_for) {
            (Ok(_), _) => Ok(geometry),
            (Err(_), Some(stall)) => Err(RingOptionError::StallTooLong {
                stall,
                bytes: geometry.bytes(),
            }),
            // Rounding up to whole blocks exceeded the limit.
            (Err(_), None) => Err(RingOptionError::BufferTooLarge {
                bytes: options.buffer_bytes,
            }),
        }
    }

    /// Several small frames share a block; a large frame is a block of its own. Slots are therefore contiguous.
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
            version: TpacketVersion::V2,
            slot_bytes,
            count,
            block_bytes,
            retire_ms: 0,
            reason: BlockReason::Delivery,
            grown_for: None,
        }
    }

    fn blocks(
        packet_bytes: usize,
        options: &RingOptions,
        page_bytes: usize,
    ) -> Result<Self, RingOptionError> {
        let floor = size_of::<BlockDesc>() + packet_bytes;
        let smallest = floor.max(page_bytes).next_power_of_two();
        let stall = stall(options);
        let reason = match batch_blocks(options, stall, smallest) {
            Ok((slot_bytes, retire_ms)) => {
                let reason = BlockReason::Batch;
                return Ok(Self::of_blocks(
                    options, stall, slot_bytes, retire_ms, reason,
                ));
            }
            Err(reason) => reason,
        };
        let retire_ms = apt_retire_ms(options, stall, options.buffer_bytes / smallest)?;
        let least = blocks_for(stall, options.gather, retire_ms);
        // The kernel allocates powers of two.
        let largest = 1 << (options.buffer_bytes / least).max(page_bytes).ilog2();
        let slot_bytes = match options.delivery {
            DeliveryMode::Adaptive { .. } => largest.max(floor.next_multiple_of(page_bytes)),
            DeliveryMode::Batch {
                min_bytes: bytes, ..
            }
            | DeliveryMode::Blocks { bytes, .. }
                if bytes.min(largest) >= floor =>
            {
                bytes.min(largest).next_multiple_of(page_bytes)
            }
            _ => smallest,
        };
        Ok(Self::of_blocks(
            options, stall, slot_bytes, retire_ms, reason,
        ))
    }

    /// Blocks of this size and timer, of which there are enough for `stall`.
    fn of_blocks(
        options: &RingOptions,
        stall: Duration,
        slot_bytes: usize,
        retire_ms: u32,
        reason: BlockReason,
    ) -> Self {
        let geometry = Self {
            version: TpacketVersion::V3,
            slot_bytes,
            count: options.buffer_bytes.div_ceil(slot_bytes).max(MIN_BLOCKS),
            block_bytes: slot_bytes,
            retire_ms,
            reason,
            grown_for: None,
        };
        // The stall assumes a packet rate for short packets only.
        let short = options.stall.map_or(0, packets_in);
        let short = short.saturating_mul(SMALLEST_FRAME_BYTES);
        // A ring too small for gathering ends a batch early, but loses nothing.
        let short = below_three_quarters(short.div_ceil(slot_bytes));
        let least = blocks_for(stall, Duration::ZERO, retire_ms);
        geometry.grown(least.max(short), stall)
    }

    /// Enlarges the ring to at least `least` slots, which a stall of `stall` needs.
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

/// The version in the options, or the one that suits them. `frames` is the TPACKET_V2 layout of the buffer.
fn version(
    options: &RingOptions,
    frames: &Geometry,
    blocks: impl Fn() -> Result<Geometry, RingOptionError>,
) -> Result<TpacketVersion, RingOptionError> {
    let lasts = || frames.count >= frames_for(stall(options), options, frames.count);
    Ok(match (options.version, options.delivery) {
        (Some(TpacketVersion::V3), DeliveryMode::Immediate) => {
            return Err(RingOptionError::ImmediateNeedsV2);
        }
        (Some(version), _) => version,
        (None, DeliveryMode::Immediate) => TpacketVersion::V2,
        (None, DeliveryMode::Blocks { .. }) => TpacketVersion::V3,
        (None, DeliveryMode::Adaptive { .. }) => {
            if frames.slot_bytes <= SMALLEST_FRAME_BYTES || lasts() {
                TpacketVersion::V2
            } else {
                TpacketVersion::V3
            }
        }
        (None, DeliveryMode::Batch { timeout, .. }) => {
            let is_short = timeout < Duration::from_millis(1);
            // The reader stops waiting when a quarter of the ring is full.
            let holds = frames.count / 4 * SHORT_PACKET_BYTES;
            let is_shown = (1..=holds).contains(&options.gather_bytes);
            let shows = || is_shown && options.gather > Duration::ZERO && lasts();
            let is_coarse = || {
                let gathers = options.gather > Duration::ZERO;
                let blocks = blocks()?;
                let is_late = blocks.reason != BlockReason::Batch && blocks.retire_ms > COARSE_MS;
                Ok(gathers && is_late && lasts())
            };
            if is_short || shows() || is_coarse()? {
                TpacketVersion::V2
            } else {
                TpacketVersion::V3
            }
        }
    })
}

/// Longest absence of the reader that the ring must outlast.
fn stall(options: &RingOptions) -> Duration {
    let gathers = options.gather > Duration::ZERO
        || matches!(options.delivery, DeliveryMode::Adaptive { .. });
    let usual = if gathers {
        DEFAULT_STALL
    } else {
        Duration::ZERO
    };
    options.stall.unwrap_or(usual)
}

/// Frames that outlast a stall of the reader, in a ring of `count` frames.
///
/// Includes the frames of the batch that the reader holds and those that it lets gather. The reader stops waiting
/// when a quarter of the ring is full.
fn frames_for(stall: Duration, options: &RingOptions, count: usize) -> usize {
    let gather = match options.delivery {
        DeliveryMode::Adaptive { target } => target,
        _ => options.gather,
    };
    let away = packets_in(stall);
    if away == 0 {
        return 0;
    }
    let gathered = packets_in(gather).min(count / 4).min(away.div_ceil(3));
    away.saturating_add(gathered + MAX_FRAMES)
}

/// Packets that arrive within `time` at the assumed rate.
fn packets_in(time: Duration) -> usize {
    let packets = (time.as_nanos() * u128::from(STALL_PPS)).div_ceil(1_000_000_000);
    usize::try_from(packets).unwrap_or(usize::MAX)
}

/// The block timer in milliseconds. The kernel stores it in 16 bits (`struct tpacket_kbdq_core`, before Linux
/// 6.18) and replaces 0 by a default.
fn retire_ms(delivery: DeliveryMode) -> Result<u32, RingOptionError> {
    let timeout = match delivery {
        DeliveryMode::Adaptive { target } => return Ok(target.as_millis().clamp(1, 65_535) as u32),
        DeliveryMode::Batch { timeout, .. } | DeliveryMode::Blocks { timeout, .. } => timeout,
        DeliveryMode::Immediate => return Err(RingOptionError::ImmediateNeedsV2),
    };
    let ms = timeout.as_nanos().div_ceil(1_000_000);
    match u32::try_from(ms) {
        Ok(ms @ 1..=65_535) if timeout >= Duration::from_millis(1) => Ok(ms),
        _ => Err(RingOptionError::Timeout { timeout }),
    }
}

/// The block timer of the options, or a longer one if the reader lets packets gather and the ring has fewer than
/// `most` small blocks. It is never longer than the reader waits anyway.
fn apt_retire_ms(
    options: &RingOptions,
    stall: Duration,
    most: usize,
) -> Result<u32, RingOptionError> {
    let mut apt = retire_ms(options.delivery)?;
    let longest = options.gather.as_millis().min(65_535) as u32;
    while apt < longest && blocks_for(stall, options.gather, apt) > most {
        apt = apt.saturating_mul(2).min(longest);
    }
    Ok(apt)
}

/// Size in bytes and timer in milliseconds of blocks that are batches, or else why they are none. A block has room for the
/// longest packet from `smallest` bytes on.
///
/// The kernel closes such a block when a packet does not fit or its timer expires (`__packet_lookup_frame_in_block` and
/// `prb_retire_rx_blk_timer_expired`, net/packet/af_packet.c), and only then wakes the reader. So the ring cannot fill
/// while the reader sleeps, however fast packets come.
fn batch_blocks(
    options: &RingOptions,
    stall: Duration,
    smallest: usize,
) -> Result<(usize, u32), BlockReason> {
    if options.gather.as_millis() == 0 {
        return Err(BlockReason::Delivery);
    }
    if options.gather_bytes < options.buffer_bytes / 4 {
        return Err(BlockReason::SmallBatch);
    }
    let Some(longest) = options.gather_in_kernel else {
        return Err(BlockReason::SeveralRings);
    };
    let retire_ms = options.gather.min(longest).as_millis().clamp(1, 65_535) as u32;
    let least = blocks_for(stall, Duration::ZERO, retire_ms)
        .max(below_three_quarters(
            BATCH_PAUSE_MS.div_ceil(retire_ms as usize),
        ))
        .max(BATCH_BLOCKS_MIN);
    let largest = (options.buffer_bytes / least).min(BATCH_BYTES_MAX);
    if least > BATCH_BLOCKS_MAX || largest < smallest {
        return Err(BlockReason::SmallRing);
    }
    // The kernel allocates powers of two.
    Ok((1 << largest.ilog2(), retire_ms))
}

/// Blocks of a ring of which `full` blocks are at most three quarters.
///
/// A fuller ring can lose packets although it has free blocks. Since Linux 5.3, the kernel drops a packet, without a lock,
/// if the active block and the block a quarter of the ring ahead belong to the reader (`tpacket_rcv` and
/// `__packet_rcv_has_room`, net/packet/af_packet.c). While another CPU closes a block, the active one belongs to the reader
/// for a moment.
const fn below_three_quarters(full: usize) -> usize {
    full.saturating_mul(4).div_ceil(3)
}

/// Blocks that outlast a stall of the reader if the kernel hands one over every `retire_ms`.
///
/// Twice as many as the timer hands over. Measured on Linux 6.18 with 241 blocks, 1 ms and a stall of 200 ms: with
/// a fifth more, a few packets were lost at the end of the stall (see [`below_three_quarters`]); with twice as many, none.
/// Plus six times as many as the timer hands over while a batch gathers, so that these stay below a quarter of the ring.
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

impl RingOptions {
    /// Number of blocks of the TPACKET_V3 ring that these options open. `None` for TPACKET_V2, which hands over frames.
    ///
    /// At low packet rates each block lasts for the block timer, so their number limits how long the reader may be away.
    ///
    /// # Errors
    /// [`RingOptionError`] if the options contradict each other.
    pub fn block_count(&self) -> Result<Option<usize>, RingOptionError> {
        let geometry = Geometry::new(self)?;
        Ok((geometry.version == TpacketVersion::V3).then_some(geometry.count))
    }
}

#[cfg(test)]
mod tests;
