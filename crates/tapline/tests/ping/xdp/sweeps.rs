//! Sweeps by the XDP back end: one probe to each of many targets.

use std::time::Duration;

use lab::Net;
use tapline::ping::{PingEvent, XdpAttachMode};

use super::runs::xdp;
use crate::send::paths::pass_all;
use crate::support::ping::{complete, echoes_answered, open, run};

/// Each address is probed once in all runs together, and each is reported when its probe has ended.
#[test]
fn a_sweep_continues_where_it_was_stopped() {
    const TARGETS: usize = 2000;
    const WORDS: &str = "10.64.0.0-10.64.7.207";
    let [left, right] = Net::new().pair();
    left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    // Half of them answer.
    right.ip("route add local 10.64.0.0/22 dev lo");
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let mut ended: Vec<(u32, u64, u64)> = Vec::new();
    let mut position = None;
    let mut sent = 0;
    for stop_after in [500, 1200, usize::MAX] {
        let mut options = xdp(1);
        options.rate_pps = Some(5000);
        options.timeout = Duration::from_millis(500);
        options.resume = position;
        let before = ended.len();
        let ping = open(&left, &options, WORDS);
        let stopper = ping.stopper();
        let summary = complete(ping, |event, statistics| {
            if let PingEvent::Ended { target } = event {
                let counts = statistics.counts(*target);
                assert_eq!((counts.sent, counts.pending()), (1, 0));
                ended.push((*target, counts.received, counts.lost));
            }
            if ended.len() >= stop_after {
                stopper.stop();
            }
        });
        position = Some(summary.statistics.position());
        assert_eq!(position.unwrap().ended, ended.len() as u64);
        let total = summary.statistics.total();
        let mine = &ended[before..];
        let lost = mine.iter().map(|(_, _, lost)| lost).sum::<u64>();
        assert_eq!((total.lost, total.late, total.local_drops), (lost, 0, 0));
        sent += total.sent;
    }
    assert_eq!(ended.len(), TARGETS);
    // What was in flight when a run was stopped is probed again.
    assert!(sent >= TARGETS as u64);
    let mut answered: Vec<_> = ended
        .iter()
        .filter(|(_, received, _)| *received == 1)
        .collect();
    answered.sort_unstable();
    let expected: Vec<_> = (0..1024).map(|target| (target, 1, 0)).collect();
    assert_eq!(answered, expected.iter().collect::<Vec<_>>());
    let lost = ended.iter().filter(|(_, _, lost)| *lost == 1);
    assert_eq!(lost.count(), TARGETS - 1024);
    assert!(responder.finish().unwrap().counts.answered >= 1024);
}

/// Routes to parts of a /24 or /64 do not apply to the rest of it. With so many targets, one lookup serves the others.
#[test]
fn a_sweep_skips_only_targets_without_a_route() {
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    for (family, here, via, own, nowhere, words) in [
        (
            "-4",
            "10.1.0.1",
            "10.64.0.0/16 via 10.1.0.2",
            "10.64.0.0/32",
            "10.64.7.0/32",
            "10.64.0.0-10.64.31.255",
        ),
        (
            "-6",
            "fd00:1::1",
            "fd00:64::/48 via fd00:1::2",
            "fd00:64::/128",
            "fd00:64::700/128",
            "fd00:64::0-fd00:64::1fff",
        ),
    ] {
        left.ip(&format!("{family} route add {via}"));
        let network = via.split(' ').next().unwrap();
        right.ip(&format!("{family} route add local {network} dev lo"));
        // It may be the source of the requests.
        right.ip(&format!("{family} route add {own} via {here} table local"));
        left.ip(&format!("address add {own} dev left0"));
        left.ip(&format!("{family} route add unreachable {nowhere}"));
        let total = run(&left, &xdp(1), words).statistics.total();
        assert_eq!((total.sent, total.local_drops), (8190, 2), "{family}");
        assert_eq!((total.received, total.lost), (8190, 0), "{family}");
    }
    assert_eq!(echoes_answered(&right), [8190, 8190]);
}

/// A prefix, and single addresses of which one is repeated. Compared with the requests that the kernel of the other end counts.
#[test]
fn a_sweep_of_an_ipv6_prefix_takes_each_address_once_in_random_order() {
    const TARGETS: u32 = 4096 + 2;
    let [left, right] = Net::new().pair();
    let _pass = pass_all(&right);
    left.ip("-6 route add fd00:64::/48 via fd00:1::2");
    right.ip("-6 route add local fd00:64::/48 dev lo");
    let words = "fd00:64::1000/116 fd00:64:0:1::5 fd00:64:0:1::1 fd00:64:0:1::5";
    let mut ended = Vec::new();
    let ping = open(&left, &xdp(1), words);
    assert_eq!(ping.statistics().targets().len(), TARGETS);
    let summary = complete(ping, |event, _| {
        if let PingEvent::Ended { target } = event {
            ended.push(*target);
        }
    });
    let total = summary.statistics.total();
    let all = u64::from(TARGETS);
    assert_eq!((total.sent, total.local_drops), (all, 0), "{summary}");
    assert_eq!((total.received, total.lost), (all, 0), "{summary}");
    assert_eq!(echoes_answered(&right), [0, all]);
    assert!(!ended.is_sorted(), "the order is that of the list");
    ended.sort_unstable();
    assert_eq!(ended, (0..TARGETS).collect::<Vec<_>>());
}
