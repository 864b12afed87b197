//! Where the ring of a run is attached, and what it does not see.

use std::time::Duration;

use crate::support::ping::{
    BACKENDS, complete, echoes_answered, open, open_ping_sockets, options, run,
};
use lab::{Host, Net};
use tapline::ping::{Backend, OtherCounts, PingOptions};

/// Maximum rate, with the fastest options.
fn fast(count: u32) -> PingOptions {
    let mut options = options(Backend::Raw, count);
    options.interval = Duration::ZERO;
    options.timeout = Duration::from_secs(10);
    options.backend = None;
    options
}

#[test]
fn a_fast_run_finds_the_interface_for_a_ring_by_itself() {
    let [left, right] = Net::new().pair();
    for (targets, sent, answered) in [
        ("10.1.0.2 fd00:1::2", 2, [1000, 1000]),
        ("fd00:1::2", 1, [1000, 2000]),
        // Of this host: by its loopback.
        ("10.1.0.1 127.0.0.1 ::1", 3, [1000, 2000]),
    ] {
        let summary = run(&left, &fast(1000), targets);
        assert_eq!(summary.backend, Backend::Ring);
        let total = summary.statistics.total();
        assert_eq!(
            (total.sent, total.received, total.duplicate),
            (1000 * sent, 1000 * sent, 0),
            "{targets}"
        );
        assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
        assert_eq!(summary.overruns, Some(0));
        assert_eq!(echoes_answered(&right), answered);
    }
    let mut slow = fast(2);
    slow.interval = Duration::from_millis(1);
    assert_eq!(run(&left, &slow, "10.1.0.2").backend, Backend::Raw);
    let summary = run(&left, &fast(2), "192.0.2.1");
    assert_eq!(summary.backend, Backend::Raw, "there is no way to it");
    assert_eq!(summary.statistics.total().local_drops, 2);
}

#[test]
fn answers_by_another_interface_than_the_rings_are_heard_once() {
    let net = Net::new();
    let [mut left, mut right] = ["left", "right"].map(Host::new);
    net.join(&mut left, &mut right);
    net.join(&mut left, &mut right);
    for name in ["all", "left0", "left1"] {
        left.set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0");
    }
    right.ip("route add 10.1.0.1/32 via 10.2.0.1");
    right.ip("-6 route add fd00:1::1/128 via fd00:2::1");
    let before = left.counters();
    let summary = run(&left, &fast(500), "10.1.0.2 fd00:1::2");
    assert_eq!(summary.backend, Backend::Ring);
    let total = summary.statistics.total();
    assert_eq!(
        (total.sent, total.received, total.duplicate),
        (1000, 1000, 0)
    );
    let after = left.counters();
    assert_eq!(after.tx_packets - before.tx_packets, 1000);
    assert_eq!(after.rx_packets - before.rx_packets, 0, "they went round");
    // Both at once: by the ring's interface, and by the other.
    let summary = run(&left, &fast(500), "10.1.0.2 10.2.0.2 fd00:1::2 fd00:2::2");
    let total = summary.statistics.total();
    assert_eq!((total.received, total.duplicate), (2000, 0));
}

/// Replies larger than a ring slot, whole and in fragments, through the ring's interface.
#[test]
fn answers_that_are_long_or_come_in_fragments_are_heard_once() {
    let [left, right] = Net::new().pair();
    let before = echoes_answered(&right);
    let sizes = [500, 548, 549, 1000, 1452, 1473, 3000, 20_000];
    for payload_bytes in sizes {
        for link in [None, Some("left0".to_owned())] {
            let mut options = options(Backend::Ring, 50);
            options.payload_bytes = payload_bytes;
            options.interface = link;
            let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
            let total = summary.statistics.total();
            let counts = (total.sent, total.received, total.duplicate);
            assert_eq!(counts, (100, 100, 0), "{payload_bytes}");
            assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
        }
    }
    let answered = echoes_answered(&right);
    assert_eq!(
        [0, 1].map(|family| answered[family] - before[family]),
        [800, 800]
    );
    for (payload_bytes, backend) in [(548, Backend::Ring), (549, Backend::Raw)] {
        let mut options = fast(500);
        options.payload_bytes = payload_bytes;
        let summary = run(&left, &options, "10.1.0.2");
        assert_eq!(summary.backend, backend);
        assert_eq!(summary.statistics.total().received, 500);
    }
}

