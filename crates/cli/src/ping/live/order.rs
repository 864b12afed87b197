//! The order of targets in the table.

use std::cmp::Ordering;
use std::ops::Range;

use tapline::ping::Prober;

/// Sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Highest loss first, then longest delay.
    Loss,
    /// Longest delay first; targets without an answer last.
    Delay,
    /// As in the list of targets.
    List,
}

impl Order {
    pub fn next(self) -> Self {
        match self {
            Self::Loss => Self::Delay,
            Self::Delay => Self::List,
            Self::List => Self::Loss,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Delay => "delay",
            Self::List => "list",
        }
    }

    /// The targets at these places. Selects them in linear time, and sorts only these.
    pub fn at(self, statistics: &Prober, places: Range<usize>) -> Vec<u32> {
        let all = statistics.targets().indices();
        if self == Self::List {
            return all.skip(places.start).take(places.len()).collect();
        }
        let key = |target| SortKey::of(self, statistics, target);
        let mut keys: Vec<SortKey> = all.map(key).collect();
        if places.end < keys.len() {
            keys.select_nth_unstable_by(places.end, SortKey::order);
            keys.truncate(places.end);
        }
        if (1..keys.len()).contains(&places.start) {
            keys.select_nth_unstable_by(places.start, SortKey::order);
        }
        keys.drain(..places.start.min(keys.len()));
        keys.sort_unstable_by(SortKey::order);
        keys.iter().map(|key| key.target).collect()
    }
}

/// Sort key: larger values first; of equals the first in the list.
struct SortKey {
    by: [f64; 2],
    target: u32,
}

impl SortKey {
    fn of(order: Order, statistics: &Prober, target: u32) -> Self {
        let delay = statistics.rtt(target).map_or(-1.0, |rtt| rtt.mean_ns);
        let by = match order {
            Order::Loss => [unanswered(statistics, target), delay],
            Order::Delay | Order::List => [delay, 0.0],
        };
        Self { by, target }
    }

    fn order(&self, other: &Self) -> Ordering {
        let by = |index: usize| other.by[index].total_cmp(&self.by[index]);
        by(0).then(by(1)).then(self.target.cmp(&other.target))
    }
}

/// The share of probes without an answer in time, including those that were not sent. Negative for a target without
/// probes.
fn unanswered(statistics: &Prober, target: u32) -> f64 {
    let counts = statistics.counts(target);
    let settled = counts.sent - counts.pending() + counts.local_drops;
    match settled {
        0 => -1.0,
        settled => (settled - counts.received.min(settled)) as f64 / settled as f64,
    }
}
