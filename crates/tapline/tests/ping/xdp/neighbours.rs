//! Neighbours of the XDP back end: on-link sweeps beyond the kernel's table, absent hosts, and MAC addresses that change.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use lab::{Host, Net};
use netlink::{Addr, Event, Neigh, NeighState, Prefix, Watch};
use tapline::ping::{Ended, NeighbourPace, PingEvent, PingOptions, TargetChange, XdpAttachMode};

use super::runs::xdp;
use crate::send::paths::pass_all;
use crate::support::ping::{complete, echoes_answered, open, run, targets};

/// On-link hosts at the other end: more than the kernel's table of neighbours holds by default (`gc_thresh3`, 1024), twice.
const HOSTS: u32 = 2560;

/// Two hosts that resolve each other. 10.96.0.0/16 and `fd96::/64` are on-link at the left one.
fn resolving_pair() -> [Host; 2] {
    let hosts = Net::new().pair();
    for (host, end) in hosts.iter().zip([1, 2]) {
        let name = host.interface().name;
        host.ip(&format!("link set {name} arp on"));
        // Without ARP, it joined no group for neighbour solicitations.
        let own = format!("fd00:1::{end}/64 dev {name}");
        host.ip(&format!("-6 address del {own}"));
        host.ip(&format!("-6 address add {own} nodad"));
        // The kernel sends neighbour solicitations from it.
        host.ip(&format!("-6 address add fe80::{end}/64 dev {name} nodad"));
    }
    // The other end does not ask for it with one of its addresses, which the kernel would note.
    let mac = hosts[0].interface().mac;
    for address in ["10.1.0.1", "fd00:1::1"] {
        hosts[1].ip(&format!(
            "neighbour replace {address} lladdr {mac} dev right0"
        ));
    }
    hosts[0].ip("route add 10.96.0.0/16 dev left0");
    hosts[0].ip("-6 route add fd96::/64 dev left0");
    hosts
}

/// Gives the right host `count` addresses of each family that the left one has to resolve: from 10.96.0.0 and `fd96::` on.
fn add_hosts(right: &Host, count: u32) {
    right.ip("route add local 10.96.0.0/16 dev lo");
    let mut netlink = right.netlink();
    let link = right.interface().index;
    for number in 0..count {
        let address = Ipv6Addr::from(0xfd96 << 112 | u128::from(number));
        let own = Addr::on(link, Prefix::host(address)).nodad(true);
        netlink.add(&own).expect("another address");
    }
}

/// The entries for these hosts in the left host's table.
fn entries(left: &Host) -> Vec<Neigh> {
    let listing = left.netlink().list(&Neigh::new()).expect("neighbours");
    let is_one = |entry: &Neigh| match entry.dst {
        Some(IpAddr::V4(address)) => address.octets()[1] == 96,
        Some(IpAddr::V6(address)) => address.segments()[0] == 0xfd96,
        None => false,
    };
    listing.items.into_iter().filter(is_one).collect()
}

/// The kernel gives up absent neighbours soon.
fn hurry(left: &Host) {
    for family in ["ipv4", "ipv6"] {
        for (name, value) in [("retrans_time_ms", "30"), ("base_reachable_time_ms", "50")] {
            left.set_sysctl(&format!("{family}/neigh/left0/{name}"), value);
        }
        left.set_sysctl(&format!("{family}/neigh/left0/delay_first_probe_time"), "0");
    }
}

