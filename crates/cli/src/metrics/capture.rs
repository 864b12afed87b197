//! The counters of a capture.

use tapline::capture::LiveAccount;

use super::family::{Family, Sample};

/// Packets by interface and state, and the bytes of those delivered.
pub fn families(accounts: &[LiveAccount]) -> Vec<Family> {
    let mut packets = Vec::new();
    let mut lost = Vec::new();
    let mut left_out = Vec::new();
    let mut bytes = Vec::new();
    for live in accounts {
        let sample = |label: Option<(&'static str, &str)>, value: u64| {
            let mut labels = vec![("interface", live.link.clone())];
            labels.extend(label.map(|(name, value)| (name, value.to_owned())));
            Sample { labels, value }
        };
        let account = &live.account;
        for (state, value) in [
            ("delivered", Some(account.delivered)),
            ("filtered", account.filtered),
        ] {
            packets.extend(value.map(|value| sample(Some(("state", state)), value)));
        }
        for (place, value) in account.lost.places() {
            lost.extend(value.map(|value| sample(Some(("place", place)), value)));
        }
        left_out.extend(account.sampled_out.map(|value| sample(None, value)));
        bytes.push(sample(None, live.bytes));
    }
    vec![
        Family::counters(
            "capture_packets",
            "Packets delivered, and packets that the filter refused or sampling left out",
            packets,
        ),
        Family::counters(
            "capture_lost_packets",
            "Packets lost, by place; one that cannot be known is absent",
            lost,
        ),
        Family::counters(
            "capture_sampled_out_packets",
            "Of the filtered packets, those that sampling left out",
            left_out,
        ),
        Family::counters(
            "capture",
            "Bytes that the delivered packets had on the wire",
            bytes,
        )
        .of_bytes(),
    ]
}
