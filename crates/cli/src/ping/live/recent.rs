//! The latest round trips of each target.

use crate::screen::MISSING;

/// Probes kept per target.
pub const KEPT: usize = 24;

/// Maximum targets with kept probes: 7 MB.
const MOST_TARGETS: u32 = 65_536;

/// Stands for a probe without an answer in time; no round trip is 0.
const LOST: f32 = 0.0;

/// Round trips of the latest probes of each target, unless there are too many targets.
#[derive(Debug)]
pub struct Recent {
    targets: Vec<RecentTimes>,
}

#[derive(Clone, Copy, Debug)]
struct RecentTimes {
    /// Ring buffer of round trips.
    ring_ns: [f32; KEPT],
    /// Index of the next entry, and number of entries.
    next: u8,
    count: u8,
}

impl Recent {
    pub fn new(targets: u32) -> Self {
        let nothing = RecentTimes {
            ring_ns: [LOST; KEPT],
            next: 0,
            count: 0,
        };
        let kept = if targets <= MOST_TARGETS { targets } else { 0 };
        Self {
            targets: vec![nothing; kept as usize],
        }
    }

    pub fn is_kept(&self) -> bool {
        !self.targets.is_empty()
    }

    pub fn answered(&mut self, target: u32, rtt_ns: u64) {
        self.put(target, (rtt_ns as f32).max(1.0));
    }

    pub fn lost(&mut self, target: u32) {
        self.put(target, LOST);
    }

    fn put(&mut self, target: u32, time_ns: f32) {
        let Some(times) = self.targets.get_mut(target as usize) else {
            return;
        };
        times.ring_ns[usize::from(times.next)] = time_ns;
        times.next = (times.next + 1) % KEPT as u8;
        times.count = (times.count + 1).min(KEPT as u8);
    }

    /// The latest `most` round trips, oldest first.
    pub fn of(&self, target: u32, most: usize) -> impl Iterator<Item = f64> + Clone {
        let times = self.targets.get(target as usize);
        times.into_iter().flat_map(move |times| {
            let count = usize::from(times.count).min(most);
            let first = usize::from(times.next) + KEPT - count;
            (first..first + count).map(move |place| match times.ring_ns[place % KEPT] {
                LOST => MISSING,
                time_ns => time_ns.into(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_no_more() {
        let mut recent = Recent::new(2);
        assert_eq!(recent.of(1, KEPT).count(), 0);
        recent.lost(1);
        recent.answered(1, 7);
        assert_eq!(recent.of(1, KEPT).collect::<Vec<_>>(), [MISSING, 7.0]);
        for rtt_ns in 1..=1000 {
            recent.answered(1, rtt_ns);
        }
        assert_eq!(recent.of(1, 3).collect::<Vec<_>>(), [998.0, 999.0, 1000.0]);
        assert_eq!(recent.of(1, 1000).count(), KEPT);
        assert_eq!(recent.of(0, KEPT).count(), 0);
    }

    #[test]
    fn nothing_is_kept_of_too_many_targets() {
        let mut recent = Recent::new(MOST_TARGETS + 1);
        recent.answered(3, 1);
        assert!(!recent.is_kept() && recent.of(3, KEPT).count() == 0);
        assert!(Recent::new(MOST_TARGETS).is_kept());
    }
}
