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

/// Sets `options` so that a block is a batch, or else a part of one, in size and time, for a reader that waits until its
/// batch is complete.
pub fn divide_batch(options: &mut RingOptions, capture: &CaptureOptions, delivery: DeliveryMode) {
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