#[test]
fn answers_in_fragments_by_a_narrow_link_are_heard_once() {
    let [left, right] = Net::new().pair();
    left.ip("link set left0 mtu 296");
    right.ip("link set right0 mtu 296");
    for payload_bytes in [56, 268, 269, 500] {
        for link in [None, Some("left0".to_owned())] {
            let mut options = options(Backend::Ring, 50);
            options.payload_bytes = payload_bytes;
            options.interface = link;
            let total = run(&left, &options, "10.1.0.2").statistics.total();
            let counts = (total.received, total.duplicate);
            assert_eq!(counts, (50, 0), "{payload_bytes}");
        }
    }
}

#[test]
fn when_the_rings_interface_goes_away_the_others_go_on() {
    let [left, _right] = Net::new().pair();
    let mut options = options(Backend::Ring, 100);
    options.interface = None;
    let words = "10.1.0.2 fd00:1::2 127.0.0.1";
    let mut is_there = true;
    let summary = complete(open(&left, &options, words), |_, statistics| {
        if is_there && statistics.counts(0).received == 10 {
            left.ip("link del left0");
            is_there = false;
        }
    });
    let [gone, _, there] = [0, 1, 2].map(|target| summary.statistics.counts(target));
    assert_eq!((there.sent, there.received), (100, 100));
    assert!(gone.received >= 10 && gone.local_drops > 0, "{gone:?}");
    assert_eq!(gone.sent + gone.local_drops, 100);
    assert_eq!(gone.sent, gone.received + gone.lost + gone.errors);
}

/// Makes `left0` a port of a bridge, which takes over its addresses.
fn bridge(left: &Host) {
    let mac = left.interface().mac;
    for words in [
        "link add bridge type bridge mcast_snooping 0".to_owned(),
        format!("link set bridge address {mac} arp off"),
        "link set left0 master bridge".to_owned(),
        "address del 10.1.0.1/24 dev left0".to_owned(),
        "-6 address del fd00:1::1/64 dev left0".to_owned(),
        "link set bridge up".to_owned(),
        "address add 10.1.0.1/24 dev bridge".to_owned(),
        "-6 address add fd00:1::1/64 dev bridge nodad".to_owned(),
        "neighbour add 10.1.0.2 lladdr 02:00:00:00:01:02 dev bridge".to_owned(),
        "-6 neighbour add fd00:1::2 lladdr 02:00:00:00:01:02 dev bridge".to_owned(),
    ] {
        left.ip(&words);
    }
}

#[test]
fn a_bridge_shows_each_answer_once() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    bridge(&left);
    for backend in BACKENDS {
        let mut options = options(backend, 100);
        options.interface = None;
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
        let total = summary.statistics.total();
        assert_eq!((total.received, total.duplicate), (200, 0), "{backend:?}");
        assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
    }
}

/// A bridge that has not learned a host's port floods all ports. Two of them lead to the same host, which replies
/// twice.
#[test]
fn a_bridge_that_doubles_probes_makes_duplicates() {
    let net = Net::new();
    let [mut left, mut right] = ["left", "right"].map(Host::new);
    net.join(&mut left, &mut right);
    net.join(&mut left, &mut right);
    open_ping_sockets(&left);
    for name in ["all", "right0", "right1"] {
        right.set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0");
    }
    right.ip("link set right1 address 02:00:00:00:01:02");
    bridge(&left);
    left.ip("link set left1 master bridge");
    for port in ["left0", "left1"] {
        left.ip(&format!("link set {port} type bridge_slave learning off"));
    }
    // Nobody has this address: the run waits for answers until its timeout.
    left.ip("neighbour add 10.1.0.3 lladdr 02:00:00:00:01:02 dev bridge");
    for backend in BACKENDS {
        let before = echoes_answered(&right);
        let mut options = options(backend, 100);
        options.interface = None;
        options.timeout = Duration::from_millis(500);
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2 10.1.0.3");
        let after = echoes_answered(&right);
        assert_eq!(
            [0, 1].map(|family| after[family] - before[family]),
            [200, 200]
        );
        for target in [0, 1] {
            let counts = summary.statistics.counts(target);
            let told = (counts.sent, counts.received, counts.duplicate);
            assert_eq!(told, (100, 100, 100), "{backend:?}");
        }
        assert_eq!(summary.statistics.counts(2).lost, 100);
    }
}
