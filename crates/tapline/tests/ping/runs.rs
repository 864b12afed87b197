//! Pings between test hosts, checked with the kernel's own counters.

use crate::support::ping;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::support::ping::{
    BACKENDS, complete, echoes_answered, open, open_ping_sockets, options, run, targets,
};
use lab::Net;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, ipproto, socket, sockopt};
use tapline::ping::{
    Backend, Classification, Ended, OtherCounts, Ping, PingError, PingEvent, PingOperation,
    PingSummary, TimestampSource, ping_once,
};

#[test]
fn every_probe_is_answered_over_both_families_and_back_ends() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    for (backend, round) in BACKENDS.into_iter().zip(1..) {
        let summary = run(&left, &options(backend, 50), "10.1.0.2 fd00:1::2");
        assert!(matches!(summary.ended, Ended::Count), "{:?}", summary.ended);
        assert_eq!(summary.backend, backend);
        for target in 0..2 {
            let counts = summary.statistics.counts(target);
            assert_eq!(
                (counts.sent, counts.received),
                (50, 50),
                "{backend:?} {counts:?}"
            );
            let rtt = summary.statistics.rtt(target).expect("it was timed");
            assert!(rtt.min_ns > 0 && rtt.min_ns <= rtt.max_ns, "{rtt:?}");
        }
        assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
        assert_eq!((summary.overruns, summary.clock_steps), (Some(0), 0));
        assert_eq!(echoes_answered(&right), [50 * round; 2]);
    }
}

#[test]
fn many_hosts_on_the_loopback_have_their_own_answers() {
    let host = lab::Host::new("alone");
    open_ping_sockets(&host);
    for backend in BACKENDS {
        let mut options = options(backend, 1);
        options.interval = Duration::ZERO;
        options.timeout = Duration::from_secs(10);
        options.interface = options.interface.map(|_| "lo".into());
        let summary = run(&host, &options, "127.0.0.0/18 ::1");
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (16_383, 16_383), "{total:?}");
        assert_eq!((total.duplicate, total.local_drops), (0, 0));
        assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
    }
}

#[test]
fn more_probes_than_sequence_numbers_lose_none() {
    let host = lab::Host::new("alone");
    open_ping_sockets(&host);
    for (backend, round) in BACKENDS.into_iter().zip(1..) {
        let mut options = options(backend, 70_000);
        options.interval = Duration::ZERO;
        options.timeout = Duration::from_secs(10);
        options.interface = None;
        for target in ["127.0.0.1", "::1"] {
            let total = run(&host, &options, target).statistics.total();
            assert_eq!(
                (total.sent, total.received, total.lost),
                (70_000, 70_000, 0),
                "{backend:?} {target}"
            );
            assert_eq!((total.duplicate, total.local_drops), (0, 0));
        }
        assert_eq!(echoes_answered(&host), [70_000 * round; 2]);
    }
}

/// A quarter of the targets is sent together. Raw and ping sockets receive a transmit time stamp for each probe of a
/// small group, and for the first of a large one.
#[test]
fn targets_that_gather_are_all_answered_and_timed() {
    let host = lab::Host::new("alone");
    open_ping_sockets(&host);
    let lists = [("127.0.0.0/25 ::1", 127), ("127.0.0.0/23 ::1", 511)];
    let each = BACKENDS
        .into_iter()
        .flat_map(|backend| lists.map(|list| (backend, list)));
    for (backend, (list, targets)) in each {
        let mut options = options(backend, 3);
        options.interval = Duration::from_millis(160);
        options.interface = None;
        let summary = run(&host, &options, list);
        let (total, all) = (summary.statistics.total(), u64::from(3 * targets));
        assert_eq!((total.sent, total.received), (all, all));
        assert!((0..targets).all(|target| summary.statistics.rtt(target).is_some()));
        let [by_kernel, by_program] = [summary.tx_timestamps.kernel, summary.tx_timestamps.user];
        assert_eq!(by_kernel + by_program, all);
        match (backend, targets) {
            (Backend::Ring, _) => assert_eq!(by_kernel, 0),
            (_, 127) => assert_eq!(by_program, 0, "{backend:?}"),
            _ => assert!(
                (1..all / 4).contains(&by_kernel),
                "{backend:?}: {by_kernel}"
            ),
        }
    }
}

