//! The counters of a count.

use tapline::count::{ClassTotals, Key, Place, Snapshot, Tally, Way};

use super::family::{Family, Sample, Samples};

/// Packets and bytes by class, interface and direction; and where classes are split by a key, those of
/// so many of each class's groups at most, as each is a series of its own.
pub fn families(places: &[Place], totals: &Snapshot, split: Option<(Key, usize)>) -> Vec<Family> {
    let mut families = by_place(places, totals);
    if let Some((key, most)) = split {
        families.extend(by_group(totals, key, most));
    }
    families
}

/// The groups with most packets, those that the kernel had no room for, and packets without a key: each
/// of them only grows. What is left of a class is not among them, as it shrinks when another group
/// becomes one of the largest.
fn by_group(totals: &Snapshot, key: Key, most: usize) -> [Family; 2] {
    let family = |name, is_bytes, help, pick: fn(Tally) -> u64| {
        let of_class = |class: &ClassTotals| {
            let top = class.groups.iter().take(most);
            let top = top.map(|group| (group.key.to_string(), group.tally));
            let rest = [("(other)", class.other), ("(none)", class.without_key)];
            let rest = rest.map(|(name, tally)| (name.to_owned(), tally));
            let sample = |(group, tally)| Sample {
                labels: vec![("class", class.name.clone()), (key.name(), group)],
                value: pick(tally),
            };
            top.chain(rest).map(sample).collect::<Vec<_>>()
        };
        Family {
            name,
            help,
            is_bytes,
            samples: Samples::Counters(totals.classes.iter().flat_map(of_class).collect()),
        }
    };
    [
        family(
            "count_group_packets",
            false,
            "Packets of the largest groups of the class",
            |tally| tally.packets,
        ),
        family(
            "count_group",
            true,
            "Bytes of the packets of the largest groups of the class",
            |tally| tally.bytes,
        ),
    ]
}

fn by_place(places: &[Place], totals: &Snapshot) -> Vec<Family> {
    let family = |name, is_bytes, help, pick: fn(&Tally) -> u64| {
        let mut samples = Vec::with_capacity(totals.classes.len() * places.len());
        for class in &totals.classes {
            for (place, tally) in places.iter().zip(&class.places) {
                let direction = match place.way {
                    Way::In => "in",
                    Way::Out => "out",
                };
                samples.push(Sample {
                    labels: vec![
                        ("interface", place.link.clone()),
                        ("direction", direction.to_owned()),
                        ("class", class.name.clone()),
                    ],
                    value: pick(tally),
                });
            }
        }
        Family {
            name,
            help,
            is_bytes,
            samples: Samples::Counters(samples),
        }
    };
    vec![
        family("count_packets", false, "Packets of the class", |tally| {
            tally.packets
        }),
        family(
            "count",
            true,
            "Bytes of the packets of the class",
            |tally| tally.bytes,
        ),
    ]
}
