//! What is told of a count: of each class the sum, and the largest of its groups.

use tapline::count::{ClassTotals, GroupKey, Tally};

/// What was counted in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// When it ended, nanoseconds since 1970.
    pub at_ns: u64,
    /// How long it was.
    pub span_ns: u64,
    /// Each class, in the order of the count.
    pub classes: Vec<ClassFigures>,
}

/// What was counted in one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFigures {
    pub name: String,
    pub tally: Tally,
    /// `None` where nothing is split.
    pub groups: Option<Groups>,
}

/// The packets of a class, split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The largest, most packets first.
    pub top: Vec<(GroupKey, Tally)>,
    /// How many more there are, and their sum.
    pub more: (usize, Tally),
    /// Packets of groups that the kernel had no room for.
    pub other: Tally,
    /// Packets without what they are split by.
    pub without_key: Tally,
}

impl Groups {
    /// The `most` largest of `groups`; equals come by their key.
    pub fn new(
        groups: impl Iterator<Item = (GroupKey, Tally)>,
        most: usize,
        other: Tally,
        without_key: Tally,
    ) -> Self {
        let mut top: Vec<_> = groups.filter(|(_, tally)| tally.packets > 0).collect();
        top.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
        let more = top.split_off(most.min(top.len()));
        let sum = (more.iter()).fold(Tally::default(), |sum, &(_, tally)| sum + tally);
        Self {
            top,
            more: (more.len(), sum),
            other,
            without_key,
        }
    }

    /// Each line of them: what it is called, and its figures. What there is nothing of is left out.
    pub fn lines(&self) -> impl Iterator<Item = (String, Tally)> {
        let top = self
            .top
            .iter()
            .map(|&(key, tally)| (key.to_string(), tally));
        let (count, more) = self.more;
        let rest = [
            (format!("({count} more)"), more),
            ("(other)".to_owned(), self.other),
            ("(none)".to_owned(), self.without_key),
        ];
        top.chain(rest.into_iter().filter(|(_, tally)| tally.packets > 0))
    }
}

impl ClassFigures {
    /// Of the totals the `top` largest groups, `None` where nothing is split.
    pub fn of_totals(totals: &ClassTotals, top: Option<usize>) -> Self {
        let groups = totals.groups.iter().map(|group| (group.key, group.tally));
        Self {
            name: totals.name.clone(),
            tally: totals.tally,
            groups: top.map(|top| Groups::new(groups, top, totals.other, totals.without_key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(packets: u64) -> Tally {
        Tally {
            packets,
            bytes: packets * 100,
        }
    }

    #[test]
    fn the_largest_come_first_and_nothing_is_lost() {
        let ports = [(5, 1), (9, 7), (1, 7), (2, 0), (3, 4), (4, 2)];
        let groups = ports.map(|(port, packets)| (GroupKey::Port(port), tally(packets)));
        let split = Groups::new(groups.into_iter(), 3, tally(10), tally(0));
        let top: Vec<_> = split.top.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(top, ["1", "9", "3"]);
        assert_eq!(split.more, (2, tally(3)));
        let lines: Vec<_> = split.lines().collect();
        assert_eq!(
            lines[3..],
            [("(2 more)".into(), tally(3)), ("(other)".into(), tally(10))]
        );
        let all = lines
            .iter()
            .fold(Tally::default(), |sum, (_, tally)| sum + *tally);
        assert_eq!(all, tally(31));
        let none = Groups::new(groups.into_iter(), 0, tally(0), tally(0));
        assert_eq!((none.top.len(), none.more), (0, (5, tally(21))));
    }
}
