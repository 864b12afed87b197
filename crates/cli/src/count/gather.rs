//! Several intervals as one.

use std::collections::HashMap;

use tapline::count::{GroupKey, Interval, Tally};

use super::figures::{ClassFigures, Figures, Groups};

/// Sums intervals up until they are told. It holds as many groups as the kernel has room for.
#[derive(Debug)]
pub struct Gather {
    /// Groups told of each class; `None` where nothing is split.
    top: Option<usize>,
    at_ns: u64,
    span_ns: u64,
    intervals: u32,
    classes: Vec<Class>,
}

#[derive(Debug)]
struct Class {
    name: String,
    tally: Tally,
    groups: HashMap<GroupKey, Tally>,
    other: Tally,
    without_key: Tally,
}

impl Gather {
    pub fn new(names: impl Iterator<Item = String>, top: Option<usize>) -> Self {
        let class = |name| Class {
            name,
            tally: Tally::default(),
            groups: HashMap::new(),
            other: Tally::default(),
            without_key: Tally::default(),
        };
        Self {
            top,
            at_ns: 0,
            span_ns: 0,
            intervals: 0,
            classes: names.map(class).collect(),
        }
    }

    /// Adds an interval, which has the same classes.
    pub fn add(&mut self, interval: &Interval) {
        self.at_ns = interval.at_ns;
        self.span_ns += interval.span_ns;
        self.intervals += 1;
        for (class, more) in self.classes.iter_mut().zip(&interval.classes) {
            class.tally += more.tally;
            class.other += more.other;
            class.without_key += more.without_key;
            for group in &more.groups {
                *class.groups.entry(group.key).or_default() += group.tally;
            }
        }
    }

    /// Intervals that were added since the sum was taken.
    pub fn intervals(&self) -> u32 {
        self.intervals
    }

    /// The sum, and begins anew.
    pub fn take(&mut self) -> Figures {
        let top = self.top;
        let classes = self.classes.iter_mut().map(|class| {
            let other = std::mem::take(&mut class.other);
            let without_key = std::mem::take(&mut class.without_key);
            let groups = class.groups.drain();
            ClassFigures {
                name: class.name.clone(),
                tally: std::mem::take(&mut class.tally),
                groups: top.map(|top| Groups::new(groups, top, other, without_key)),
            }
        });
        let classes = classes.collect();
        self.intervals = 0;
        Figures {
            at_ns: self.at_ns,
            span_ns: std::mem::take(&mut self.span_ns),
            classes,
        }
    }
}
