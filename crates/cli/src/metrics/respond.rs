//! The counters of answered echo requests.

use tapline::ping::EchoAnswerCounts;

use super::family::{Family, Sample};

/// Requests by outcome.
pub fn families(interface: &str, counts: &EchoAnswerCounts) -> Vec<Family> {
    let outcomes = [
        ("answered", counts.answered),
        ("limited", counts.limited),
        ("damaged", counts.damaged),
        ("passed", counts.passed),
    ];
    vec![Family::counters(
        "respond_requests",
        "Echo requests: answered, above the limit, damaged, or passed on to the network stack",
        outcomes.map(|(outcome, value)| {
            Sample::new([("interface", interface), ("outcome", outcome)], value)
        }),
    )]
}
