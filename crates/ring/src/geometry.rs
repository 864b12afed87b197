//! The layout of a ring's memory, from what its reader asked for.

use std::time::Duration;

use abi::packet::BlockDesc;
use abi::region::page_bytes;

use crate::error::OptionError;
use crate::options::{Backend, Delivery, Options};

/// Free bytes before each packet, room for a VLAN tag to be put back.
pub(crate) const RESERVE_BYTES: u32 = 4;

/// Headers before a packet's bytes, at most: ring header, address, alignment and [`RESERVE_BYTES`].
const HEADROOM_BYTES: usize = 128;

/// The largest packet a driver hands over unless "BIG TCP" is set up: 64 KiB and an Ethernet header.
const LARGEST_PACKET_BYTES: usize = 65_536 + 18;

/// Blocks that a ring has at least: one with the reader, one with the kernel.
const MIN_BLOCKS: usize = 2;

/// The largest frame with which TPACKET_V2 suits adaptive delivery: that of an Ethernet packet of the
/// usual size. With longer ones a ring would hold few packets, however short they are.
const ADAPTIVE_FRAME_BYTES: usize = 2048;

/// How long the reader may be away, with adaptive delivery and few packets, if nothing is said.
const ADAPTIVE_STALL: Duration = Duration::from_millis(200);

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
}

impl Geometry {
    pub fn new(options: &Options) -> Result<Self, OptionError> {
        Self::in_pages(options, page_bytes())
    }

    fn in_pages(options: &Options, page_bytes: usize) -> Result<Self, OptionError> {
        if options.snaplen == 0 {
            return Err(OptionError::SnaplenZero);
        }
        let packet_bytes = HEADROOM_BYTES + (options.snaplen as usize).min(LARGEST_PACKET_BYTES);
        let backend = match (options.backend, options.delivery) {
            (Some(Backend::PacketV3), Delivery::Immediate) => {
                return Err(OptionError::ImmediateNeedsV2);
            }
            (Some(backend), _) => backend,
            (None, Delivery::Adaptive { .. }) if packet_bytes > ADAPTIVE_FRAME_BYTES => {
                Backend::PacketV3
            }
            (None, Delivery::Immediate | Delivery::Adaptive { .. }) => Backend::PacketV2,
            (None, Delivery::Batch { .. }) => Backend::PacketV3,
        };
        let too_large = OptionError::BufferTooLarge {
            bytes: options.buffer_bytes,
        };
        if u32::try_from(options.buffer_bytes).is_err() {
            return Err(too_large);
        }
        let geometry = match backend {
            Backend::PacketV2 => Self::frames(packet_bytes, options.buffer_bytes, page_bytes),
            Backend::PacketV3 => Self::blocks(packet_bytes, options, page_bytes)?,
        };
        // Rounding up to whole blocks may have gone over the limit.
        if u32::try_from(geometry.bytes()).is_err() {
            return Err(too_large);
        }
        Ok(geometry)
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
        }
    }

    fn blocks(
        packet_bytes: usize,
        options: &Options,
        page_bytes: usize,
    ) -> Result<Self, OptionError> {
        let (retire_ms, stall) = match options.delivery {
            Delivery::Batch { timeout, .. } => (whole_ms(timeout)?, options.stall),
            Delivery::Adaptive { target } => {
                let stall = options.stall.unwrap_or(ADAPTIVE_STALL);
                (whole_ms_within(target), Some(stall))
            }
            Delivery::Immediate => return Err(OptionError::ImmediateNeedsV2),
        };
        let least = stall.map_or(MIN_BLOCKS, |stall| blocks_for(stall, retire_ms));
        let floor = size_of::<BlockDesc>() + packet_bytes;
        let largest = (options.buffer_bytes / least).max(page_bytes);
        let slot_bytes = match options.delivery {
            // The kernel takes memory in powers of two.
            Delivery::Adaptive { .. } => {
                let power_of_two = 1 << largest.ilog2();
                power_of_two.max(floor.next_multiple_of(page_bytes))
            }
            Delivery::Batch { min_bytes, .. } if min_bytes.min(largest) >= floor => {
                min_bytes.min(largest).next_multiple_of(page_bytes)
            }
            _ => floor.max(page_bytes).next_power_of_two(),
        };
        let count = options.buffer_bytes.div_ceil(slot_bytes).max(least);
        Ok(Self {
            backend: Backend::PacketV3,
            slot_bytes,
            count,
            block_bytes: slot_bytes,
            retire_ms,
        })
    }

    pub fn bytes(&self) -> usize {
        self.slot_bytes.saturating_mul(self.count)
    }

    pub fn block_count(&self) -> usize {
        self.bytes() / self.block_bytes
    }
}

/// The kernel's timer counts whole milliseconds in 16 bits (`struct tpacket_kbdq_core`, before Linux
/// 6.18), and 0 would mean a time of its own choice.
fn whole_ms(timeout: Duration) -> Result<u32, OptionError> {
    let ms = timeout.as_nanos().div_ceil(1_000_000);
    match u32::try_from(ms) {
        Ok(ms @ 1..=65_535) => Ok(ms),
        _ => Err(OptionError::Timeout { timeout }),
    }
}

/// Whole milliseconds that are over when `time` is, one at least.
fn whole_ms_within(time: Duration) -> u32 {
    time.as_millis().clamp(1, 65_535) as u32
}

