//! The counters of answered echo requests.

use tapline::ping::EchoAnswerCounts;

use super::family::{Family, Sample, Samples};

/// Requests by what became of them.
pub fn families(interface: &str, counts: &EchoAnswerCounts) -> Vec<Family> {
    let outcomes = [
        ("answered", counts.answered),
        ("limited", counts.limited),
        ("damaged", counts.damaged),
        ("passed", counts.passed),
    ];
    let samples = outcomes.map(|(outcome, value)| Sample {
        labels: vec![
            ("interface", interface.to_owned()),
            ("outcome", outcome.to_owned()),
        ],
        value,
    });
    vec![Family {
        name: "respond_requests",
        help: "Echo requests: answered, above the limit, damaged, or passed on to the network stack",
        is_bytes: false,
        samples: Samples::Counters(samples.into()),
    }]
}
