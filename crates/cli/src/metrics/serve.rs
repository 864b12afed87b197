//! The counters of a server of rpcap.

use tapline::rpcap::ServerCounters;

use super::family::{Family, Sample, Samples};
use crate::serve::ClientCounts;

/// Clients, captures and packets.
pub fn families(clients: ClientCounts, captures: &ServerCounters) -> Vec<Family> {
    let sample = |label: Option<(&'static str, &str)>, value| Sample {
        labels: label
            .map(|(name, value)| (name, value.to_owned()))
            .into_iter()
            .collect(),
        value,
    };
    let family = |name, help, samples| Family {
        name,
        help,
        is_bytes: false,
        samples,
    };
    // Read before those of which it is a part.
    let unsent = captures.unsent();
    vec![
        family(
            "serve_open_clients",
            "Clients that are served now",
            Samples::Gauges(vec![sample(None, clients.open)]),
        ),
        family(
            "serve_clients",
            "Clients that have gone, and clients that were refused",
            Samples::Counters(vec![
                sample(Some(("outcome", "served")), clients.served),
                sample(Some(("outcome", "refused")), clients.refused),
            ]),
        ),
        family(
            "serve_captures",
            "Captures that clients started",
            Samples::Counters(vec![sample(None, captures.captures())]),
        ),
        family(
            "serve_packets",
            "Packets for clients, packets that their filters refused here, and packets that their sampling left out",
            Samples::Counters(vec![
                sample(Some(("state", "sent")), captures.sent()),
                sample(Some(("state", "refused")), captures.refused()),
                sample(Some(("state", "sampled_out")), captures.sampled_out()),
            ]),
        ),
        family(
            "serve_unsent_packets",
            "Of the packets for clients, those that were not sent because the client had gone",
            Samples::Counters(vec![sample(None, unsent)]),
        ),
    ]
}