/// Each one is resolved, pinged once, and its entry is gone afterwards. Compared with the requests that the kernel counts.
#[test]
fn a_sweep_reaches_more_neighbours_than_the_kernels_table_holds() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    add_hosts(&right, HOSTS);
    let last = HOSTS - 1;
    for (words, has_answered) in [
        (
            format!("10.96.0.0-10.96.{}.{}", last >> 8, last & 0xff),
            [HOSTS.into(), 0],
        ),
        (
            format!("fd96::0-fd96::{last:x}"),
            [HOSTS.into(), HOSTS.into()],
        ),
    ] {
        let mut ended = BTreeSet::new();
        let ping = open(&left, &xdp(1), &words);
        let summary = complete(ping, |event, _| {
            if let PingEvent::Ended { target } = event {
                assert!(ended.insert(*target));
            }
        });
        let total = summary.statistics.total();
        assert_eq!(
            (total.sent, total.local_drops),
            (HOSTS.into(), 0),
            "{words}"
        );
        assert_eq!((total.received, total.lost), (HOSTS.into(), 0), "{words}");
        assert_eq!(ended.len(), HOSTS as usize);
        assert_eq!(echoes_answered(&right), has_answered);
        let left_over = entries(&left);
        assert!(left_over.is_empty(), "{left_over:?}");
    }
}

/// The responder answers requests, and the kernel's neighbour discovery goes on beside it.
#[test]
fn several_probes_to_each_of_many_neighbours_are_answered() {
    let [left, right] = resolving_pair();
    add_hosts(&right, HOSTS);
    let options = tapline::ping::respond("right0").mode(XdpAttachMode::Native);
    let responder = right.run(|| options.open()).unwrap();
    let last = HOSTS - 1;
    let words = format!(
        "10.96.0.0-10.96.{}.{} fd96::0-fd96::{last:x}",
        last >> 8,
        last & 0xff
    );
    let total = run(&left, &xdp(3), &words).statistics.total();
    let all = 2 * 3 * u64::from(HOSTS);
    assert_eq!((total.sent, total.local_drops), (all, 0));
    assert_eq!((total.received, total.lost), (all, 0));
    assert_eq!(responder.finish().unwrap().counts.answered, all);
}

/// Few neighbours stay in the kernel's table, as those of other programs do.
#[test]
fn few_neighbours_stay_in_the_kernels_table() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    add_hosts(&right, 20);
    for count in [1, 3] {
        let total = run(&left, &xdp(count), "10.96.0.0-10.96.0.19 fd96::0-fd96::13");
        let total = total.statistics.total();
        assert_eq!(
            (total.received, total.local_drops),
            (40 * u64::from(count), 0)
        );
        assert_eq!(entries(&left).len(), 40);
    }
}

/// A probe waits until it is known whether somebody answers. Nothing is sent to absent hosts, and the account adds up.
#[test]
fn probes_to_absent_neighbours_are_refused_and_the_others_sent() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    add_hosts(&right, 1000);
    // The last 200 of each family are nobody's.
    right.ip("route replace throw 10.96.3.232/29 table local");
    right.ip("route replace throw 10.96.3.240/28 table local");
    right.ip("route replace throw 10.96.4.0/22 table local");
    for count in [1, 2] {
        let before = echoes_answered(&right);
        let mut options = xdp(count);
        // Faster than the kernel's table allows by default: these give up soon.
        options.neighbours = pace(400, Duration::from_millis(200));
        let words = "10.96.0.0-10.96.4.175 fd96::0-fd96::4af";
        let summary = run(&left, &options, words);
        let total = summary.statistics.total();
        let each = u64::from(count);
        assert_eq!(
            (total.sent, total.local_drops),
            (2000 * each, 400 * each),
            "{summary}"
        );
        assert_eq!((total.received, total.lost), (2000 * each, 0), "{summary}");
        let drops: Vec<_> = summary.local_drops.iter().collect();
        assert_eq!(drops.len(), 1, "{drops:?}");
        assert_eq!(drops[0].0.raw_os_error(), Some(libc::EHOSTUNREACH));
        let after = echoes_answered(&right);
        assert_eq!([0, 1].map(|at| after[at] - before[at]), [1000 * each; 2]);
    }
}

fn pace(most: u32, time: Duration) -> NeighbourPace {
    NeighbourPace {
        most,
        time_ns: time.as_nanos() as u64,
    }
}

