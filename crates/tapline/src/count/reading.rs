//! Figures at one moment, and what happened between two.

use std::collections::HashMap;

use abi::clock::{monotonic_ns, realtime_ns};

use super::classes::Counted;
use super::error::CountError;
use super::groups::{GroupTable, Groups, by_class};
use super::interval::{ClassInterval, ClassTotals, Interval, Snapshot};
use super::lane::{Figures, Lane};

/// Everything read at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub at_ns: u64,
    pub monotonic_ns: u64,
    /// By class, by its serial number: the figures of each place.
    figures: HashMap<u32, Vec<Figures>>,
    groups: Groups,
}

/// What the counters of each class stood at when it came, by place.
pub(super) type Bases = HashMap<u32, Vec<Figures>>;

impl Reading {
    pub fn take(
        lanes: &[Lane],
        classes: &[Counted],
        bases: &Bases,
        groups: Option<&mut GroupTable>,
    ) -> Result<Self, CountError> {
        let mut reading = Self {
            at_ns: realtime_ns(),
            monotonic_ns: monotonic_ns(),
            figures: HashMap::with_capacity(classes.len()),
            groups: Groups::new(),
        };
        for (number, lane) in lanes.iter().enumerate() {
            let raw = lane.read()?;
            for counted in classes {
                let serial = counted.slot.serial;
                let base = bases.get(&serial).and_then(|bases| bases.get(number));
                let figures = raw.of(counted.slot) - base.copied().unwrap_or_default();
                reading.figures.entry(serial).or_default().push(figures);
            }
        }
        if let Some(groups) = groups {
            reading.groups = groups
                .read()
                .map_err(|source| CountError::Read { source })?;
        }
        Ok(reading)
    }

    pub fn snapshot(&self, classes: &[Counted], start_ns: u64) -> Snapshot {
        let mut groups = by_class(self.groups.iter().map(|(&key, &tally)| (key, tally)));
        let class = |counted: &Counted| {
            let serial = counted.slot.serial;
            let sum = self.sum(serial);
            ClassTotals {
                name: counted.class.name.clone(),
                tally: sum.all,
                places: self.places(serial).map(|figures| figures.all).collect(),
                groups: groups.remove(&serial).unwrap_or_default(),
                other: sum.other,
                without_key: sum.without_key,
            }
        };
        Snapshot {
            at_ns: self.at_ns,
            since_start_ns: self.monotonic_ns.saturating_sub(start_ns),
            classes: classes.iter().map(class).collect(),
        }
    }

    /// What was counted since `before`.
    pub fn since(&self, before: &Self, classes: &[Counted]) -> Interval {
        let difference = self.groups.iter().map(|(key, &tally)| {
            let before = before.groups.get(key).copied().unwrap_or_default();
            (*key, tally - before)
        });
        let mut groups = by_class(difference);
        let class = |counted: &Counted| {
            let serial = counted.slot.serial;
            let sum = self.sum(serial) - before.sum(serial);
            ClassInterval {
                name: counted.class.name.clone(),
                tally: sum.all,
                groups: groups.remove(&serial).unwrap_or_default(),
                other: sum.other,
                without_key: sum.without_key,
            }
        };
        Interval {
            at_ns: self.at_ns,
            span_ns: self.monotonic_ns.saturating_sub(before.monotonic_ns),
            classes: classes.iter().map(class).collect(),
        }
    }

    fn places(&self, class: u32) -> impl Iterator<Item = &Figures> {
        self.figures.get(&class).into_iter().flatten()
    }

    fn sum(&self, class: u32) -> Figures {
        let mut sum = Figures::default();
        for figures in self.places(class) {
            sum += *figures;
        }
        sum
    }
}
