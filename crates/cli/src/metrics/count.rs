//! The counters of a count.

use tapline::count::{Place, Snapshot, Tally, Way};

use super::family::{Family, Sample, Samples};

/// Packets and bytes by class, interface and direction. Groups are not among them: each would be a
/// series of its own, and there is no end to the addresses of the world.
pub fn families(places: &[Place], totals: &Snapshot) -> Vec<Family> {
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