/// Probes that wait for their neighbours when the time is over are not sent, and a later run begins with them.
#[test]
fn probes_that_wait_at_the_end_are_not_sent() {
    let [left, _right] = resolving_pair();
    let mut options: PingOptions = xdp(1);
    options.duration = Some(Duration::from_millis(100));
    options.timeout = Duration::from_millis(100);
    let mut ended = 0;
    let ping = open(&left, &options, "10.96.0.0-10.96.15.255");
    let summary = complete(ping, |event, _| {
        ended += u64::from(matches!(event, PingEvent::Ended { .. }));
    });
    let (total, others) = (
        summary.statistics.total(),
        summary.statistics.other_counts(),
    );
    assert_eq!((total.sent, total.local_drops, total.pending()), (0, 0, 0));
    assert!(others.unsent > 0, "{others:?}");
    assert_eq!((summary.statistics.position().ended, ended), (0, 0));
    assert!(entries(&left).is_empty());
}

/// Nothing else on the host sends to them, so that nothing else notices.
#[test]
fn neighbours_and_gateways_with_another_mac_address_are_followed() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    for (family, network, gateway) in [
        ("-4", "10.2.0.0/24", "10.1.0.2"),
        ("-6", "fd02::/64", "fd00:1::2"),
    ] {
        left.ip(&format!("{family} route add {network} via {gateway}"));
        right.ip(&format!("{family} route add local {network} dev lo"));
    }
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(20);
    options.duration = Some(Duration::from_mins(1));
    let words = "10.1.0.2 10.2.0.1 fd00:1::2 fd02::1";
    let ping = open(&left, &options, words);
    let stopper = ping.stopper();
    let mut at_change = None;
    let summary = complete(ping, |_, statistics| {
        let received = [0, 1, 2, 3].map(|target| statistics.counts(target).received);
        match at_change {
            None if received.iter().all(|count| *count > 2) => {
                right.ip("link set right0 address 02:00:00:00:00:77");
                let requests = echoes_answered(&right).iter().sum::<u64>();
                at_change = Some((received, requests));
            }
            // The answers to what was sent before arrive meanwhile.
            Some((before, _)) => {
                let is_followed = |(now, before): (&u64, &u64)| *now > before + 10;
                if received.iter().zip(&before).all(is_followed) {
                    stopper.stop();
                }
            }
            None => {}
        }
    });
    let (_, before) = at_change.expect("all have answered");
    assert_eq!(summary.ended, tapline::ping::Ended::Stopped, "{summary}");
    let after = echoes_answered(&right).iter().sum::<u64>();
    assert!(after >= before + 20, "{before} {after}");
}

/// For a moment, the gateway does not answer when the kernel has it confirm its MAC address. No probe is refused. Compared with the
/// requests that the kernel of the other end counts.
#[test]
fn a_sweep_keeps_a_gateway_that_the_kernel_gives_up() {
    const TARGETS: u64 = 2000;
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    right.ip("route add local 10.64.0.0/16 dev lo");
    // 8: it answers for none of its addresses.
    let answer = |ignored: &str| right.set_sysctl("ipv4/conf/right0/arp_ignore", ignored);
    let gateway: IpAddr = "10.1.0.2".parse().expect("an address");
    let mut watch = left.run(|| Watch::open(Neigh::new())).expect("a watch");
    let mut options = xdp(1);
    options.rate_pps = Some(500);
    let (mut is_silent, mut has_failed) = (false, false);
    let ping = open(&left, &options, "10.64.0.0-10.64.7.207");
    let summary = complete(ping, |_, statistics| {
        if !is_silent && statistics.total().sent > 100 {
            answer("8");
            is_silent = true;
        }
        while let Some(event) = watch.try_next().expect("an event") {
            let (Event::Added(entry) | Event::Changed { after: entry, .. }) = event else {
                continue;
            };
            let is_gone = entry.state == Some(NeighState::Failed);
            if is_silent && !has_failed && is_gone && entry.dst == Some(gateway) {
                answer("0");
                has_failed = true;
            }
        }
    });
    assert!(has_failed, "{summary}");
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.local_drops), (TARGETS, 0), "{summary}");
    assert_eq!(total.received, TARGETS, "{summary}");
    assert_eq!(echoes_answered(&right)[0], TARGETS);
}

