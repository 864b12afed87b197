//! Targets with settings of their own, checked with the other host's kernel and with the requests that it receives.

use std::collections::BTreeMap;
use std::time::Duration;

use lab::{Host, Net};
use tapline::ping::{
    Backend, Classification, PingEvent, PingOptions, TargetChange, TargetSettings,
};

use crate::send::paths::pass_all;
use crate::support::answering::{Answerer, FAMILIES, hosts};
use crate::support::ping::{
    BACKENDS, add_address, complete, echoes_answered, open, open_ping_sockets, options, run,
    targets,
};

/// Runs until stopped, with a round each 5 ms.
fn endless(backend: Backend) -> PingOptions {
    let mut options = options(backend, 1);
    options.count = None;
    options.interval = Duration::from_millis(5);
    options.timeout = Duration::from_secs(2);
    options.both_families = true;
    if backend == Backend::Xdp {
        options.interface = Some("left0".into());
    }
    options
}

/// Two hosts; the right one has 10.1.0.2 to 10.1.0.5, and is a neighbour of the left one.
fn neighbours() -> [Host; 2] {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    left.ip("link set left0 arp on");
    let mac = right.interface().mac;
    for number in 2..=5 {
        if number > 2 {
            add_address(&right, &format!("10.1.0.{number}"), 24, "right0");
        }
        left.ip(&format!(
            "neighbour replace 10.1.0.{number} lladdr {mac} dev left0"
        ));
        left.ip(&format!(
            "neighbour replace fd00:1::{number} lladdr {mac} dev left0"
        ));
    }
    [left, right]
}

/// As a caller of bpfpinger does: each request has its count, and is removed when it has ended.
#[test]
fn requests_with_counts_of_their_own_end_one_by_one() {
    let [left, right] = neighbours();
    let _pass = pass_all(&right);
    for backend in BACKENDS.into_iter().chain([Backend::Xdp]) {
        let before = echoes_answered(&right);
        let count = |count| TargetSettings::default().count(count);
        let mut list = targets("10.1.0.2 10.1.0.3");
        list.set_settings(0, count(3));
        list.set_settings(1, count(7).interval(Duration::from_millis(20)));
        let ping = left.run(|| {
            let ping = tapline::ping(list).options(endless(backend)).open();
            ping.unwrap_or_else(|error| panic!("{backend:?}: {error}"))
        });
        let (control, stopper) = (ping.control(), ping.stopper());
        let mut ended = BTreeMap::new();
        let summary = complete(ping, |event, statistics| match event {
            PingEvent::Ended { target } => {
                let address = statistics.targets().address(*target).expect("an address");
                ended.insert(address.to_string(), statistics.counts(*target));
                let word = address.to_string();
                control.remove(targets(&word)).expect("it runs");
                if ended.len() == 1 {
                    let more = targets("10.1.0.4 fd00:1::2").with_settings(count(5));
                    control.add(more).expect("it runs");
                }
            }
            PingEvent::TargetChange {
                change: TargetChange::Removed { account },
                ..
            } => {
                assert_eq!(account.sent, account.received + account.lost + account.late);
                if statistics.removed().hosts == 4 {
                    stopper.stop();
                }
            }
            _ => {}
        });
        let found: Vec<_> = ended
            .iter()
            .map(|(address, counts)| (address.as_str(), counts.sent, counts.received))
            .collect();
        assert_eq!(
            found,
            [
                ("10.1.0.2", 3, 3),
                ("10.1.0.3", 7, 7),
                ("10.1.0.4", 5, 5),
                ("fd00:1::2", 5, 5)
            ],
            "{backend:?}"
        );
        let after = echoes_answered(&right);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [15, 5]);
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received, total.lost), (20, 20, 0));
    }
}

#[test]
fn the_xdp_back_end_follows_targets_that_come_and_go() {
    let [left, right] = neighbours();
    let _pass = pass_all(&right);
    let mut options = endless(Backend::Xdp);
    options.timeout = Duration::from_millis(200);
    options.tick = Some(Duration::from_millis(10));
    options.spare_targets = 2;
    let ping = open(&left, &options, "10.1.0.2");
    let (control, stopper) = (ping.control(), ping.stopper());
    let (mut step, mut refused) = (0, 0);
    let summary = complete(ping, |event, statistics| {
        let received = |target| statistics.counts(target).received;
        match (step, event) {
            (0, PingEvent::Tick { .. }) if received(0) > 0 => {
                // Two fit, and the third does not.
                let more = targets("10.1.0.3 fd00:1::2 10.1.0.5");
                control.add(more).expect("it runs");
                step = 1;
            }
            (1, PingEvent::NotAdded { hosts, error }) => refused = hosts * error.high as u32,
            (1, PingEvent::Tick { .. })
                if statistics.targets().len() == 3 && received(1).min(received(2)) > 0 =>
            {
                control.remove(targets("10.1.0.3")).expect("it runs");
                step = 2;
            }
            (
                2,
                PingEvent::TargetChange {
                    target: 1,
                    change: TargetChange::Removed { account },
                },
            ) => {
                assert_eq!((account.sent, account.pending()), (account.received, 0));
                // It takes the place of the one that was removed.
                control.add(targets("10.1.0.4")).expect("it runs");
                step = 3;
            }
            (3, PingEvent::TargetChange { target, .. }) => {
                assert_eq!((*target, received(1)), (1, 0), "it begins anew");
                step = 4;
            }
            (4, PingEvent::Tick { .. }) if received(1) > 0 => stopper.stop(),
            _ => {}
        }
    });
    assert_eq!((step, refused), (4, 3));
    let statistics = &summary.statistics;
    let mut sum = statistics.removed().counts;
    for target in statistics.targets().indices() {
        sum = sum.plus(&statistics.counts(target));
    }
    let total = statistics.total();
    assert_eq!(sum, total);
    let answered = echoes_answered(&right);
    assert_eq!(answered[0] + answered[1], total.sent);
}

