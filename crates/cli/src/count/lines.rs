//! Figures as lines for people, where there is no terminal.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapline::count::Tally;

use super::figures::{Figures, Groups};
use super::rates::rates;
use crate::screen::{filled, width};
use crate::units::grouped;

/// Widest column for the names of classes; a longer name pushes what is behind it.
const MOST_NAME: usize = 40;

/// How the lines of a count are written.
pub struct Lines {
    zone: TimeZone,
    /// Intervals are shorter than a second.
    with_fraction: bool,
    name_columns: usize,
    /// Widest key that is usual; 0 where nothing is split.
    group_columns: usize,
}

impl Lines {
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        group_columns: usize,
        with_fraction: bool,
    ) -> Self {
        Self {
            zone: TimeZone::system(),
            with_fraction,
            name_columns: names.map(width).max().unwrap_or(0).min(MOST_NAME),
            group_columns,
        }
    }

    /// A line for each class, and one for each of its groups.
    pub fn of(&self, figures: &Figures) -> String {
        let mut out = String::new();
        let time = self.time(figures.at_ns);
        for class in &figures.classes {
            let mut line = |group: &str, tally: Tally| {
                // A String takes whatever is written to it.
                let _ = write!(out, "{time}  {}", filled(&class.name, self.name_columns));
                if self.group_columns > 0 {
                    let _ = write!(out, "  {group:<0$}", self.group_columns);
                }
                let [pps, bps] = rates(tally, figures.span_ns);
                let (packets, bytes) = (grouped(tally.packets), grouped(tally.bytes));
                let _ = writeln!(
                    out,
                    "{packets:>13} packets{bytes:>17} bytes  {pps:>9}  {bps:>9}"
                );
            };
            line("", class.tally);
            for (group, tally) in class.groups.iter().flat_map(Groups::lines) {
                line(&group, tally);
            }
        }
        out
    }

    /// By the clock on the wall.
    fn time(&self, at_ns: u64) -> String {
        // Any u64 of nanoseconds is before the year 2555, well inside of what a Timestamp holds.
        let time = Timestamp::from_nanosecond(i128::from(at_ns)).unwrap_or_default();
        let format = if self.with_fraction {
            "%H:%M:%S.%3f"
        } else {
            "%H:%M:%S"
        };
        time.to_zoned(self.zone.clone())
            .strftime(format)
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::figures::ClassFigures;
    use tapline::count::GroupKey;

    #[test]
    fn lines_are_aligned() {
        let tally = |packets| Tally {
            packets,
            bytes: packets * 1000,
        };
        let class = |name: &str, packets, groups| ClassFigures {
            name: name.into(),
            tally: tally(packets),
            groups,
        };
        let lines = |columns| Lines {
            zone: TimeZone::UTC,
            ..Lines::new(["web", "größe"].into_iter(), columns, false)
        };
        let mut figures = Figures {
            // 2026-11-21 08:30:00 UTC, as in the tests of moments.
            at_ns: 1_795_249_800_000_000_000,
            span_ns: 1_000_000_000,
            classes: vec![class("web", 1_234_567, None), class("größe", 0, None)],
        };
        let expected = "\
08:30:00  web      1 234 567 packets    1 234 567 000 bytes   1.2 Mpps   9.9 Gbps
08:30:00  größe            0 packets                0 bytes      0 pps      0 bps
";
        assert_eq!(lines(0).of(&figures), expected);
        let ports =
            [(53, 2), (80, 5)].map(|(port, packets)| (GroupKey::Port(port), tally(packets)));
        let groups = Groups::new(ports.into_iter(), 1, tally(0), tally(3));
        figures.classes = vec![class("web", 10, Some(groups))];
        let expected = "\
08:30:00  web                        10 packets           10 000 bytes     10 pps  80.0 kbps
08:30:00  web    80                   5 packets            5 000 bytes    5.0 pps  40.0 kbps
08:30:00  web    (1 more)             2 packets            2 000 bytes    2.0 pps  16.0 kbps
08:30:00  web    (none)               3 packets            3 000 bytes    3.0 pps  24.0 kbps
";
        assert_eq!(lines(9).of(&figures), expected);
    }
}
