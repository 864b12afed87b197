use tapline::count::GroupKey;

use super::*;
use crate::count::figures::ClassFigures;

fn traffic(packets: u64) -> Traffic {
    Traffic {
        packets,
        bytes: packets * 100,
    }
}

fn live(names: &[&str]) -> Live {
    let names = names.iter().map(|&name| name.to_owned());
    Live::new(names, Paint::none(), Sparks::Unicode)
}

/// One second.
fn second(classes: &[(&str, u64)]) -> Figures {
    let class = |&(name, packets): &(&str, u64)| ClassFigures {
        name: name.into(),
        traffic: traffic(packets),
        groups: None,
    };
    Figures {
        at_ns: 0,
        span_ns: 1_000_000_000,
        classes: classes.iter().map(class).collect(),
    }
}

/// A count of two classes for four seconds, and the last figures.
fn busy() -> (Live, Figures) {
    let mut live = live(&["web", "everything else"]);
    for packets in [0, 1000, 4000] {
        live.add(&second(&[("web", packets), ("everything else", 1)]));
    }
    let last = second(&[("web", 2000), ("everything else", 1)]);
    live.add(&last);
    (live, last)
}

fn drawn(size: (usize, usize)) -> String {
    let (live, last) = busy();
    let (columns, rows) = size;
    live.lines(&last, Size { columns, rows }).join("\n")
}

#[test]
fn a_table_shows_what_there_is_room_for() {
    assert_eq!(
        drawn((80, 24)),
        "\
4.0 s            packets/s     bits/s        packets
web               2.0 kpps   1.6 Mbps          7 000   ▂█▄
everything else    1.0 pps    800 bps              4  ████"
    );
    assert_eq!(
        drawn((55, 24)),
        "\
4.0 s            packets/s     bits/s        packets
web               2.0 kpps   1.6 Mbps          7 000
everything else    1.0 pps    800 bps              4"
    );
    assert_eq!(
        drawn((31, 24)),
        "\
4.0 s     packets/s     bits/s
web        2.0 kpps   1.6 Mbps
everyth~    1.0 pps    800 bps"
    );
}

#[test]
fn no_line_is_wider_and_no_table_higher_than_the_window() {
    let (mut live, mut last) = busy();
    let groups = (0..40).map(|port| (GroupKey::Port(port), traffic(1)));
    last.classes[0].groups = Some(Groups::new(groups, 20, traffic(0), traffic(5)));
    live.add(&last);
    live.classes[1].total = traffic(10_u64.pow(17));
    for columns in 1..120 {
        for rows in 1..40 {
            let lines = live.lines(&last, Size { columns, rows });
            let widest = lines.iter().map(|line| width(line)).max();
            assert!(widest < Some(columns.max(2)), "{columns}: {lines:?}");
            assert!(lines.len() < rows.max(2), "{rows}: {lines:?}");
        }
    }
    let size = Size {
        columns: 80,
        rows: 7,
    };
    let lines = live.lines(&last, size);
    // The heading, a class, its first group, the other class; 21 groups are left out.
    assert_eq!(lines.len(), 5);
    assert!(lines[2].starts_with("  0 "), "{lines:?}");
    assert!(lines[3].starts_with("everything else "), "{lines:?}");
    assert_eq!(lines[4].trim_end(), "(21 more lines)");
}

#[test]
fn the_past_is_bounded() {
    let mut live = live(&["all"]);
    for _ in 0..1000 {
        live.add(&second(&[("all", 1)]));
    }
    assert_eq!(live.classes[0].history.len(), BARS);
    assert_eq!(live.classes[0].total, traffic(1000));
}