#[test]
fn two_runs_at_once_hear_nothing_of_each_other() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    std::thread::scope(|scope| {
        let runs = [
            Backend::Raw,
            Backend::Ring,
            Backend::Ring,
            Backend::PingSocket,
        ]
        .map(|backend| {
            let left = &left;
            scope.spawn(move || run(left, &options(backend, 200), "10.1.0.2 fd00:1::2"))
        });
        for run in runs {
            let summary = run.join().expect("it ends");
            assert_eq!(summary.statistics.total().received, 400);
            assert_eq!(summary.statistics.other_counts(), OtherCounts::default());
        }
    });
}

/// Ping sockets have their identifier as port, and the kernel lists them.
#[test]
fn a_ping_socket_shares_its_identifier_with_nobody() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    let options = options(Backend::PingSocket, 1);
    let _ping = open(&left, &options, "10.1.0.2 fd00:1::2");
    let table = left.run(|| std::fs::read_to_string("/proc/thread-self/net/icmp"));
    let table = table.expect("the kernel lists them");
    let row = table.lines().nth(1).expect("a ping socket");
    let (_, local) = row.split_once(": ").expect("an address");
    let port = u16::from_str_radix(&local[9..13], 16).expect("a port");
    let bound = left.run(|| {
        let other = socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP))?;
        sockopt::set_socket_reuseaddr(&other, true)?;
        bind(&other, &SocketAddr::from(([0; 4], port)))
    });
    assert_eq!(bound, Err(Errno::ADDRINUSE));
}

#[test]
fn a_refusal_of_the_network_names_its_router() {
    for backend in BACKENDS {
        let [left, right] = Net::new().pair();
        open_ping_sockets(&left);
        for sysctl in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            right.set_sysctl(sysctl, "1");
        }
        // The kernel limits its errors: by sysctls, and those about routes to five a host and burst
        // (`ip_error`, net/ipv4/route.c). Two are asked for.
        right.set_sysctl("ipv4/icmp_ratemask", "0");
        right.set_sysctl("ipv6/icmp/ratelimit", "0");
        left.ip("route add 10.9.0.0/24 via 10.1.0.2");
        left.ip("-6 route add fd09::/64 via fd00:1::2");
        right.ip("route add unreachable 10.9.0.0/24");
        right.ip("-6 route add unreachable fd09::/64");
        let summary = run(&left, &options(backend, 2), "10.9.0.1 fd09::1 10.1.0.2");
        let prober = &summary.statistics;
        for target in 0..2 {
            let counts = prober.counts(target);
            assert_eq!(
                (counts.sent, counts.errors, counts.lost),
                (2, 2, 0),
                "{backend:?} {counts:?}"
            );
        }
        assert_eq!(prober.counts(2).received, 2);
        assert_eq!(
            prober.other_counts().unproven,
            0,
            "the kernel quotes all of a probe"
        );
        let errors: Vec<String> = (prober.errors().iter())
            .map(|(error, count)| format!("{} {}/{} {count}", error.router, error.kind, error.code))
            .collect();
        assert_eq!(errors, ["10.1.0.2 3/1 2", "fd00:1::2 1/0 2"]);
    }
}

#[test]
fn a_host_without_a_route_is_a_local_drop_and_the_others_go_on() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    // By an interface that is named, everything without a route is taken to be on its link.
    for backend in [Backend::Raw, Backend::PingSocket] {
        let summary = run(&left, &options(backend, 5), "192.0.2.1 10.1.0.2");
        let counts = summary.statistics.counts(0);
        assert_eq!((counts.sent, counts.local_drops, counts.lost), (0, 5, 0));
        assert_eq!(summary.statistics.counts(1).received, 5);
        let drops: Vec<_> = summary.local_drops.iter().collect();
        assert_eq!(drops.len(), 1);
        assert_eq!(
            (drops[0].0.kind(), drops[0].1),
            (io::ErrorKind::NetworkUnreachable, 5)
        );
    }
}

#[test]
fn an_interface_that_goes_away_leaves_the_others_be() {
    let [left, _right] = Net::new().pair();
    {
        let mut options = options(Backend::Raw, 40);
        options.interval = Duration::from_millis(10);
        let mut answers = 0;
        let summary = complete(open(&left, &options, "10.1.0.2 127.0.0.1"), |event, _| {
            answers += u32::from(matches!(event, PingEvent::Answer { .. }));
            if answers == 20 {
                left.ip("link del left0");
                answers += 1;
            }
        });
        let [gone, there] = [0, 1].map(|target| summary.statistics.counts(target));
        assert_eq!((there.sent, there.received), (40, 40));
        assert!(gone.received >= 9 && gone.local_drops > 0, "{gone:?}");
        assert_eq!(gone.sent + gone.local_drops, 40);
        assert_eq!(gone.sent, gone.received + gone.lost + gone.errors);
    }
}

