//! The counters of a job that reads files or pipes.

use tapline::read::ReadProgress;

use super::family::{Family, Sample, Samples};

/// Packets by whether they were selected, and the bytes of the captures.
pub fn families(progress: &ReadProgress) -> Vec<Family> {
    let (received, selected) = (progress.received(), progress.selected());
    let packets = [
        ("selected", selected),
        // The two are read one after the other.
        ("filtered", received.saturating_sub(selected)),
    ];
    let packets = packets.map(|(state, value)| Sample {
        labels: vec![("state", state.to_owned())],
        value,
    });
    let bytes = Sample {
        labels: Vec::new(),
        value: progress.bytes(),
    };
    vec![
        Family {
            name: "read_packets",
            help: "Packets that were read and selected, and packets that filter and other conditions refused",
            is_bytes: false,
            samples: Samples::Counters(packets.into()),
        },
        Family {
            name: "read",
            help: "Bytes of the captures that were read, uncompressed",
            is_bytes: true,
            samples: Samples::Counters(vec![bytes]),
        },
    ]
}
