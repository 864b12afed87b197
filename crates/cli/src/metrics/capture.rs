//! The counters of a capture.

use tapline::capture::LiveAccount;

use super::family::{Family, Sample, Samples};

/// Packets by interface and what became of them, and the bytes of those delivered.
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
    let family = |name, is_bytes, help, samples| Family {
        name,
        help,
        is_bytes,
        samples: Samples::Counters(samples),
    };
    vec![
        family(
            "capture_packets",
            false,
            "Packets delivered, and packets that the filter refused or sampling left out",
            packets,
        ),
        family(
            "capture_lost_packets",
            false,
            "Packets lost, by place; one that cannot be known is absent",
            lost,
        ),
        family(
            "capture_sampled_out_packets",
            false,
            "Of the filtered packets, those that sampling left out",
            left_out,
        ),
        family(
            "capture",
            true,
            "Bytes that the delivered packets had on the wire",
            bytes,
        ),
    ]
}