#[test]
fn an_event_loop_of_ones_own_drives_a_run() {
    let [left, _right] = Net::new().pair();
    let mut options = options(Backend::Raw, 20);
    options.interval = Duration::from_millis(5);
    let mut ping = open(&left, &options, "10.1.0.2 fd00:1::2");
    let mut received = 0;
    loop {
        ping::wait_readable(&ping);
        let Some(batch) = ping.next_batch(Duration::ZERO).expect("it goes on") else {
            break;
        };
        for event in batch {
            if let PingEvent::Answer {
                class: Classification::Received { .. },
                wall_ns,
                ..
            } = event
            {
                assert!(wall_ns.is_some());
                received += 1;
            }
        }
    }
    assert_eq!(received, 40);
    assert_eq!(ping.finish().expect("a summary").ended, Ended::Count);
}

/// Drives a run. Stops sending, more than once, when `is_time` returns true.
fn drive_until(mut ping: Ping, is_time: impl Fn(&Ping) -> bool) -> PingSummary {
    loop {
        if is_time(&ping) {
            ping.end_sending().expect("it can be told");
        }
        ping::wait_readable(&ping);
        if ping
            .next_batch(Duration::ZERO)
            .expect("it goes on")
            .is_none()
        {
            return ping.finish().expect("a summary");
        }
    }
}

#[test]
fn events_are_returned_one_by_one_and_in_batches() {
    let [left, _right] = Net::new().pair();
    let mut options = options(Backend::Raw, 20);
    options.interval = Duration::from_millis(2);
    let mut ping = open(&left, &options, "10.1.0.2 10.1.0.2-3");
    let (mut sent, mut rtts) = (0, 0);
    while let Some(event) = ping.next().expect("it goes on") {
        sent += u32::from(matches!(event, PingEvent::Sent { .. }));
        rtts += u32::from(event.rtt().is_some());
        if sent == 10 {
            break;
        }
    }
    while let Some(batch) = ping
        .next_batch(Duration::from_secs(10))
        .expect("it goes on")
    {
        for event in batch {
            assert!(event.probe().is_some(), "{event}");
            sent += u32::from(matches!(event, PingEvent::Sent { .. }));
            rtts += u32::from(event.rtt().is_some());
        }
    }
    assert!(ping.next().expect("it is over").is_none());
    assert_eq!(ping.statistics().counts(0).received, 20);
    let summary = ping.finish().expect("a summary");
    assert_eq!(summary.ended, Ended::Count);
    let total = summary.statistics.total();
    assert_eq!((total.sent, total.received), (sent.into(), rtts.into()));
    let text = summary.to_string();
    assert!(
        text.starts_with("40 probes sent to 2 targets in "),
        "{text}"
    );
}

#[test]
fn a_stop_ends_a_run_that_is_waited_for() {
    let [left, _right] = Net::new().pair();
    let mut options = options(Backend::Raw, 2);
    options.interval = Duration::from_hours(1);
    let mut ping = open(&left, &options, "10.1.0.2");
    let stopper = ping.stopper();
    while let Some(event) = ping.next().expect("it goes on") {
        if event.rtt().is_some() {
            stopper.stop();
            ping::wait_readable(&ping);
        }
    }
    assert_eq!(ping.finish().expect("a summary").ended, Ended::Stopped);
}

/// The kernel stamps replies on arrival once a loopback packet has shown that it does. Without a loopback this is
/// unknown, and each reply is judged by its own time stamp.
#[test]
fn the_summary_names_the_clock_that_stamped_the_replies() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    for backend in BACKENDS {
        let summary = run(&left, &options(backend, 5), "10.1.0.2");
        let stamps = summary.rx_timestamps;
        assert_eq!((stamps.kernel, stamps.user), (5, 0), "{backend:?}");
        assert_eq!(stamps.source(), Some(TimestampSource::Kernel));
        let nobody = run(&left, &options(backend, 1), "192.0.2.1");
        assert_eq!(nobody.rx_timestamps.source(), None);
    }
    left.ip("link set lo down");
    for backend in [Backend::Raw, Backend::PingSocket] {
        let summary = run(&left, &options(backend, 50), "10.1.0.2");
        let stamps = summary.rx_timestamps;
        assert_eq!(stamps.kernel + stamps.user, 50, "{backend:?}");
        let expected = match (stamps.kernel, stamps.user) {
            (_, 0) => TimestampSource::Kernel,
            (0, _) => TimestampSource::User,
            _ => TimestampSource::Mixed,
        };
        assert_eq!(stamps.source(), Some(expected));
    }
}

