//! When which frame is due.

/// Nanoseconds of a second.
const SECOND_NS: u128 = 1_000_000_000;
/// Wake-ups a second at most: frames of one group are sent at once.
const GROUPS_PER_SECOND: u64 = 5_000;

/// A rate as absolute times: frame `n`, counted from 0, is due `n / rate` seconds after the start.
/// Times are computed from the start, not from each other, so rounding does not add up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate_pps: u64,
}

impl Pace {
    /// `rate_pps` is at least 1.
    pub(super) fn new(rate_pps: u64) -> Self {
        Self {
            rate_pps: rate_pps.max(1),
        }
    }

    /// Frames due `elapsed_ns` after the start.
    pub(super) fn due(self, elapsed_ns: u64) -> u64 {
        (u128::from(elapsed_ns) * u128::from(self.rate_pps) / SECOND_NS) as u64 + 1
    }

    /// The time after the start when the next frames are worth a wake-up, `sent` being under way:
    /// 200 µs' worth, at least one.
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
        // A day at a rate whose interval is no whole number of nanoseconds.
        let day_ns = 86_400_000_000_000;
        assert_eq!(Pace::new(1_400_003).due(day_ns), 86_400 * 1_400_003 + 1);
    }
}