/// The first request is answered when the fifth one has arrived. Up to three are sent at once, and the others 5 ms apart.
#[test]
fn each_target_has_its_timeout_on_every_back_end() {
    for backend in BACKENDS.into_iter().chain([Backend::Xdp]) {
        let hosts = hosts();
        let _pass = pass_all(&hosts[1]);
        for family in FAMILIES {
            let mut options = endless(backend);
            options.timeout = Duration::from_mins(1);
            options.tick = Some(Duration::from_millis(10));
            let answerer = Answerer::new(&hosts, family);
            for (timeout, is_late) in [(Duration::from_millis(1), true), (options.timeout, false)] {
                let settings = TargetSettings::default().timeout(timeout).count(5);
                let list = targets(&family.target()).with_settings(settings);
                let ping = hosts[0].run(|| tapline::ping(list).options(options.clone()).open());
                let ping = ping.expect("it can be opened");
                let stopper = ping.stopper();
                let summary = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let request = answerer.next_request();
                        for _ in 1..5 {
                            answerer.next_request();
                        }
                        answerer.send(2, &answerer.reply(2, &request, |_| ()));
                    });
                    complete(ping, |_, statistics| {
                        let total = statistics.total();
                        if total.received + total.late == 1 {
                            stopper.stop();
                        }
                    })
                });
                let counts = summary.statistics.counts(0);
                let found = (counts.received, counts.late, counts.lost);
                let expected = if is_late { (0, 1, 0) } else { (1, 0, 0) };
                assert_eq!(found, expected, "{backend:?} {family:?} {timeout:?}");
            }
        }
    }
}

/// Requests arrive with the payload length of their target, from 3 bytes on, as bpfpinger sends.
#[test]
fn payloads_have_the_length_of_their_target() {
    for backend in BACKENDS {
        let hosts = hosts();
        for family in FAMILIES {
            for bytes in [3, 5, 15, 16, 40, 56] {
                let answerer = Answerer::new(&hosts, family);
                let mut options = options(backend, 2);
                options.timeout = Duration::from_mins(1);
                let settings = TargetSettings::default().payload_bytes(bytes);
                let list = targets(&family.target()).with_settings(settings);
                let ping = hosts[0].run(|| tapline::ping(list).options(options).open());
                let ping = ping.expect("it can be opened");
                let mut classes = Vec::new();
                let summary = std::thread::scope(|scope| {
                    let sender = scope.spawn(|| {
                        let requests = [(); 2].map(|()| answerer.next_request());
                        // In the other order, the first one twice.
                        for at in [1, 0, 0] {
                            let reply = answerer.reply(2, &requests[at], |_| ());
                            answerer.send(2, &reply);
                        }
                        requests.map(|request| request.len())
                    });
                    let summary = complete(ping, |event, _| {
                        if let PingEvent::Answer { class, .. } = event {
                            classes.push(*class);
                        }
                    });
                    assert_eq!(sender.join().expect("no panic"), [8 + bytes; 2]);
                    summary
                });
                let counts = summary.statistics.counts(0);
                assert_eq!(
                    (counts.sent, counts.received),
                    (2, 2),
                    "{backend:?} {bytes}"
                );
                let is_reordered = |class: &Classification| {
                    matches!(
                        class,
                        Classification::Received {
                            is_reordered: true,
                            ..
                        }
                    )
                };
                assert!(classes.iter().any(is_reordered), "{classes:?}");
                let rtt = summary.statistics.rtt(0).expect("they were timed");
                assert_eq!(rtt.count, 2);
            }
        }
    }
}

/// The kernel answers payloads without room for a send time, and each is timed.
#[test]
fn a_run_of_short_payloads_is_answered_and_timed() {
    let [left, right] = neighbours();
    for (backend, round) in BACKENDS.into_iter().zip(1..) {
        let mut options = options(backend, 300);
        options.payload_bytes = 3;
        let summary = run(&left, &options, "10.1.0.2 10.1.0.3 fd00:1::2");
        let total = summary.statistics.total();
        assert_eq!((total.sent, total.received), (900, 900), "{backend:?}");
        assert_eq!(echoes_answered(&right), [600 * round, 300 * round]);
        let rtt = summary.statistics.histogram();
        assert_eq!(rtt.count(), 900);
        let (min, max) = rtt.range_ns().expect("not empty");
        assert!(min > 0 && max < 2_000_000_000);
    }
}
