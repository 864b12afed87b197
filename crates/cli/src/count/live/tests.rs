use tapline::count::GroupKey;

use super::*;
use crate::count::figures::ClassFigures;
use crate::screen::testing;

fn traffic(packets: u64) -> Traffic {
    Traffic {
        packets,
        bytes: packets * 100,
    }
}

fn live(names: &[&str]) -> Table {
    let names = names.iter().map(|&name| name.to_owned());
    let mut table = Table::new(names, Theme::plain(), Charset::Unicode);
    table.has_plot = false;
    table
}

fn drawn(table: &mut Table, columns: u16, rows: u16) -> String {
    testing::drawn(columns, rows, |frame| table.render(frame))
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

/// A count of two classes for four seconds.
fn busy() -> Table {
    let mut live = live(&["web", "everything else"]);
    for packets in [0, 1000, 4000, 2000] {
        live.add(&second(&[("web", packets), ("everything else", 1)]));
    }
    live
}

#[test]
fn a_table_shows_as_many_rows_as_fit() {
    let mut busy = busy();
    assert_eq!(
        drawn(&mut busy, 79, 24),
        "\
4.0 s            packets/s     bits/s        packets
web               2.0 kpps   1.6 Mbps          7 000   ▂█▄
everything else    1.0 pps    800 bps              4  ████"
    );
    assert_eq!(
        drawn(&mut busy, 54, 24),
        "\
4.0 s            packets/s     bits/s        packets
web               2.0 kpps   1.6 Mbps          7 000
everything else    1.0 pps    800 bps              4"
    );
    assert_eq!(
        drawn(&mut busy, 30, 24),
        "\
4.0 s     packets/s     bits/s
web        2.0 kpps   1.6 Mbps
everyth~    1.0 pps    800 bps"
    );
}

#[test]
fn keys_sort_and_plot() {
    let mut busy = busy();
    busy.has_keys = true;
    let mut first = |key| {
        busy.press(key);
        let shown = drawn(&mut busy, 80, 24);
        (
            shown.lines().nth(1).expect("a class")[..4].to_owned(),
            shown,
        )
    };
    assert_eq!(first(Key::Home).0, "web ");
    assert!(first(Key::Home).1.ends_with(
        "\nsorted by list; s: by packets, q: end, p: plot, a: all groups, arrows: scroll"
    ));
    assert_eq!(first(Key::Char('s')).0, "web ");
    let (_, shown) = first(Key::Char('p'));
    for text in ["packets per second  web  everything else", "4.0 k│", "now"] {
        assert!(shown.contains(text), "{shown}");
    }
    busy.add(&second(&[("web", 1), ("everything else", 2)]));
    assert!(
        drawn(&mut busy, 80, 24)
            .lines()
            .nth(1)
            .expect("a class")
            .starts_with("everything else ")
    );
}

#[test]
fn groups_are_omitted_before_classes_and_scrolled_to() {
    let mut live = busy();
    let mut last = live.last.clone();
    let groups = (0..40).map(|port| (GroupKey::Port(port), traffic(1)));
    last.classes[0].groups = Some(Groups::new(groups, 20, traffic(0), traffic(5)));
    live.add(&last);
    live.classes[1].total = traffic(10_u64.pow(17));
    live.has_keys = true;
    live.has_plot = true;
    for columns in 1..120 {
        for rows in 1..40 {
            // A line outside of the window would panic.
            drawn(&mut live, columns, rows);
        }
    }
    live.has_keys = false;
    let shown = drawn(&mut live, 80, 6);
    let lines: Vec<&str> = shown.lines().collect();
    // The heading, a class, its first group, the other class; 21 groups are left out.
    assert_eq!(lines.len(), 5);
    assert!(lines[2].starts_with("  0 "), "{lines:?}");
    assert!(lines[3].starts_with("everything else "), "{lines:?}");
    assert_eq!(lines[4], "(21 more lines)");
    live.press(Key::Char('a'));
    let shown = drawn(&mut live, 80, 6);
    assert!(
        shown.contains("\n  2 ") && shown.ends_with("\n(20 more lines)"),
        "{shown}"
    );
    live.press(Key::End);
    let shown = drawn(&mut live, 80, 6);
    assert!(shown.contains("\neverything else "), "{shown}");
}

#[test]
fn the_past_is_bounded() {
    let mut live = live(&["all"]);
    for _ in 0..1000 {
        live.add(&second(&[("all", 1)]));
    }
    assert_eq!(live.classes[0].history.len(), KEPT);
    assert_eq!(live.classes[0].total, traffic(1000));
}
