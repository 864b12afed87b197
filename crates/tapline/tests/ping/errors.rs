//! ICMP errors for one target's probes do not affect the other targets.

use crate::support::ping;
use std::time::Duration;

use crate::support::ping::{complete, open, options};
use tapline::ping::{AnswerMessage, Backend, PingEvent};

/// Exceeds the MTU behind the router, which is the minimum of IPv6.
const PAYLOAD_BYTES: usize = 1400;
const MTU: u32 = 1280;

#[test]
fn a_narrow_way_to_one_target_drops_no_probe_to_another() {
    for backend in [Backend::Raw, Backend::PingSocket] {
        for targets in ["10.2.0.2 10.1.0.2", "fd00:2::2 fd00:1::2"] {
            // Hosts learn how wide a way is, so each run has its own.
            let [left, middle, right] = ping::routed();
            let [_, far] = middle.interfaces() else {
                panic!("it has two interfaces");
            };
            middle.ip(&format!("link set {} mtu {MTU}", far.name));
            right.ip(&format!("link set {} mtu {MTU}", right.interface().name));
            let mut options = options(backend, 4);
            options.interval = Duration::ZERO;
            options.payload_bytes = PAYLOAD_BYTES;
            let mut told = Vec::new();
            let summary = complete(open(&left, &options, targets), |event, _| {
                if let PingEvent::Answer {
                    message: AnswerMessage::Error { parameter, .. },
                    ..
                } = event
                {
                    told.push(u32::from_be_bytes(*parameter));
                }
            });
            let total = summary.statistics.total();
            assert!(total.errors > 0, "{backend:?} {targets}: {total:?}");
            assert!(
                !told.is_empty() && told.iter().all(|mtu| *mtu == MTU),
                "{told:?}"
            );
            let kept: Vec<_> = summary.local_drops.iter().collect();
            assert!(kept.is_empty(), "{backend:?} {targets}: {kept:?}");
            let near = summary.statistics.counts(1);
            assert_eq!((near.sent, near.received), (4, 4), "{backend:?} {targets}");
        }
    }
}
