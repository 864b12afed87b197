//! Computes when each frame is due.

/// Nanoseconds per second.
const SECOND_NS: u128 = 1_000_000_000;
/// Maximum wake-ups per second. The frames of one group are sent at once.
const GROUPS_PER_SECOND: u64 = 5_000;

/// A rate as absolute times: frame `n`, counted from 0, is due `n / rate` seconds after the start. Times are computed
/// from the start, not from each other, so rounding errors do not add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate_pps: u64,
}

impl Pace {
    /// `rate_pps` must be at least 1.
    pub(super) fn new(rate_pps: u64) -> Self {
        Self {
            rate_pps: rate_pps.max(1),
        }
    }

    /// Number of frames due `elapsed_ns` after the start.
    pub(super) fn due(self, elapsed_ns: u64) -> u64 {
        (u128::from(elapsed_ns) * u128::from(self.rate_pps) / SECOND_NS) as u64 + 1
    }

    /// Time after the start of the next useful wake-up, after `sent` frames: when 200 µs worth of frames are due, at
    /// least one.
    pub(super) fn wake_ns(self, sent: u64) -> u64 {
        let last = u128::from(sent + (self.rate_pps / GROUPS_PER_SECOND).saturating_sub(1));
        (last * SECOND_NS).div_ceil(u128::from(self.rate_pps)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUPS_PER_SECOND, Pace};

    #[test]
    fn a_frame_is_due_at_its_time_and_not_before() {
        for rate in [1, 3, 999, 1_000, 7_777_777] {
            let pace = Pace::new(rate);
            for sent in [0, 1, 2, 1_000_003] {
                let wake = pace.wake_ns(sent);
                assert!(pace.due(wake) > sent, "{rate} {sent}");
                if rate < 2 * GROUPS_PER_SECOND && wake > 0 {
                    assert_eq!(pace.due(wake - 1), sent, "{rate} {sent}");
                }
            }
        }
    }

    #[test]
    fn the_rate_does_not_drift() {
        // One day at a rate whose interval is not a whole number of nanoseconds.
        let day_ns = 86_400_000_000_000;
        assert_eq!(Pace::new(1_400_003).due(day_ns), 86_400 * 1_400_003 + 1);
    }
}
