//! The figures of a count that are reported: per class the sum, its largest groups, and rates.

use std::collections::HashMap;

use tapline::count::{ClassTotals, CountInterval, GroupKey, Traffic};

use crate::values::units::amount;

/// The packets of some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// End of the time, nanoseconds since 1970.
    pub at_ns: u64,
    /// Its length.
    pub span_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassFigures>,
}

/// The packets of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFigures {
    pub name: String,
    pub traffic: Traffic,
    /// `None` without groups.
    pub groups: Option<Groups>,
}

/// The groups of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The largest, most packets first.
    pub top: Vec<(GroupKey, Traffic)>,
    /// The number of other groups, and their sum.
    pub more: (usize, Traffic),
    /// Packets of groups beyond the maximum.
    pub other: Traffic,
    /// Packets without the key.
    pub without_key: Traffic,
}

impl Groups {
    /// The `most` largest of `groups`, by packets and then by key.
    pub fn new(
        groups: impl Iterator<Item = (GroupKey, Traffic)>,
        most: usize,
        other: Traffic,
        without_key: Traffic,
    ) -> Self {
        let mut top: Vec<_> = groups.filter(|(_, traffic)| traffic.packets > 0).collect();
        top.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
        let more = top.split_off(most.min(top.len()));
        let sum = (more.iter()).fold(Traffic::default(), |sum, &(_, traffic)| sum + traffic);
        Self {
            top,
            more: (more.len(), sum),
            other,
            without_key,
        }
    }

    /// Name and figures of each line; empty lines are omitted.
    pub fn lines(&self) -> impl Iterator<Item = (String, Traffic)> {
        let top = self
            .top
            .iter()
            .map(|&(key, traffic)| (key.to_string(), traffic));
        let (count, more) = self.more;
        let rest = [
            (format!("({count} more)"), more),
            ("(other)".to_owned(), self.other),
            ("(none)".to_owned(), self.without_key),
        ];
        top.chain(rest.into_iter().filter(|(_, traffic)| traffic.packets > 0))
    }
}

impl ClassFigures {
    /// The totals with the `top` largest groups; `None` for no groups.
    pub fn of_totals(totals: &ClassTotals, top: Option<usize>) -> Self {
        let groups = totals.groups.iter().map(|group| (group.key, group.traffic));
        Self {
            name: totals.name.clone(),
            traffic: totals.traffic,
            groups: top.map(|top| Groups::new(groups, top, totals.other, totals.without_key)),
        }
    }
}

/// The sum of the intervals since the last report.
#[derive(Debug)]
pub struct IntervalSum {
    /// Number of reported groups per class; `None` without groups.
    top: Option<usize>,
    at_ns: u64,
    span_ns: u64,
    intervals: u32,
    classes: Vec<ClassSum>,
}

#[derive(Debug)]
struct ClassSum {
    name: String,
    traffic: Traffic,
    groups: HashMap<GroupKey, Traffic>,
    other: Traffic,
    without_key: Traffic,
}

impl IntervalSum {
    pub fn new(names: impl Iterator<Item = String>, top: Option<usize>) -> Self {
        let class = |name| ClassSum {
            name,
            traffic: Traffic::default(),
            groups: HashMap::new(),
            other: Traffic::default(),
            without_key: Traffic::default(),
        };
        Self {
            top,
            at_ns: 0,
            span_ns: 0,
            intervals: 0,
            classes: names.map(class).collect(),
        }
    }

    /// Adds an interval with the same classes.
    pub fn add(&mut self, interval: &CountInterval) {
        self.at_ns = interval.at_ns;
        self.span_ns += interval.span_ns;
        self.intervals += 1;
        for (class, more) in self.classes.iter_mut().zip(&interval.classes) {
            class.traffic += more.traffic;
            class.other += more.other;
            class.without_key += more.without_key;
            for group in &more.groups {
                *class.groups.entry(group.key).or_default() += group.traffic;
            }
        }
    }

    /// Number of intervals since the last report.
    pub fn intervals(&self) -> u32 {
        self.intervals
    }

    /// Returns the sum and starts a new one.
    pub fn take(&mut self) -> Figures {
        let top = self.top;
        let classes = self.classes.iter_mut().map(|class| {
            let other = std::mem::take(&mut class.other);
            let without_key = std::mem::take(&mut class.without_key);
            let groups = class.groups.drain();
            ClassFigures {
                name: class.name.clone(),
                traffic: std::mem::take(&mut class.traffic),
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

/// Rates as text: `1.2 kpps` and `9.8 Mbps`.
pub fn rates(traffic: Traffic, span_ns: u64) -> [String; 2] {
    let seconds = (span_ns.max(1)) as f64 / 1e9;
    [
        rate(traffic.packets as f64 / seconds) + "pps",
        rate(traffic.bytes as f64 * 8.0 / seconds) + "bps",
    ]
}

/// The same as [`amount`], with one decimal for small values.
fn rate(value: f64) -> String {
    if value > 0.0 && value < 9.95 {
        format!("{value:.1} ")
    } else {
        amount(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(packets: u64) -> Traffic {
        Traffic {
            packets,
            bytes: packets * 100,
        }
    }

    #[test]
    fn the_largest_come_first_and_nothing_is_lost() {
        let ports = [(5, 1), (9, 7), (1, 7), (2, 0), (3, 4), (4, 2)];
        let groups = ports.map(|(port, packets)| (GroupKey::Port(port), traffic(packets)));
        let split = Groups::new(groups.into_iter(), 3, traffic(10), traffic(0));
        let top: Vec<_> = split.top.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(top, ["1", "9", "3"]);
        assert_eq!(split.more, (2, traffic(3)));
        let lines: Vec<_> = split.lines().collect();
        assert_eq!(
            lines[3..],
            [
                ("(2 more)".into(), traffic(3)),
                ("(other)".into(), traffic(10))
            ]
        );
        let all = lines
            .iter()
            .fold(Traffic::default(), |sum, (_, traffic)| sum + *traffic);
        assert_eq!(all, traffic(31));
        let none = Groups::new(groups.into_iter(), 0, traffic(0), traffic(0));
        assert_eq!((none.top.len(), none.more), (0, (5, traffic(21))));
    }

    #[test]
    fn rates_are_by_the_exact_time() {
        let traffic = Traffic {
            packets: 1234,
            bytes: 125_000,
        };
        assert_eq!(rates(traffic, 1_000_000_000), ["1.2 kpps", "1.0 Mbps"]);
        assert_eq!(rates(traffic, 500_000_000), ["2.5 kpps", "2.0 Mbps"]);
        let few = Traffic {
            packets: 3,
            bytes: 0,
        };
        assert_eq!(rates(few, 10_000_000_000), ["0.3 pps", "0 bps"]);
        assert_eq!(rates(few, 0)[1], "0 bps");
    }
}
