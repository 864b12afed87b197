//! Which targets stand in the table, and in which order.

use std::cmp::Ordering;

use tapline::probe::Prober;

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The largest share of probes without an answer in time, then the longest delay.
    Loss,
    /// The longest delay; targets without an answer come last.
    Delay,
    /// As they were named.
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

    /// The first targets, `most` of them. Takes time for all, and sorts those alone.
    pub fn first(self, prober: &Prober, most: usize) -> Vec<u32> {
        let all = 0..prober.targets().len();
        if self == Self::List {
            return all.take(most).collect();
        }
        let place = |target| Place::of(self, prober, target);
        let mut places: Vec<Place> = all.map(place).collect();
        if most < places.len() {
            places.select_nth_unstable_by(most, Place::order);
            places.truncate(most);
        }
        places.sort_unstable_by(Place::order);
        places.iter().map(|place| place.target).collect()
    }
}

/// What a target is sorted by: the larger come first, and of equals the first in the list.
struct Place {
    by: [f64; 2],
    target: u32,
}

impl Place {
    fn of(order: Order, prober: &Prober, target: u32) -> Self {
        let delay = prober.rtt(target).map_or(-1.0, |rtt| rtt.mean_ns);
        let by = match order {
            Order::Loss => [unanswered(prober, target), delay],
            Order::Delay | Order::List => [delay, 0.0],
        };
        Self { by, target }
    }

    fn order(&self, other: &Self) -> Ordering {
        let by = |index: usize| other.by[index].total_cmp(&self.by[index]);
        by(0).then(by(1)).then(self.target.cmp(&other.target))
    }
}

/// The share of probes without an answer in time, those that were never sent included; of a target
/// that has not been asked, less than nothing.
fn unanswered(prober: &Prober, target: u32) -> f64 {
    let counts = prober.counts(target);
    let settled = counts.sent - counts.pending() + counts.local_drops;
    match settled {
        0 => -1.0,
        settled => (settled - counts.received.min(settled)) as f64 / settled as f64,
    }
}
