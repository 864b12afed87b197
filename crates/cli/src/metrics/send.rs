//! The counters of a send job.

use tapline::send::LiveSent;

use super::family::{Family, Sample, Samples};

/// Packets and bytes that the kernel took so far, packets that it refused, and repeated sends.
pub fn families(interface: &str, live: &LiveSent) -> Vec<Family> {
    let family = |name, is_bytes, help, value| Family {
        name,
        help,
        is_bytes,
        samples: Samples::Counters(vec![Sample {
            labels: vec![("interface", interface.to_owned())],
            value,
        }]),
    };
    vec![
        family(
            "send_packets",
            false,
            "Packets that the kernel accepted",
            live.packets(),
        ),
        family(
            "send",
            true,
            "Bytes of the accepted packets, without FCS",
            live.bytes(),
        ),
        family(
            "send_failed_packets",
            false,
            "Packets that the kernel refused for good",
            live.failed(),
        ),
        family(
            "send_retries",
            false,
            "Sends repeated because the queue of the device was full",
            live.retries(),
        ),
    ]
}