/// Blocks that last for a pause of the reader when one is handed over every `retire_ms`.
///
/// Twice as many as the timer hands over: with a fifth more a few packets were measured to be lost at the
/// end of a pause (Linux 6.18, 241 blocks, 1 ms, a pause of 200 ms), with twice as many none.
fn blocks_for(stall: Duration, retire_ms: u32) -> usize {
    let blocks = stall.as_millis().div_ceil(u128::from(retire_ms));
    let blocks = usize::try_from(blocks).unwrap_or(usize::MAX);
    blocks.saturating_mul(2).saturating_add(MIN_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(
        backend: Backend,
        snaplen: u32,
        buffer_bytes: usize,
        page_bytes: usize,
    ) -> Geometry {
        let options = Options {
            backend: Some(backend),
            snaplen,
            buffer_bytes,
            ..Options::default()
        };
        Geometry::in_pages(&options, page_bytes).unwrap()
    }

    #[test]
    fn the_kernel_rules_hold_for_every_size() {
        for (backend, page_bytes) in [
            (Backend::PacketV2, 4096),
            (Backend::PacketV3, 4096),
            (Backend::PacketV2, 65_536),
            (Backend::PacketV3, 65_536),
        ] {
            for snaplen in [1, 64, 96, 1514, 1518, 4000, 9018, 65_535, 262_144] {
                for buffer in [1, 4096, 2 << 20, 32 << 20] {
                    let g = geometry(backend, snaplen, buffer, page_bytes);
                    // packet_set_ring, net/packet/af_packet.c.
                    assert_eq!(g.block_bytes % page_bytes, 0);
                    assert_eq!(g.slot_bytes % abi::packet::TPACKET_ALIGNMENT, 0);
                    assert_eq!(g.block_bytes % g.slot_bytes, 0);
                    assert_eq!(g.block_count() * g.block_bytes, g.bytes());
                    assert!(g.bytes() >= buffer && g.block_count() >= MIN_BLOCKS);
                    let kept = (snaplen as usize).min(LARGEST_PACKET_BYTES);
                    assert!(g.slot_bytes >= kept + HEADROOM_BYTES);
                }
            }
        }
    }

    #[test]
    fn small_frames_are_packed() {
        assert_eq!(
            geometry(Backend::PacketV2, 96, 2 << 20, 4096).slot_bytes,
            256
        );
    }

    fn adaptive(snaplen: u32, target: Duration, stall: Option<Duration>) -> Geometry {
        let options = Options {
            snaplen,
            buffer_bytes: 16 << 20,
            delivery: Delivery::Adaptive { target },
            stall,
            ..Options::default()
        };
        Geometry::in_pages(&options, 4096).unwrap()
    }

    #[test]
    fn adaptive_delivery_takes_frames_for_short_packets_and_many_blocks_for_long_ones() {
        let us = Duration::from_micros;
        for (snaplen, slot_bytes) in [(1, 256), (96, 256), (128, 256), (1518, 2048), (1920, 2048)] {
            let g = adaptive(snaplen, us(200), None);
            assert_eq!((g.backend, g.slot_bytes), (Backend::PacketV2, slot_bytes));
            assert_eq!(g.bytes(), 16 << 20);
        }
        for (snaplen, ms, stall, least) in [
            (1921, 0, None, 400),
            (262_144, 0, None, 400),
            (262_144, 0, Some(Duration::from_secs(2)), 4000),
            (9018, 5, Some(Duration::from_secs(2)), 800),
        ] {
            let g = adaptive(snaplen, us(200 + 1000 * ms), stall);
            assert_eq!(
                (g.backend, u64::from(g.retire_ms)),
                (Backend::PacketV3, ms.max(1))
            );
            // One more with the reader, and one with the kernel.
            assert!(g.count >= least + 2, "{}", g.count);
            assert!(g.bytes() >= 16 << 20 && g.block_bytes.is_multiple_of(4096));
        }
    }

    #[test]
    fn a_block_has_the_size_of_a_batch() {
        for (min_bytes, slot_bytes) in [
            (1 << 20, 1 << 20),
            (100_000, 102_400),
            (4096, 4096),
            (1, 4096),
            (usize::MAX, 8 << 20),
        ] {
            let options = Options {
                snaplen: 96,
                buffer_bytes: 16 << 20,
                delivery: Delivery::Batch {
                    min_bytes,
                    timeout: Duration::from_millis(10),
                },
                ..Options::default()
            };
            let g = Geometry::in_pages(&options, 4096).unwrap();
            assert_eq!((g.slot_bytes, g.retire_ms), (slot_bytes, 10));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let options = |f: fn(&mut Options)| {
            let mut options = Options::default();
            f(&mut options);
            Geometry::new(&options).unwrap_err()
        };
        assert_eq!(options(|o| o.snaplen = 0), OptionError::SnaplenZero);
        assert_eq!(
            options(|o| o.delivery = Delivery::Batch {
                min_bytes: 1,
                timeout: Duration::ZERO
            }),
            OptionError::Timeout {
                timeout: Duration::ZERO
            }
        );
        assert_eq!(
            options(|o| {
                o.backend = Some(Backend::PacketV3);
                o.delivery = Delivery::Immediate;
            }),
            OptionError::ImmediateNeedsV2
        );
        for bytes in [u32::MAX as usize, 1 << 33, usize::MAX] {
            let mut o = Options {
                buffer_bytes: bytes,
                ..Options::default()
            };
            for min_bytes in [0, usize::MAX] {
                let timeout = Duration::from_millis(1);
                o.delivery = Delivery::Batch { min_bytes, timeout };
                for backend in [Backend::PacketV2, Backend::PacketV3] {
                    o.backend = Some(backend);
                    assert_eq!(
                        Geometry::new(&o),
                        Err(OptionError::BufferTooLarge { bytes })
                    );
                }
            }
        }
    }
}
