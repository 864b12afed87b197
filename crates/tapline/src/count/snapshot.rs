//! A snapshot of all counters, and the difference of two snapshots.

use std::collections::HashMap;

use abi::clock::{monotonic_ns, realtime_ns};

use super::classes::ActiveClass;
use super::error::CountError;
use super::figures::{ClassInterval, ClassTotals, CountInterval, CountTotals};
use super::groups::{GroupTable, Groups, by_class};
use super::point_counter::{ClassCounters, PointCounter};

/// All counters, read at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterSnapshot {
    pub at_ns: u64,
    pub monotonic_ns: u64,
    /// By the serial number of a class: its counters at each point.
    figures: HashMap<u32, Vec<ClassCounters>>,
    groups: Groups,
}

/// The counters of each class when it was added, by point.
pub(super) type Baselines = HashMap<u32, Vec<ClassCounters>>;

impl CounterSnapshot {
    pub fn take(
        counters: &[PointCounter],
        classes: &[ActiveClass],
        baselines: &Baselines,
        groups: Option<&mut GroupTable>,
    ) -> Result<Self, CountError> {
        let mut snapshot = Self {
            at_ns: realtime_ns(),
            monotonic_ns: monotonic_ns(),
            figures: HashMap::with_capacity(classes.len()),
            groups: Groups::new(),
        };
        for (number, counter) in counters.iter().enumerate() {
            let raw = counter.read()?;
            for counted in classes {
                let serial = counted.slot.serial;
                let base = baselines
                    .get(&serial)
                    .and_then(|baselines| baselines.get(number));
                let figures = raw.of(counted.slot) - base.copied().unwrap_or_default();
                snapshot.figures.entry(serial).or_default().push(figures);
            }
        }
        if let Some(groups) = groups {
            snapshot.groups = groups
                .read()
                .map_err(|source| CountError::Read { source })?;
        }
        Ok(snapshot)
    }

    pub fn totals(&self, classes: &[ActiveClass], start_ns: u64) -> CountTotals {
        let mut groups = by_class(self.groups.iter().map(|(&key, &traffic)| (key, traffic)));
        let class = |counted: &ActiveClass| {
            let serial = counted.slot.serial;
            let sum = self.sum(serial);
            ClassTotals {
                name: counted.class.name.clone(),
                traffic: sum.all,
                points: self.points(serial).map(|figures| figures.all).collect(),
                groups: groups.remove(&serial).unwrap_or_default(),
                other: sum.other,
                without_key: sum.without_key,
            }
        };
        CountTotals {
            at_ns: self.at_ns,
            since_start_ns: self.monotonic_ns.saturating_sub(start_ns),
            classes: classes.iter().map(class).collect(),
        }
    }

    /// The difference to `before`.
    pub fn since(&self, before: &Self, classes: &[ActiveClass]) -> CountInterval {
        let difference = self.groups.iter().map(|(key, &traffic)| {
            let before = before.groups.get(key).copied().unwrap_or_default();
            (*key, traffic - before)
        });
        let mut groups = by_class(difference);
        let class = |counted: &ActiveClass| {
            let serial = counted.slot.serial;
            let sum = self.sum(serial) - before.sum(serial);
            ClassInterval {
                name: counted.class.name.clone(),
                traffic: sum.all,
                groups: groups.remove(&serial).unwrap_or_default(),
                other: sum.other,
                without_key: sum.without_key,
            }
        };
        CountInterval {
            at_ns: self.at_ns,
            span_ns: self.monotonic_ns.saturating_sub(before.monotonic_ns),
            classes: classes.iter().map(class).collect(),
        }
    }

    fn points(&self, class: u32) -> impl Iterator<Item = &ClassCounters> {
        self.figures.get(&class).into_iter().flatten()
    }

    fn sum(&self, class: u32) -> ClassCounters {
        let mut sum = ClassCounters::default();
        for figures in self.points(class) {
            sum += *figures;
        }
        sum
    }
}
