//! The latest round trips of each target, and the rates of the run.

use std::collections::VecDeque;
use std::mem::replace;

use tapline::ping::Prober;

use crate::screen::MISSING;

/// Probes kept per target: as many as the memory allows, within these limits.
const LEAST_KEPT: usize = 24;
const MOST_KEPT: usize = 600;

/// Maximum probes kept of all targets: 6 MB.
const MOST_PROBES: usize = 65_536 * LEAST_KEPT;

/// Stands for a probe without an answer in time; no round trip is 0.
const LOST: f32 = 0.0;

/// Seconds of which the rates are kept.
pub const MOST_SECONDS: usize = 600;

/// Round trips of the latest probes of each target, unless there are too many targets.
#[derive(Debug)]
pub struct Recent {
    kept: usize,
    /// A ring buffer of `kept` round trips for each target.
    times_ns: Vec<f32>,
    rings: Vec<Ring>,
    /// Answers and losses of each target, when they were counted last.
    counted: Vec<[u64; 2]>,
}

/// Index of the next entry, and number of entries.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    next: u16,
    count: u16,
}

impl Recent {
    pub fn new(targets: u32) -> Self {
        let targets = targets as usize;
        let kept = (MOST_PROBES / targets.max(1)).min(MOST_KEPT);
        let targets = if kept < LEAST_KEPT { 0 } else { targets };
        Self {
            kept,
            times_ns: vec![LOST; targets * kept],
            rings: vec![Ring::default(); targets],
            counted: Vec::new(),
        }
    }

    pub fn is_kept(&self) -> bool {
        !self.rings.is_empty()
    }

    /// Maximum round trips per target.
    pub fn depth(&self) -> usize {
        self.kept
    }

    pub fn answered(&mut self, target: u32, rtt_ns: u64) {
        self.put(target, (rtt_ns as f32).max(1.0));
    }

    pub fn lost(&mut self, target: u32) {
        self.put(target, LOST);
    }

    /// Adds the latest round trip of each target that has answered since the last call, and a loss of each that has lost
    /// probes. For a back end that reports no more than counters.
    pub fn count(&mut self, statistics: &Prober) {
        self.counted.resize(self.rings.len(), [0; 2]);
        for target in statistics.targets().indices() {
            let counts = statistics.counts(target);
            let Some(counted) = self.counted.get_mut(target as usize) else {
                continue;
            };
            let [received, lost] = replace(counted, [counts.received, counts.lost]);
            if counts.lost > lost {
                self.lost(target);
            }
            if counts.received > received
                && let Some(rtt) = statistics.rtt(target)
            {
                self.answered(target, rtt.last_ns);
            }
        }
    }

    /// Makes room for a target that was added, and forgets the one in whose place it is.
    pub fn added(&mut self, target: u32) {
        let targets = target as usize + 1;
        if self.is_kept() && targets > self.rings.len() && targets * self.kept <= MOST_PROBES {
            self.rings.resize(targets, Ring::default());
            self.times_ns.resize(targets * self.kept, LOST);
        } else if let Some(ring) = self.rings.get_mut(target as usize) {
            *ring = Ring::default();
        }
    }

    fn put(&mut self, target: u32, time_ns: f32) {
        let target = target as usize;
        let Some(ring) = self.rings.get_mut(target) else {
            return;
        };
        self.times_ns[target * self.kept + usize::from(ring.next)] = time_ns;
        ring.next = (ring.next + 1) % self.kept as u16;
        ring.count = (ring.count + 1).min(self.kept as u16);
    }

    /// The latest `most` round trips, oldest first.
    pub fn of(&self, target: u32, most: usize) -> impl Iterator<Item = f64> + Clone {
        let (target, kept) = (target as usize, self.kept);
        self.rings.get(target).into_iter().flat_map(move |ring| {
            let count = usize::from(ring.count).min(most);
            let first = usize::from(ring.next) + kept - count;
            (first..first + count).map(move |place| {
                match self.times_ns[target * kept + place % kept] {
                    LOST => MISSING,
                    time_ns => time_ns.into(),
                }
            })
        })
    }
}

/// Probes and answers per second.
#[derive(Debug, Default)]
pub struct Rates {
    /// The sums at the last second.
    before: [u64; 2],
    /// Probes sent and received in each second, oldest first.
    seconds: VecDeque<[f64; 2]>,
}

impl Rates {
    /// Adds the time since the last call, at whose end `sums` had been sent and received.
    pub fn add(&mut self, sums: [u64; 2], seconds: f64) {
        let rate = |index: usize| (sums[index] - self.before[index]) as f64 / seconds.max(1e-3);
        if self.seconds.len() == MOST_SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back([rate(0), rate(1)]);
        self.before = sums;
    }

    /// Probes sent, or received, per second.
    pub fn of(&self, index: usize) -> impl Iterator<Item = f64> + Clone {
        self.seconds.iter().map(move |rates| rates[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_no_more() {
        let mut recent = Recent::new(2);
        assert_eq!(recent.of(1, MOST_KEPT).count(), 0);
        recent.lost(1);
        recent.answered(1, 7);
        assert_eq!(recent.of(1, MOST_KEPT).collect::<Vec<_>>(), [MISSING, 7.0]);
        for rtt_ns in 1..=1000 {
            recent.answered(1, rtt_ns);
        }
        assert_eq!(recent.of(1, 3).collect::<Vec<_>>(), [998.0, 999.0, 1000.0]);
        assert_eq!(recent.of(1, 1000).count(), MOST_KEPT);
        assert_eq!(recent.of(0, MOST_KEPT).count(), 0);
    }

    #[test]
    fn of_many_targets_less_is_kept_and_nothing_of_too_many() {
        let most = (MOST_PROBES / LEAST_KEPT) as u32;
        let mut recent = Recent::new(most + 1);
        recent.answered(3, 1);
        assert!(!recent.is_kept() && recent.of(3, MOST_KEPT).count() == 0);
        let recent = Recent::new(most);
        assert!(recent.is_kept() && recent.depth() == LEAST_KEPT);
    }

    #[test]
    fn rates_are_differences_per_second() {
        let mut rates = Rates::default();
        rates.add([10, 8], 1.0);
        rates.add([30, 18], 2.0);
        assert_eq!(rates.of(0).collect::<Vec<_>>(), [10.0, 10.0]);
        assert_eq!(rates.of(1).collect::<Vec<_>>(), [8.0, 5.0]);
        for _ in 0..2 * MOST_SECONDS {
            rates.add([30, 18], 1.0);
        }
        assert_eq!(rates.of(0).count(), MOST_SECONDS);
    }
}