/// At the start, the gateway does not answer until the kernel has given it up twice. No probe is refused. Compared with the
/// requests that the kernel of the other end counts.
#[test]
fn a_sweep_waits_for_its_gateway() {
    const TARGETS: u64 = 2000;
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    left.ip("route add 10.64.0.0/16 via 10.1.0.2");
    right.ip("route add local 10.64.0.0/16 dev lo");
    // 8: it answers for none of its addresses.
    let answer = |ignored: &str| right.set_sysctl("ipv4/conf/right0/arp_ignore", ignored);
    answer("8");
    let gateway: IpAddr = "10.1.0.2".parse().expect("an address");
    let mut watch = left.run(|| Watch::open(Neigh::new())).expect("a watch");
    let mut options = xdp(1);
    options.rate_pps = Some(5000);
    let mut failures = 0;
    let ping = open(&left, &options, "10.64.0.0-10.64.7.207");
    let summary = complete(ping, |_, statistics| {
        while let Some(event) = watch.try_next().expect("an event") {
            let (Event::Added(entry) | Event::Changed { after: entry, .. }) = event else {
                continue;
            };
            if entry.state == Some(NeighState::Failed) && entry.dst == Some(gateway) {
                assert!(failures >= 2 || statistics.total().sent == 0, "{failures}");
                failures += 1;
                if failures == 2 {
                    answer("0");
                }
            }
        }
    });
    assert!(failures >= 2, "{summary}");
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.local_drops), (TARGETS, 0), "{summary}");
    assert_eq!(total.received, TARGETS, "{summary}");
    assert_eq!(echoes_answered(&right)[0], TARGETS);
}

/// Nobody has either address. The kernel gives up the one that stays again and again, and does not hear of the other one.
#[test]
fn nobody_asks_for_a_target_that_was_removed() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    let [stays, removed] =
        ["10.1.0.51", "10.1.0.50"].map(|text| text.parse::<IpAddr>().expect("an address"));
    let mut watch = left.run(|| Watch::open(Neigh::new())).expect("a watch");
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(20);
    options.timeout = Duration::from_millis(100);
    options.duration = Some(Duration::from_mins(1));
    let ping = open(&left, &options, &format!("10.1.0.2 {stays} {removed}"));
    let (control, stopper) = (ping.control(), ping.stopper());
    let (mut is_asked, mut is_removed, mut given_up) = (false, false, 0);
    let summary = complete(ping, |event, _| {
        is_removed |= matches!(
            event,
            PingEvent::TargetChange {
                change: TargetChange::Removed { .. },
                ..
            }
        );
        while let Some(Event::Added(entry) | Event::Changed { after: entry, .. }) =
            watch.try_next().expect("an event")
        {
            if entry.state != Some(NeighState::Failed) {
                continue;
            }
            if entry.dst == Some(removed) && !is_asked {
                is_asked = true;
                control
                    .remove(targets(&removed.to_string()))
                    .expect("it runs");
            }
            if entry.dst == Some(stays) && is_removed {
                given_up += 1;
                match given_up {
                    // Requests that were sent before the removal have ended.
                    1 => drop(left.ip(&format!("neighbour flush to {removed} dev left0 nud all"))),
                    4 => stopper.stop(),
                    _ => {}
                }
            }
        }
    });
    assert_eq!(
        (is_asked, summary.ended),
        (true, Ended::Stopped),
        "{summary}"
    );
    let table = left.netlink().list(&Neigh::new()).expect("neighbours");
    let mut known = table.items.iter().filter_map(|entry| entry.dst);
    assert!(!known.any(|address| address == removed), "{table:?}");
}

