//! The counters of a server of rpcap.

use tapline::rpcap::ServerCounters;

use super::family::{Family, Sample};
use crate::serve::ClientCounts;

/// Clients, captures and packets.
pub fn families(clients: ClientCounts, captures: &ServerCounters) -> Vec<Family> {
    let outcome = |outcome, value| Sample::new([("outcome", outcome)], value);
    let state = |state, value| Sample::new([("state", state)], value);
    // Read before the number of which it is a part.
    let unsent = captures.unsent();
    vec![
        Family::gauges(
            "serve_open_clients",
            "Clients that are served now",
            [Sample::new([], clients.open)],
        ),
        Family::counters(
            "serve_clients",
            "Clients that have left, and clients that were refused",
            [
                outcome("served", clients.served),
                outcome("refused", clients.refused),
            ],
        ),
        Family::counters(
            "serve_captures",
            "Captures that clients started",
            [Sample::new([], captures.captures())],
        ),
        Family::counters(
            "serve_packets",
            "Packets for clients, and packets that the client's filter refused or its sampling left out",
            [
                state("sent", captures.sent()),
                state("refused", captures.refused()),
                state("sampled_out", captures.sampled_out()),
            ],
        ),
        Family::counters(
            "serve_unsent_packets",
            "Of the packets for clients, those that were not sent because the client had left",
            [Sample::new([], unsent)],
        ),
    ]
}
