//! The counters of a count.

use tapline::count::{ClassTotals, CountPoint, CountTotals, GroupBy, PacketDirection, Traffic};

use super::family::{Family, Sample};

/// Packets and bytes by class, interface and direction. If classes are split by a key, also those of the
/// largest groups of each class. Their number is limited, because each group adds a time series.
pub fn families(
    points: &[CountPoint],
    totals: &CountTotals,
    split: Option<(GroupBy, usize)>,
) -> Vec<Family> {
    let mut families = by_point(points, totals);
    if let Some((key, most)) = split {
        families.extend(by_group(totals, key, most));
    }
    families
}

/// The groups with most packets, those that the kernel had no room for, and packets without a key: each
/// of them only grows. What is left of a class is not among them, as it shrinks when another group
/// becomes one of the largest.
fn by_group(totals: &CountTotals, key: GroupBy, most: usize) -> [Family; 2] {
    let family = |name, help, pick: fn(Traffic) -> u64| {
        let of_class = |class: &ClassTotals| {
            let top = class.groups.iter().take(most);
            let top = top.map(|group| (group.key.to_string(), group.traffic));
            let rest = [("(other)", class.other), ("(none)", class.without_key)];
            let rest = rest.map(|(name, traffic)| (name.to_owned(), traffic));
            let sample = |(group, traffic): (String, _)| {
                Sample::new(
                    [("class", &class.name), (key.name(), &group)],
                    pick(traffic),
                )
            };
            top.chain(rest).map(sample).collect::<Vec<_>>()
        };
        let samples = totals.classes.iter().flat_map(of_class);
        Family::counters(name, help, samples.collect::<Vec<_>>())
    };
    [
        family(
            "count_group_packets",
            "Packets of the largest groups of the class",
            |traffic| traffic.packets,
        ),
        family(
            "count_group",
            "Bytes of the packets of the largest groups of the class",
            |traffic| traffic.bytes,
        )
        .of_bytes(),
    ]
}

fn by_point(points: &[CountPoint], totals: &CountTotals) -> Vec<Family> {
    let family = |name, help, pick: fn(&Traffic) -> u64| {
        let mut samples = Vec::with_capacity(totals.classes.len() * points.len());
        for class in &totals.classes {
            for (point, traffic) in points.iter().zip(&class.points) {
                let direction = match point.direction {
                    PacketDirection::In => "in",
                    PacketDirection::Out => "out",
                };
                let labels = [
                    ("interface", point.link.as_str()),
                    ("direction", direction),
                    ("class", &class.name),
                ];
                samples.push(Sample::new(labels, pick(traffic)));
            }
        }
        Family::counters(name, help, samples)
    };
    vec![
        family("count_packets", "Packets of the class", |traffic| {
            traffic.packets
        }),
        family("count", "Bytes of the packets of the class", |traffic| {
            traffic.bytes
        })
        .of_bytes(),
    ]
}
