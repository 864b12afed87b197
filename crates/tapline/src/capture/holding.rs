//! How packet rings and their reader share the work of a batch.

use std::time::Duration;

use ring::{Delivery, Options};

/// Blocks that the kernel's timer hands over while a batch gathers. The reader does not see into a block
/// before, so that it notices the bytes of a batch late by a part of its time that is as large.
const BLOCKS: u128 = 16;

/// Blocks that a batch fills if packets are dense.
const FULL_BLOCKS: usize = 4;

/// A time for which blocks of two milliseconds are fine enough; of one millisecond they would be twice as
/// many, and the ring be longer.
const LONG_MS: u128 = 8;

/// Has the rings that `options` ask for deliver as `delivery` says, with a reader that holds back what is no
/// batch yet. Then a block is a part of a batch, in size and time.
pub(super) fn share(options: &mut Options, delivery: Delivery) {
    (options.delivery, options.gather) = match delivery {
        Delivery::Batch { min_bytes, timeout } => {
            let block = Delivery::Batch {
                min_bytes: min_bytes / FULL_BLOCKS,
                timeout: block_time(timeout),
            };
            (block, timeout)
        }
        _ => (delivery, Duration::ZERO),
    };
}

/// Time of a block when a batch has `timeout`, unless the ring has a longer one for want of blocks.
///
/// Less than a millisecond, which no block has, stays what it is: a ring of TPACKET_V3 then says so.
fn block_time(timeout: Duration) -> Duration {
    let least = match timeout.as_millis() {
        0 => return timeout,
        ms if ms < LONG_MS => 1,
        _ => 2,
    };
    let ms = timeout.as_millis().div_ceil(BLOCKS).clamp(least, 65_535);
    Duration::from_millis(ms as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_a_part_of_the_time_in_whole_milliseconds() {
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