/// One host replies. Frames to the other are lost, and its probes stay in flight until they time out.
#[test]
fn an_event_loop_ends_the_sending_and_waits_for_what_is_in_flight() {
    let [left, right] = Net::new().pair();
    let mut options = options(Backend::Raw, 10_000);
    (options.interval, options.timeout) = (Duration::from_millis(5), Duration::from_millis(200));
    left.ip("neigh add 10.1.0.66 lladdr 02:00:00:00:00:66 nud permanent dev left0");
    let summary = drive_until(open(&left, &options, "10.1.0.2 10.1.0.66"), |ping| {
        ping.statistics().total().received >= 10
    });
    assert!(matches!(summary.ended, Ended::Duration));
    let [near, absent] = [0, 1].map(|target| summary.statistics.counts(target));
    assert_eq!((near.sent, near.lost), (near.received, 0));
    assert_eq!((absent.sent, absent.received), (absent.lost, 0));
    assert!(absent.sent > 0 && summary.statistics.total().pending() == 0);
    assert_eq!(echoes_answered(&right)[0], near.received);
}

/// The next probe would be due in an hour, longer than the test waits for the descriptor.
#[test]
fn a_loop_that_ends_the_sending_is_woken() {
    let [left, right] = Net::new().pair();
    for asked in [0, 1] {
        let mut options = options(Backend::Raw, 2);
        options.interval = Duration::from_hours(1);
        let summary = drive_until(open(&left, &options, "10.1.0.2"), |ping| {
            ping.statistics().total().received == asked
        });
        assert!(matches!(summary.ended, Ended::Duration));
        assert_eq!(summary.statistics.total().sent, asked);
        assert_eq!(echoes_answered(&right)[0], asked);
    }
}

#[test]
fn one_host_is_asked_once() {
    let [left, right] = Net::new().pair();
    let timeout = Duration::from_millis(100);
    for address in ["10.1.0.2", "fd00:1::2", "127.0.0.1", "::1"] {
        let rtt = left.run(|| ping_once(address.parse().expect("an address"), timeout));
        let rtt = rtt.expect("it is sent").expect("it is answered");
        assert!(rtt < timeout && !rtt.is_zero());
    }
    right.set_sysctl("ipv4/icmp_echo_ignore_all", "1");
    let answer = left.run(|| ping_once("10.1.0.2".parse().expect("an address"), timeout));
    assert_eq!(answer.expect("it is sent"), None);
    let refused = left.run(|| ping_once("192.0.2.1".parse().expect("an address"), timeout));
    assert!(matches!(
        refused,
        Err(PingError::Kernel {
            operation: PingOperation::Send,
            ..
        })
    ));
}

#[test]
fn the_duration_ends_the_sending_and_a_stop_the_run() {
    let [left, _right] = Net::new().pair();
    let mut options = options(Backend::Raw, 1);
    (options.count, options.interval) = (None, Duration::from_millis(5));
    options.duration = Some(Duration::from_millis(52));
    let summary = run(&left, &options, "10.1.0.2");
    assert!(matches!(summary.ended, Ended::Duration));
    let total = summary.statistics.total();
    assert!(total.sent <= 11 && total.pending() == 0, "{total:?}");

    options.duration = None;
    let ping = open(&left, &options, "10.1.0.2");
    let stopper = ping.stopper();
    let summary = complete(ping, |event, statistics| {
        if matches!(event, PingEvent::Answer { .. }) && statistics.total().received == 3 {
            stopper.stop();
        }
    });
    assert!(matches!(summary.ended, Ended::Stopped));
    assert!(summary.statistics.total().received >= 3);
}

#[test]
fn without_privileges_the_way_out_is_named() {
    let host = lab::Host::new("alone");
    let open = |backend| {
        host.run(move || {
            ping::drop_capabilities();
            let mut options = options(Backend::Raw, 1);
            options.backend = backend;
            tapline::ping(targets("127.0.0.1"))
                .options(options)
                .open()
                .map(|ping| ping.backend())
        })
    };
    let error = open(None).expect_err("nothing is permitted");
    assert!(matches!(error, PingError::NotPermitted { .. }), "{error:?}");
    assert!(error.to_string().contains("net.ipv4.ping_group_range"));
    let error = open(Some(Backend::Raw)).expect_err("raw is not permitted");
    assert!(matches!(
        error,
        PingError::Kernel {
            operation: PingOperation::OpenSocket(Backend::Raw),
            ..
        }
    ));
    open_ping_sockets(&host);
    assert_eq!(open(None).expect("ping sockets are"), Backend::PingSocket);
}