/// Of a thousand hosts that are absent, ten are asked for in a second. The target behind the gateway, and the host that the kernel
/// knows, do not wait for them.
#[test]
fn absent_hosts_do_not_hold_up_gateways_and_hosts_that_are_known() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    hurry(&left);
    left.ip("route add 10.2.0.0/24 via 10.1.0.2");
    right.ip("route add local 10.2.0.0/24 dev lo");
    right.ip("route add local 10.96.9.9/32 dev lo");
    let mac = right.interface().mac;
    left.ip(&format!(
        "neighbour replace 10.96.9.9 lladdr {mac} dev left0"
    ));
    let mut options = xdp(1);
    options.neighbours = pace(10, Duration::from_secs(1));
    options.duration = Some(Duration::from_secs(20));
    options.timeout = Duration::from_millis(100);
    let ping = open(&left, &options, "10.96.0.0-10.96.3.231 10.2.0.1 10.96.9.9");
    let stopper = ping.stopper();
    let summary = complete(ping, |_, statistics| {
        if [1000, 1001]
            .iter()
            .all(|target| statistics.counts(*target).received == 1)
        {
            stopper.stop();
        }
    });
    assert_eq!(summary.ended, Ended::Stopped, "{summary}");
    let total = summary.statistics.total();
    assert_eq!(total.received, 2, "{summary}");
    // Most of the others still wait.
    assert!(total.local_drops < 500, "{summary}");
}

/// A gateway that answers late: until then, all probes wait for it. Compared with the requests that the kernel counts.
#[test]
fn probes_that_have_waited_leave_at_the_rate() {
    const PPS: u32 = 200;
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    left.ip("route add 10.2.0.0/24 via 10.1.0.9");
    right.ip("route add local 10.2.0.0/24 dev lo");
    for (rate_pps, prefix_pps) in [(Some(PPS), None), (None, Some(PPS))] {
        left.ip("neighbour flush dev left0");
        let before = echoes_answered(&right)[0];
        let mut options = xdp(1);
        (options.rate_pps, options.prefix_pps) = (rate_pps, prefix_pps);
        let (mut ticks, mut first) = (0, None);
        let ping = open(&left, &options, "10.2.0.1-10.2.0.200");
        let summary = complete(ping, |event, statistics| {
            ticks += u32::from(matches!(event, PingEvent::Tick { .. }));
            if ticks == 20 {
                ticks += 1;
                assert_eq!(statistics.total().sent, 0);
                right.ip("address add 10.1.0.9/24 dev right0");
            }
            if statistics.total().sent > 0 {
                first.get_or_insert_with(Instant::now);
            }
        });
        let took = first.expect("they are sent").elapsed();
        right.ip("address del 10.1.0.9/24 dev right0");
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (200, 200), "{summary}");
        assert_eq!(echoes_answered(&right)[0] - before, 200);
        // All but those of the first tick, and of 10 ms on which the schedule catches up.
        assert!(took >= Duration::from_millis(800), "{took:?}");
    }
}

/// The route changes while a probe waits for its gateway. The first gateway becomes known before the second one, or never.
#[test]
fn a_probe_that_waits_follows_its_route() {
    for is_first_known in [true, false] {
        let [left, right] = resolving_pair();
        let _pass = pass_all(&right);
        left.ip("route add 10.2.0.0/24 via 10.1.0.8");
        right.ip("route add local 10.2.0.0/24 dev lo");
        let mut options = xdp(1);
        options.timeout = Duration::from_secs(5);
        let mut ticks = 0;
        let ping = open(&left, &options, "10.2.0.1");
        let summary = complete(ping, |event, _| {
            let is_tick = matches!(event, PingEvent::Tick { .. });
            ticks += u32::from(is_tick);
            let words = match ticks {
                _ if !is_tick => return,
                5 => (&left, "route replace 10.2.0.0/24 via 10.1.0.7"),
                30 if is_first_known => (&right, "address add 10.1.0.8/24 dev right0"),
                // The kernel asks for the first one again after a second.
                150 => (&right, "address add 10.1.0.7/24 dev right0"),
                _ => return,
            };
            words.0.ip(words.1);
        });
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (1, 1), "{summary}");
        assert_eq!(echoes_answered(&right)[0], 1);
    }
}

