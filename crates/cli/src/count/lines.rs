//! Figures as text lines, for output that is not a terminal.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapline::count::Traffic;

use super::figures::rates;
use super::figures::{Figures, Groups};
use crate::screen::{filled, width};
use crate::values::moment::local_zone;
use crate::values::units::grouped;

/// Maximum width of the column for class names.
const MAX_NAME: usize = 40;

/// The format of the lines.
pub struct Lines {
    zone: TimeZone,
    /// Whether times have milliseconds.
    with_fraction: bool,
    name_columns: usize,
    /// Width of the column for keys; 0 without groups.
    group_columns: usize,
}

impl Lines {
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        group_columns: usize,
        with_fraction: bool,
    ) -> Self {
        Self {
            zone: local_zone().clone(),
            with_fraction,
            name_columns: names.map(width).max().unwrap_or(0).min(MAX_NAME),
            group_columns,
        }
    }

    /// A line for each class, and one for each of its groups.
    pub fn of(&self, figures: &Figures) -> String {
        let mut out = String::new();
        let time = self.time(figures.at_ns);
        for class in &figures.classes {
            let mut line = |group: &str, traffic: Traffic| {
                // Writing to a String does not fail.
                let _ = write!(out, "{time}  {}", filled(&class.name, self.name_columns));
                if self.group_columns > 0 {
                    let _ = write!(out, "  {group:<0$}", self.group_columns);
                }
                let [pps, bps] = rates(traffic, figures.span_ns);
                let (packets, bytes) = (grouped(traffic.packets), grouped(traffic.bytes));
                let _ = writeln!(
                    out,
                    "{packets:>13} packets{bytes:>17} bytes  {pps:>9}  {bps:>9}"
                );
            };
            line("", class.traffic);
            for (group, traffic) in class.groups.iter().flat_map(Groups::lines) {
                line(&group, traffic);
            }
        }
        out
    }

    /// The local time.
    fn time(&self, at_ns: u64) -> String {
        // Any u64 of nanoseconds is before the year 2555, which a Timestamp can represent.
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
        let traffic = |packets| Traffic {
            packets,
            bytes: packets * 1000,
        };
        let class = |name: &str, packets, groups| ClassFigures {
            name: name.into(),
            traffic: traffic(packets),
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
            [(53, 2), (80, 5)].map(|(port, packets)| (GroupKey::Port(port), traffic(packets)));
        let groups = Groups::new(ports.into_iter(), 1, traffic(0), traffic(3));
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
