//! The version of a packet ring, and batches in it: the kernel hands over blocks that are batches, or small ones that the reader gathers
//! into a batch.

use std::ops::Range;
use std::time::Duration;

use abi::kernel::is_older_than;
use ring::{DeliveryMode, RingOptions, TpacketVersion};

use super::super::super::plan::backend::Backend;
use super::super::super::plan::options::CaptureOptions;

/// Blocks that the kernel's timer hands over within the time of a batch. The packets of a block are invisible
/// before, so the reader notices a full batch late by up to one of these parts.
const TIMED_BLOCKS: u128 = 16;

/// Blocks that a full batch fills.
const FULL_BLOCKS: usize = 4;

/// Batch time from which on blocks of 2 ms are short enough. Blocks of 1 ms would double their number and
/// lengthen the ring.
const LONG_MS: u128 = 8;

/// Targets of adaptive delivery for which a ring of blocks costs less CPU time at high rates than one of frames, from which the reader
/// takes a batch after a timed sleep. The block timer has whole milliseconds. Where timers are expensive, such a sleep costs about three
/// times as much as a wake-up for a block, so the sleeps for a longer target cost less than blocks of 1 ms.
const BLOCK_TARGETS: Range<Duration> = Duration::from_millis(1)..Duration::from_millis(4);

/// Linux with a block timer that does not count in jiffies, which can be longer than these targets.
const PRECISE_BLOCK_TIMER: (u32, u32) = (6, 18);

/// The version of a ring of `capture` with this delivery. `None`: the one that suits the sizes.
fn version(
    capture: &CaptureOptions,
    delivery: DeliveryMode,
    spin: Duration,
) -> Option<TpacketVersion> {
    match (capture.backend, delivery) {
        (Some(Backend::PacketV2), _) => Some(TpacketVersion::V2),
        (Some(Backend::PacketV3), _) => Some(TpacketVersion::V3),
        (_, DeliveryMode::Adaptive { target }) => {
            // Blocks of several rings would be sorted only within the time of a block.
            let is_alone = capture.gather_in_kernel.is_some();
            let suits = is_alone && spin.is_zero() && BLOCK_TARGETS.contains(&target);
            (suits && !is_older_than(PRECISE_BLOCK_TIMER)).then_some(TpacketVersion::V3)
        }
        _ => None,
    }
}

/// Sets the version in `options`. Divides them so that a block is a batch, or else a part of one, in size and time, for a reader that
/// waits until its batch is complete.
pub fn suit(
    options: &mut RingOptions,
    capture: &CaptureOptions,
    delivery: DeliveryMode,
    spin: Duration,
) {
    options.version = version(capture, delivery, spin);
    options.gather_in_kernel = capture.gather_in_kernel;
    (options.delivery, options.gather, options.gather_bytes) = match delivery {
        DeliveryMode::Batch { min_bytes, timeout } => {
            let block = DeliveryMode::Batch {
                min_bytes: min_bytes / FULL_BLOCKS,
                timeout: block_time(timeout),
            };
            (block, timeout, min_bytes)
        }
        _ => (delivery, Duration::ZERO, 0),
    };
}

/// Block time for a batch time; the ring may lengthen it if it has too few blocks.
///
/// A time below the minimum of 1 ms is kept, so that a TPACKET_V3 ring rejects it.
fn block_time(timeout: Duration) -> Duration {
    let least = match timeout.as_millis() {
        0 => return timeout,
        ms if ms < LONG_MS => 1,
        _ => 2,
    };
    let ms = timeout
        .as_millis()
        .div_ceil(TIMED_BLOCKS)
        .clamp(least, 65_535);
    Duration::from_millis(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adaptive_delivery_gets_blocks_where_they_cost_less() {
        let adaptive = |us| DeliveryMode::Adaptive {
            target: Duration::from_micros(us),
        };
        let none = Duration::ZERO;
        let (alone, mut merged) = (CaptureOptions::default(), CaptureOptions::default());
        merged.gather_in_kernel = None;
        let blocks = (!is_older_than((6, 18))).then_some(TpacketVersion::V3);
        for (us, expected) in [
            (200, None),
            (999, None),
            (1000, blocks),
            (3999, blocks),
            (4000, None),
        ] {
            assert_eq!(version(&alone, adaptive(us), none), expected, "{us}");
            assert_eq!(version(&merged, adaptive(us), none), None);
        }
        let spin = Duration::from_micros(50);
        assert_eq!(version(&alone, adaptive(1000), spin), None);
        assert_eq!(version(&alone, DeliveryMode::Immediate, none), None);
        let frames = alone.backend(Backend::PacketV2);
        let selected = version(&frames, adaptive(1000), none);
        assert_eq!(selected, Some(TpacketVersion::V2));
    }

    #[test]
    fn block_time_is_a_part_of_the_batch_time_in_whole_milliseconds() {
        for (batch_us, block_us) in [
            (0, 0),
            (100, 100),
            (999, 999),
            (1000, 1000),
            (1500, 1000),
            (7999, 1000),
            (8000, 2000),
            (10_000, 2000),
            (100_000, 7000),
            (300_000, 19_000),
            (3_600_000_000, 65_535_000),
        ] {
            let time = block_time(Duration::from_micros(batch_us));
            assert_eq!(time, Duration::from_micros(block_us), "{batch_us}");
        }
    }
}
