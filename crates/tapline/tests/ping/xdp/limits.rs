//! Limits of the interface that the XDP back end respects: the MTU, also one that changes, and the rate on an uplink.

use std::time::Duration;

use lab::Net;
use tapline::ping::{PingError, PingEvent, XdpAttachMode, XdpRefusal};
use tapline::send::SendPath;

use super::runs::xdp;
use crate::send::paths::pass_all;
use crate::support::ping::{complete, echoes_answered, open, run, targets, try_open};

/// Probes per second to an interface with a default route.
const MAX_UPLINK_PPS: f64 = 10_000.0;

/// Compared with what the kernel of the other end receives.
#[test]
fn payloads_up_to_the_mtu_of_the_interface_are_sent() {
    let [left, right] = Net::new().pair();
    left.ip("link set left0 mtu 1300");
    for (target, most) in [("10.1.0.2", 1300 - 28), ("fd00:1::2", 1300 - 48)] {
        let mut options = xdp(2);
        options.payload_bytes = most + 1;
        let Err(error) = try_open(&left, &options, target) else {
            panic!("{target} is refused");
        };
        let refusal = XdpRefusal::Mtu {
            link: "left0".into(),
            mtu: 1300,
            most,
        };
        assert!(matches!(error, PingError::XdpRefused(found) if found == refusal));
        options.payload_bytes = most;
        let total = run(&left, &options, target).statistics.total();
        assert_eq!((total.sent, total.received), (2, 2));
    }
    assert_eq!(echoes_answered(&right), [2, 2]);
}

/// While the MTU is too small, requests are refused here and none leaves. Compared with what the kernel of the other end receives.
#[test]
fn requests_above_an_mtu_that_becomes_smaller_are_refused() {
    const EACH: u32 = 200;
    for path in [SendPath::LiveFrames, SendPath::Xdp] {
        let [left, right] = Net::new().pair();
        let _pass = pass_all(&right);
        let mut options = xdp(EACH);
        options.send_path = path;
        options.interval = Duration::from_millis(10);
        options.payload_bytes = 1400;
        let (mut before, mut refused) = (None, 0);
        let ping = open(&left, &options, "10.1.0.2 fd00:1::2");
        let summary = complete(ping, |event, statistics| match event {
            PingEvent::NotSent { error, .. } => {
                assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE), "{path:?}");
                assert_eq!(Some(statistics.total().sent), before, "{path:?}");
                refused += 1;
                if refused == 6 {
                    left.ip("link set left0 mtu 1500");
                }
            }
            // With no request on its way, whose answer the smaller MTU would stop.
            PingEvent::Tick { .. }
                if before.is_none()
                    && statistics.total().sent > 6
                    && statistics.total().received == statistics.total().sent =>
            {
                before = Some(statistics.total().sent);
                left.ip("link set left0 mtu 1300");
            }
            _ => {}
        });
        let total = summary.statistics.total();
        assert_eq!(total.local_drops, refused, "{path:?}: {summary}");
        assert!(refused >= 6, "{path:?}: {summary}");
        assert_eq!(total.sent + refused, u64::from(2 * EACH), "{path:?}");
        assert!(Some(total.sent) > before, "it goes on: {path:?}: {summary}");
        assert_eq!(total.received, total.sent, "{path:?}: {summary}");
        assert_eq!(echoes_answered(&right).iter().sum::<u64>(), total.sent);
    }
}

/// Without a limit, 1000 targets at an interval of 1 ms are a million probes a second.
#[test]
fn targets_that_are_added_do_not_raise_the_rate_on_an_uplink() {
    let [left, right] = Net::new().pair();
    left.ip("route add default via 10.1.0.2");
    right.ip("route add local 10.64.0.0/16 dev lo");
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let mut options = xdp(1);
    options.count = None;
    options.rate_pps = None;
    options.interval = Duration::from_millis(1);
    options.timeout = Duration::from_millis(100);
    options.duration = Some(Duration::from_millis(300));
    options.gather = Duration::ZERO;
    let ping = open(&left, &options, "10.1.0.2");
    let list = targets("10.64.0.0-10.64.3.231");
    ping.control().add(list).expect("it runs");
    let mut added = 0;
    let summary = complete(ping, |event, _| {
        added += u32::from(matches!(event, PingEvent::TargetChange { .. }));
    });
    assert_eq!(added, 1000);
    let sent = summary.statistics.total().sent as f64;
    let most = MAX_UPLINK_PPS * summary.duration.as_secs_f64();
    // Each target may be probed once before the interval is longer.
    assert!(sent <= most + 1001.0, "{sent} of {most}: {summary}");
    let answered = responder.finish().unwrap().counts.answered as f64;
    assert!(answered > 0.0 && answered <= sent, "{answered} {sent}");
}
