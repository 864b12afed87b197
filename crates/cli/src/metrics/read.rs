//! The counters of a job that reads files or pipes.

use tapline::read::ReadProgress;

use super::family::{Family, Sample};

/// Packets by whether they were selected, and the bytes of the captures.
pub fn families(progress: &ReadProgress) -> Vec<Family> {
    let (received, selected) = (progress.received(), progress.selected());
    // The job may go on between the two readings.
    let filtered = received.saturating_sub(selected);
    vec![
        Family::counters(
            "read_packets",
            "Packets that were read and selected, and packets that filter and other conditions refused",
            [("selected", selected), ("filtered", filtered)]
                .map(|(state, value)| Sample::new([("state", state)], value)),
        ),
        Family::counters(
            "read",
            "Bytes of the captures that were read, uncompressed",
            [Sample::new([], progress.bytes())],
        )
        .of_bytes(),
    ]
}
