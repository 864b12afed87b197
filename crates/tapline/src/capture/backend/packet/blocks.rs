//! Batches in packet rings: the kernel hands over blocks that are batches, or small ones that the reader gathers into a batch.

use std::time::Duration;

use ring::{DeliveryMode, RingOptions};

use super::super::super::plan::options::CaptureOptions;

/// Blocks that the kernel's timer hands over within the time of a batch. The packets of a block are invisible
/// before, so the reader notices a full batch late by up to one of these parts.
const TIMED_BLOCKS: u128 = 16;

/// Blocks that a full batch fills.
const FULL_BLOCKS: usize = 4;

/// Batch time from which on blocks of 2 ms are short enough. Blocks of 1 ms would double their number and
/// lengthen the ring.
const LONG_MS: u128 = 8;

/// Longest time for which the kernel gathers packets for one of several readers. The merger waits as long for a reader
/// without packets, with those of the others in memory. With pauses of 1.2 s, the ring has 64 blocks.
const SHARED_BLOCK_TIME: Duration = Duration::from_millis(32);

/// Sets `options` so that a block is a batch, or else a part of one, in size and time, for a reader that waits until its
/// batch is complete.
pub fn divide_batch(options: &mut RingOptions, capture: &CaptureOptions, delivery: DeliveryMode) {
    let longest = if capture.shares.is_empty() {
        Duration::MAX
    } else {
        SHARED_BLOCK_TIME
    };
    options.gather_in_kernel = (!capture.is_merged).then_some(longest);
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
    fn the_kernel_gathers_batches_unless_rings_are_merged() {
        let timeout = Duration::from_millis(100);
        let delivery = DeliveryMode::Batch {
            min_bytes: 1 << 20,
            timeout,
        };
        let mut capture = CaptureOptions::default();
        for (is_merged, in_kernel) in [(false, Some(Duration::MAX)), (true, None)] {
            capture.is_merged = is_merged;
            let mut ring = RingOptions::default();
            divide_batch(&mut ring, &capture, delivery);
            let gathers = (ring.gather, ring.gather_bytes, ring.gather_in_kernel);
            assert_eq!(gathers, (timeout, 1 << 20, in_kernel));
        }
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
