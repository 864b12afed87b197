//! Targets that are added to and removed from a running ping, and paths, checked with the kernel's own counters.

use std::thread;
use std::time::Duration;

use lab::Net;
use tapline::ping::{
    Backend, Classification, NeighbourPace, Ping, PingError, PingEvent, PingOptions, ProbeCounts,
    TargetChange,
};

use crate::support::ping::{
    BACKENDS, add_address, echoes_answered, open, open_ping_sockets, options, run, targets,
};

/// More events than a run has until a change takes effect.
const MAX_EVENTS: u32 = 10_000;

/// Without an end, a probe per 5 ms to each target.
fn endless(backend: Backend) -> PingOptions {
    let mut options = options(backend, 1);
    options.count = None;
    options.interval = Duration::from_millis(5);
    options.both_families = true;
    options
}

/// Reads events until one satisfies the condition.
#[track_caller]
fn until(ping: &mut Ping, is_it: impl Fn(&Ping, &PingEvent) -> bool) -> PingEvent {
    for _ in 0..MAX_EVENTS {
        let event = ping.next().expect("it can wait").expect("it runs");
        if is_it(ping, &event) {
            return event;
        }
    }
    panic!("nothing like it happens");
}

/// Reads events until this address has answered.
#[track_caller]
fn answered(ping: &mut Ping, address: &str) {
    let address = Some(address.parse().expect("an address"));
    until(ping, |ping, event| match event {
        PingEvent::Answer {
            class: Classification::Received { probe, .. },
            ..
        } => ping.statistics().targets().address(probe.target) == address,
        _ => false,
    });
}

#[test]
fn targets_come_and_go_while_it_runs() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    let mac = right.interface().mac;
    add_address(&right, "10.1.0.3", 24, "right0");
    left.ip(&format!(
        "neighbour replace 10.1.0.3 lladdr {mac} dev left0"
    ));
    for (backend, round) in BACKENDS.into_iter().zip(1..) {
        let before = echoes_answered(&right);
        let mut ping = open(&left, &endless(backend), "10.1.0.2");
        answered(&mut ping, "10.1.0.2");
        let control = ping.control();
        let other = control.clone();
        // 10.1.0.2 is there already.
        thread::spawn(move || other.add(targets("10.1.0.2 10.1.0.3 fd00:1::2")))
            .join()
            .expect("no panic")
            .expect("it runs");
        answered(&mut ping, "10.1.0.3");
        answered(&mut ping, "fd00:1::2");
        assert_eq!(ping.statistics().targets().len(), 3);

        control
            .remove(targets("10.1.0.2 192.0.2.1"))
            .expect("it runs");
        let removed = until(&mut ping, |_, event| {
            matches!(event, PingEvent::TargetChange { .. })
        });
        let PingEvent::TargetChange {
            target: 0,
            change: TargetChange::Removed { account },
        } = removed
        else {
            panic!("{removed:?}");
        };
        assert_eq!((account.sent, account.pending()), (account.received, 0));

        control
            .replace(targets("10.1.0.3 10.1.0.2"))
            .expect("it runs");
        let replaced = until(&mut ping, |_, event| {
            matches!(event, PingEvent::TargetsReplaced { .. })
        });
        assert_eq!(
            replaced.to_string(),
            "targets: 1 added, 1 removed, 1 unchanged"
        );
        until(&mut ping, |_, event| {
            matches!(
                event,
                PingEvent::TargetChange {
                    change: TargetChange::Removed { .. },
                    ..
                }
            )
        });
        answered(&mut ping, "10.1.0.2");

        let summary = ping.finish().expect("a summary");
        let statistics = &summary.statistics;
        let removed = statistics.removed();
        assert_eq!(
            (removed.hosts, statistics.targets().indices().count()),
            (2, 2),
            "{round}"
        );
        let mut sum = removed.counts;
        for target in statistics.targets().indices() {
            sum = sum.plus(&statistics.counts(target));
        }
        assert_eq!(sum, statistics.total());
        let after = echoes_answered(&right);
        let counted = after[0] + after[1] - before[0] - before[1];
        assert_eq!(counted, statistics.total().sent);
        let refused = control.add(targets("10.1.0.3")).expect_err("it is over");
        assert!(matches!(refused, PingError::Control { .. }), "{refused}");
    }
}

#[test]
fn changes_wake_a_run_that_waits() {
    let [left, right] = Net::new().pair();
    let mut options = endless(Backend::Raw);
    options.interval = Duration::from_hours(24);
    let mut ping = open(&left, &options, "10.1.0.2");
    let (control, stopper) = (ping.control(), ping.stopper());
    let mut added = 0;
    let observed = ping.run(|event, _| match event {
        // Nothing else is due for a day.
        PingEvent::Answer { .. } => control.add(targets("10.1.0.9")).expect("it runs"),
        PingEvent::TargetChange {
            change: TargetChange::Added,
            ..
        } => {
            added += 1;
            stopper.stop();
        }
        _ => {}
    });
    observed.expect("it can wait");
    assert_eq!((added, echoes_answered(&right)), (1, [1, 0]));
}

#[test]
fn every_path_is_answered_on_every_back_end() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    for (backend, round) in BACKENDS.into_iter().zip(1..) {
        let mut options = options(backend, 10);
        options.paths = Some(4);
        let summary = run(&left, &options, "10.1.0.2 fd00:1::2");
        let statistics = &summary.statistics;
        assert_eq!(
            (statistics.targets().len(), statistics.targets().hosts()),
            (8, 2)
        );
        for target in 0..8 {
            let counts = statistics.counts(target);
            let mut expected = ProbeCounts::default();
            (expected.sent, expected.received) = (10, 10);
            assert_eq!(counts, expected, "{backend:?} {target}");
            let path = statistics.targets().path(target).expect("a path");
            assert_eq!(u32::from(path.number), target % 4);
        }
        assert_eq!(echoes_answered(&right), [40 * round; 2]);
    }
}

#[test]
fn absent_neighbours_that_are_added_are_paced() {
    let [left, _right] = Net::new().pair();
    let mac = left.interfaces()[0].mac;
    left.ip("link set left0 arp on");
    left.ip(&format!(
        "neighbour replace 10.1.0.2 lladdr {mac} dev left0"
    ));
    left.ip("route add 10.98.0.0/24 dev left0");
    let mut options = endless(Backend::Raw);
    // Ten at once, and another one in a hundred seconds.
    options.neighbours = NeighbourPace {
        most: 10,
        time_ns: 1_000_000_000_000,
    };
    let mut ping = open(&left, &options, "10.1.0.2");
    let control = ping.control();
    left.run(|| control.add(targets("10.98.0.0/24")))
        .expect("it runs");
    let mut sent = [0; 2];
    // In a few rounds, 1024 probes would wait for the limit, and the schedule with them.
    while sent[0] < 3 {
        let event = ping.next().expect("it can wait").expect("it runs");
        if let PingEvent::Sent { probe } = event {
            sent[usize::from(probe.target > 0)] += 1;
        }
    }
    assert_eq!((ping.statistics().targets().len(), sent[1]), (255, 10));
}
