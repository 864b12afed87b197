//! The delays of a measurement.

use tapline::capture::Account;
use tapline::latency::Delays;

use super::family::{Family, Sample, Samples};
use super::histogram::durations;

/// Bucket bounds are 1, 2 and 5 times these powers of ten, in nanoseconds: 1 us to 5 s.
const DECADES: std::ops::Range<u32> = 3..10;

/// Delays so far, and packets that are not among them.
pub fn families(interface: &str, delays: &Delays, account: &Account) -> Vec<Family> {
    let sample =
        |(name, label), value| Sample::new([("interface", interface), (name, label)], value);
    let places = account.lost.places();
    let lost = places
        .into_iter()
        .filter_map(|(place, value)| Some(sample(("place", place), value?)));
    let unmeasured = [("ahead", delays.ahead), ("unstamped", delays.unstamped)];
    let unmeasured = unmeasured.map(|(reason, value)| sample(("reason", reason), value));
    let labels = vec![("interface", interface.to_owned())];
    vec![
        Family {
            name: "latency",
            help: "Time from a packet's time stamp to its delivery",
            is_bytes: false,
            samples: Samples::Durations(vec![durations(labels, &delays.histogram, DECADES)]),
        },
        Family::counters(
            "latency_unmeasured_packets",
            "Packets stamped later than they were delivered, and packets without a time stamp",
            unmeasured,
        ),
        Family::counters(
            "latency_lost_packets",
            "Packets lost, by place; one that cannot be known is absent",
            lost.collect::<Vec<_>>(),
        ),
    ]
}
