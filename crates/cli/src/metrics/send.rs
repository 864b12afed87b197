//! The counters of a send job.

use tapline::send::LiveSent;

use super::family::{Family, Sample};

/// Packets and bytes that the kernel took so far, packets that it refused, and repeated sends.
pub fn families(interface: &str, live: &LiveSent) -> Vec<Family> {
    let family = |name, help, value| {
        Family::counters(name, help, [Sample::new([("interface", interface)], value)])
    };
    vec![
        family(
            "send_packets",
            "Packets that the kernel accepted",
            live.packets(),
        ),
        family(
            "send",
            "Bytes of the accepted packets, without FCS",
            live.bytes(),
        )
        .of_bytes(),
        family(
            "send_failed_packets",
            "Packets that the kernel refused for good",
            live.failed(),
        ),
        family(
            "send_retries",
            "Sends repeated because the queue of the device was full",
            live.retries(),
        ),
    ]
}