/// A thousand absent hosts and a host that has to be resolved, each probed ten times a second. Compared with the requests that the
/// kernel of the present one counts.
#[test]
fn absent_hosts_do_not_hold_up_a_host_that_answers() {
    const ABSENT: u32 = 1000;
    const ROUNDS: u32 = 50;
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    right.ip("route add local 10.96.9.9/32 dev lo");
    let mut options = xdp(ROUNDS);
    options.interval = Duration::from_millis(100);
    options.gather = Duration::ZERO;
    options.timeout = Duration::from_millis(500);
    let ping = open(&left, &options, "10.96.0.0-10.96.3.231 10.96.9.9");
    let mut refused_before = None;
    let summary = complete(ping, |_, statistics| {
        if statistics.counts(ABSENT).sent >= 10 {
            refused_before.get_or_insert_with(|| statistics.total().local_drops);
        }
    });
    let statistics = &summary.statistics;
    let own = statistics.counts(ABSENT);
    assert_eq!(
        (own.sent, own.received, own.local_drops),
        (ROUNDS.into(), ROUNDS.into(), 0),
        "{summary}"
    );
    assert_eq!(echoes_answered(&right)[0], u64::from(ROUNDS));
    // All that was not sent has the error that raw sockets report.
    let total = statistics.total();
    assert_eq!(total.local_drops, u64::from(ABSENT * ROUNDS), "{summary}");
    let drops: Vec<_> = summary.local_drops.iter().collect();
    assert_eq!(drops.len(), 1, "{drops:?}");
    assert_eq!(drops[0].0.raw_os_error(), Some(libc::EHOSTUNREACH));
    // The schedule did not wait until nobody had answered the ten probes to each of the others.
    let refused_before = refused_before.expect("ten are sent");
    assert!(
        refused_before < u64::from(10 * ABSENT),
        "{refused_before}: {summary}"
    );
    let left = entries(&left);
    assert!(left.is_empty(), "none of so many stays: {left:?}");
}

/// An absent host is probed every 5 ms while the kernel looks for it, for longer than the schedule has probes in flight.
#[test]
fn an_absent_host_does_not_fill_the_flight() {
    const ROUNDS: u32 = 400;
    /// More than fit into the flight.
    const MANY: u64 = 150;
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    // The kernel looks for it for six seconds.
    left.set_sysctl("ipv4/neigh/left0/retrans_time_ms", "2000");
    let mut options = xdp(ROUNDS);
    options.interval = Duration::from_millis(5);
    options.timeout = Duration::from_millis(50);
    let ping = open(&left, &options, "10.1.0.2 10.96.0.1");
    let mut sent_before = None;
    let summary = complete(ping, |event, statistics| {
        if let PingEvent::NotSent { .. } = event {
            sent_before.get_or_insert_with(|| statistics.counts(0).sent);
        }
    });
    let [present, absent] = [0, 1].map(|target| summary.statistics.counts(target));
    assert_eq!((present.sent, present.received), (400, 400), "{summary}");
    assert_eq!((absent.sent, absent.local_drops), (0, 400), "{summary}");
    // The present one has its interval while the kernel looks for the other one.
    let sent_before = sent_before.expect("nobody answers for the other one");
    assert!(sent_before >= MANY, "{sent_before}: {summary}");
}

/// The kernel gives up the absent host after the last probe to the other one, which has its interval, and after the end of a run
/// whose duration is shorter than that.
#[test]
fn an_absent_host_does_not_lower_the_rate() {
    let [left, right] = resolving_pair();
    let _pass = pass_all(&right);
    let mut options = xdp(3);
    options.interval = Duration::from_millis(900);
    options.timeout = Duration::from_millis(200);
    for (absent, refused) in [("10.1.0.77", 3), ("10.1.0.78", 0)] {
        let before = echoes_answered(&right)[0];
        let summary = run(&left, &options, &format!("10.1.0.2 {absent}"));
        let total = summary.statistics.total();
        assert_eq!(total.local_drops, refused, "{summary}");
        assert_eq!(echoes_answered(&right)[0] - before, total.sent, "{summary}");
        assert_eq!(summary.statistics.counts(0).sent, total.sent);
        let rate = summary.rate.expect("a rate");
        assert!(rate.is_reached() && rate.limit.is_none(), "{rate:?}");
        options.count = None;
        options.duration = Some(Duration::from_millis(2200));
    }
}
