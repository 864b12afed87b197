//! How rate and in-flight limits lengthen a run: predicted and simulated.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::support::{MS, SECOND, World, plan, targets};
use tapline_probe::{NeighbourPace, NextAction, ProbePlan, Prober, SendFailure};

/// Predicts and simulates a run without any replies. Returns when the last probe was sent and when the run ended.
#[track_caller]
fn compare(plan: &ProbePlan, words: &str, on_link: bool) -> (u64, u64) {
    let targets = targets(words);
    let count = if on_link { targets.len() } else { 0 };
    let forecast = plan.forecast(targets.len()).expect("a plan");
    let bare_ns = forecast.duration_ns().expect("an end");
    let forecast = forecast.with_limits(plan, &targets, count);
    let foretold_ns = forecast.duration_ns().expect("an end");
    assert_eq!(foretold_ns, bare_ns + forecast.limits_ns);
    let mut world = World::new(plan, words);
    (0..count).for_each(|target| world.prober.mark_on_link(target));
    while world.send().is_some() {}
    assert_eq!(Some(world.prober.total().sent), forecast.probes());
    assert!(
        !forecast.is_certain || world.now_ns <= foretold_ns,
        "{words}: foretold {foretold_ns}, took {}",
        world.now_ns
    );
    (foretold_ns, world.now_ns)
}

#[test]
fn a_run_ends_when_its_forecast_says_with_limits_too() {
    let fast = |rounds| ProbePlan {
        rate_pps: Some(10_000),
        ..plan(rounds)
    };
    let prefix = |rounds, rate| ProbePlan {
        prefix_pps: Some(rate),
        ..fast(rounds)
    };
    let narrow = NeighbourPace {
        most: 10,
        time_ns: SECOND,
    };
    let mut slack = Vec::new();
    for (plan, words, on_link) in [
        (fast(1), "10.0.0.0/20", true),
        (fast(3), "10.0.0.0/22", true),
        (fast(2), "10.0.0.0/24", true),
        (prefix(1, 10), "10.0.0.0/24", false),
        (prefix(3, 100), "10.0.0.0/24", false),
        (prefix(3, 300), "10.0.0.0/24", false),
        (
            prefix(2, 50),
            "10.0.0.0/24 10.0.9.1-9 fd00::1-fd00::50",
            false,
        ),
        (prefix(2, 7), "10.0.0.0/25", true),
        (
            ProbePlan {
                neighbours: narrow,
                ..fast(4)
            },
            "10.0.0.1-10.0.0.99",
            true,
        ),
    ] {
        let (foretold_ns, took_ns) = compare(&plan, words, on_link);
        slack.push(foretold_ns - took_ns);
    }
    // It is no bound that says nothing: a round too much, and both limits one after the other.
    let most = slack.iter().copied().max().expect("some");
    assert!(most <= 3 * SECOND, "{slack:?}");
}

#[test]
fn many_prefixes_are_foretold_roughly() {
    let plan = ProbePlan {
        prefix_pps: Some(20),
        rate_pps: Some(10_000),
        ..plan(2)
    };
    let (foretold_ns, took_ns) = compare(&plan, "10.0.0.0/21", false);
    let forecast = plan.forecast(2046).expect("a plan");
    let forecast = forecast.with_limits(&plan, &targets("10.0.0.0/21"), 0);
    assert!(!forecast.is_certain);
    assert!(
        took_ns < foretold_ns * 13 / 10 && foretold_ns < took_ns * 13 / 10,
        "{took_ns}"
    );
}

/// A sweep whose rate is 81 % of what its prefixes permit. Targets come in random order, so thousands wait for their prefix while
/// others are probed. If only a thousand could wait, sending would take more than 0.55 s.
#[test]
fn probes_of_a_sweep_that_wait_for_their_prefix_hold_up_no_others() {
    const EACH_NS: u64 = SECOND / 60;
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: Some(200_000),
        prefix_pps: Some(60),
        ..plan(1)
    };
    let prefixes = (0..4096).map(|prefix| (prefix / 256, prefix % 256));
    let words: Vec<String> = prefixes
        .map(|(high, low)| format!("10.{high}.{low}.0-10.{high}.{low}.15"))
        .collect();
    let mut prober = Prober::new(&plan, targets(&words.join(" "))).expect("a plan");
    let mut latest: HashMap<[u8; 3], u64> = HashMap::new();
    let (mut now_ns, mut last_ns) = (0, 0);
    loop {
        prober.expire(now_ns, |_| {});
        match prober.next(now_ns) {
            NextAction::Send(probe) => {
                let address = prober.targets().address(probe.target);
                let Some(IpAddr::V4(address)) = address else {
                    panic!("all targets have IPv4 addresses");
                };
                let [first, second, third, _] = address.octets();
                if let Some(before_ns) = latest.insert([first, second, third], now_ns) {
                    assert!(now_ns - before_ns >= EACH_NS, "{address}");
                }
                prober.sent(probe, now_ns);
                last_ns = now_ns;
            }
            NextAction::Wait(until_ns) => {
                assert!(until_ns > now_ns, "it waits");
                now_ns = until_ns;
            }
            NextAction::Done => break,
        }
    }
    let total = prober.total();
    assert_eq!((total.sent, total.lost), (65_536, 65_536));
    assert!(
        last_ns < 490 * MS,
        "the last one is sent after {last_ns} ns"
    );
}

#[test]
fn without_limits_that_bite_nothing_is_added() {
    let plan = plan(3);
    let targets = targets("10.0.0.0/24");
    let forecast = plan.forecast(targets.len()).expect("a plan");
    assert_eq!(forecast.with_limits(&plan, &targets, 0), forecast);
    assert_eq!(forecast.duration_ns(), Some(4 * SECOND));
    assert_eq!(forecast.duration_within_ns(SECOND / 2), SECOND * 3 / 2);
    assert_eq!(forecast.duration_within_ns(9 * SECOND), 4 * SECOND);
}

/// A queue that is briefly full every ten seconds, for an hour: each time sending pauses.
#[test]
fn the_rate_recovers_after_a_back_off() {
    let plan = ProbePlan {
        interval_ns: 10 * MS,
        ..plan(360_000)
    };
    let mut world = World::new(&plan, "10.0.0.1");
    let (mut pauses, mut is_full_at) = (0, Some(0));
    loop {
        world.expire();
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) if world.now_ns % (10 * SECOND) < SECOND / 2 => {
                world
                    .prober
                    .not_sent(probe, SendFailure::QueueFull, world.now_ns);
                is_full_at = Some(world.now_ns);
            }
            NextAction::Send(probe) => {
                if is_full_at
                    .take()
                    .is_some_and(|at| world.now_ns - at >= 64 * MS)
                {
                    pauses += 1;
                }
                world.prober.sent(probe, world.now_ns);
            }
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => break,
        }
    }
    let hour_ns = 360_000 * 10 * MS;
    assert!(pauses >= 350, "{pauses} pauses in an hour");
    assert!(world.now_ns <= (hour_ns + plan.backoff_ns) / 15 * 16 + SECOND);
}

/// Rounds wait when the in-flight limit is reached: the run sleeps until a slot is free.
#[test]
fn a_run_full_of_probes_that_wait_for_a_limit_sleeps() {
    let plan = ProbePlan {
        interval_ns: 10 * MS,
        timeout_ns: 100 * MS,
        prefix_pps: Some(1),
        ..plan(1000)
    };
    let mut world = World::new(&plan, "10.0.0.1");
    let mut sent = Vec::new();
    while world.now_ns < 5 * SECOND {
        world.expire();
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => {
                sent.push(world.now_ns / MS);
                world.prober.sent(probe, world.now_ns);
            }
            NextAction::Wait(until_ns) => {
                assert!(until_ns > world.now_ns, "it waits for {until_ns}");
                world.now_ns = until_ns;
            }
            NextAction::Done => panic!("there are more"),
        }
    }
    assert_eq!(sent, [0, 1000, 2000, 3000, 4000]);
}

#[test]
fn probes_that_wait_for_a_limit_wait_for_a_full_queue_too() {
    let plan = ProbePlan {
        prefix_pps: Some(10_000),
        interval_ns: 0,
        ..plan(1)
    };
    let mut world = World::new(&plan, "10.0.0.0/28");
    let mut sent = 0;
    while sent < 4 {
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => {
                world.prober.sent(probe, world.now_ns);
                sent += 1;
            }
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => panic!("there are more"),
        }
    }
    let (full_ns, dropped) = loop {
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => break (world.now_ns, probe),
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => panic!("there are more"),
        }
    };
    world
        .prober
        .not_sent(dropped, SendFailure::QueueFull, full_ns);
    // The next would go a tenth of a millisecond later.
    for now_ns in [full_ns, full_ns + MS / 10, full_ns + MS - 1] {
        assert_eq!(world.prober.next(now_ns), NextAction::Wait(full_ns + MS));
    }
    assert!(matches!(
        world.prober.next(full_ns + MS),
        NextAction::Send(_)
    ));
}

/// Sends what is due until no probe is left, and returns the times.
fn send_rest(world: &mut World, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() < count {
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => {
                world.prober.sent(probe, world.now_ns);
                times.push(world.now_ns);
            }
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => panic!("{} of {count} were sent", times.len()),
        }
    }
    times
}

/// Asserts that `each_ns` lies between two of `times` on average, but for `burst` of them.
#[track_caller]
fn assert_paced(times: &[u64], each_ns: u64, burst: usize) {
    for count in 1..times.len() {
        for some in times.windows(count + 1) {
            let least_ns = each_ns * count.saturating_sub(burst) as u64;
            assert!(some[count] + MS >= some[0] + least_ns, "{count}: {some:?}");
        }
    }
}

/// Nothing is sent for nine seconds, as without the interface. Then the limits of all prefixes permit a probe at once.
#[test]
fn probes_that_waited_for_their_prefix_share_the_rate_after_a_break() {
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: Some(10_000),
        prefix_pps: Some(1),
        ..plan(1)
    };
    let prefixes = (0..500).map(|prefix| (prefix / 250, prefix % 250));
    let words: Vec<String> = prefixes
        .map(|(high, low)| format!("10.{high}.{low}.0-10.{high}.{low}.1"))
        .collect();
    let mut world = World::new(&plan, &words.join(" "));
    send_rest(&mut world, 500);
    while world.now_ns < 500 * MS {
        let NextAction::Wait(until_ns) = world.prober.next(world.now_ns) else {
            panic!("the second probe to a prefix leaves after a second");
        };
        world.now_ns = until_ns;
    }
    world.now_ns = 10 * SECOND;
    world.expire();
    let times = send_rest(&mut world, 500);
    // The schedule catches up on 10 ms.
    assert_paced(&times, MS / 10, 101);
    let last_ns = times[times.len() - 1];
    assert!(last_ns <= 10 * SECOND + 41 * MS, "{last_ns}");
}

/// As if one neighbour became known for all of them late. They have not used the limits while they waited.
#[test]
fn held_probes_go_on_within_the_limits() {
    for (rate_pps, prefix_pps, words, each_ns) in [
        (Some(1000), None, "10.0.0.0-10.0.0.127", MS),
        (None, Some(50), "10.0.0.0-10.0.0.31", 20 * MS),
        (Some(1000), Some(50), "10.0.0.0-10.0.0.31", 20 * MS),
    ] {
        let plan = ProbePlan {
            interval_ns: 0,
            rate_pps,
            prefix_pps,
            ..plan(1)
        };
        let mut world = World::new(&plan, words);
        let mut held = Vec::new();
        while let NextAction::Send(probe) = world.prober.next(world.now_ns) {
            world.prober.hold(probe);
            held.push(probe);
        }
        assert_eq!(held.len(), world.prober.targets().len() as usize);
        world.now_ns = 3 * SECOND;
        for probe in &held {
            world.prober.requeue(*probe);
        }
        assert_eq!(world.prober.requeued(), held.len());
        let times = send_rest(&mut world, held.len());
        // The schedule catches up on 10 ms.
        assert_paced(&times, each_ns, 11);
        let took_ns = times[times.len() - 1] - times[0];
        assert!(took_ns <= each_ns * times.len() as u64, "{took_ns}");
        world.expire();
        assert_eq!(world.prober.total().sent, held.len() as u64);
    }
}

/// The probes to one half of the targets wait, and continue while the other half is probed.
#[test]
fn held_probes_share_the_rate_with_the_others() {
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: Some(1000),
        timeout_ns: 10 * SECOND,
        ..plan(10)
    };
    let mut world = World::new(&plan, "10.0.0.0-10.0.0.99");
    let (mut held, mut times) = (Vec::new(), Vec::new());
    while held.len() < 150 {
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) if probe.target % 2 == 0 => {
                world.prober.hold(probe);
                held.push(probe);
            }
            NextAction::Send(probe) => {
                world.prober.sent(probe, world.now_ns);
                times.push(world.now_ns);
            }
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => panic!("more are left"),
        }
    }
    for probe in &held {
        world.prober.requeue(*probe);
    }
    let rest = 1000 - times.len();
    times.extend(send_rest(&mut world, rest));
    assert_paced(&times, MS, 11);
    assert_eq!(world.prober.total().sent, 1000);
    assert_eq!(world.prober.requeued(), 0);
}

/// The next group is due after 250 ms. Those that were held do not wait for it.
#[test]
fn held_probes_of_a_group_go_on_at_the_rate() {
    let plan = ProbePlan {
        rate_pps: Some(10_000),
        gather_ns: 250 * MS,
        ..plan(3)
    };
    let mut world = World::new(&plan, "10.0.0.0-10.0.3.231");
    let mut held = Vec::new();
    while let NextAction::Send(probe) = world.prober.next(0) {
        world.prober.hold(probe);
        held.push(probe);
    }
    assert_eq!(held.len(), 250);
    world.now_ns = 2 * MS;
    for probe in &held {
        world.prober.requeue(*probe);
    }
    let times = send_rest(&mut world, 250);
    // The schedule catches up on 10 ms.
    assert_paced(&times, MS / 10, 101);
    let last_ns = times[times.len() - 1];
    assert!(last_ns <= 30 * MS, "{last_ns}");
}

/// With a slot of time for each, the rest of the run goes on after them.
#[test]
fn only_old_probes_are_issued_while_no_others_are_to_be() {
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: None,
        ..plan(1)
    };
    let mut world = World::new(&plan, "10.0.0.0-10.0.0.9");
    let NextAction::Send(first) = world.prober.next(0) else {
        panic!("all are due");
    };
    world.prober.hold(first);
    assert_eq!(world.prober.next_waiting(0), NextAction::Wait(u64::MAX));
    world.prober.requeue(first);
    assert_eq!(world.prober.next_waiting(0), NextAction::Send(first));
    world.prober.sent(first, 0);
    let next = world.prober.next_waiting(0);
    assert!(matches!(next, NextAction::Wait(_)), "{next:?}");
    assert_eq!(send_rest(&mut world, 9).len(), 9);
}

/// Probes that are sent within a second from `start_ns` on, in steps of 10 µs.
fn sent_in_a_second(prober: &mut Prober, start_ns: u64) -> u64 {
    let mut sent = 0;
    for now_ns in (start_ns..start_ns + SECOND).step_by(10_000) {
        while let NextAction::Send(probe) = prober.next(now_ns) {
            prober.sent(probe, now_ns);
            sent += 1;
        }
        prober.expire(now_ns, |_| {});
    }
    sent
}

/// The first second is that of the plan. Afterwards probes that are due together stay so, and the schedule catches up on 10 ms.
#[test]
fn a_rate_is_limited_while_the_run_lasts() {
    for (rate_pps, interval_ns, expected) in [
        (Some(50_000), 0, 1000),
        (None, MS, 1000),
        // Those that are slower keep their rate.
        (Some(500), 0, 500),
        (None, 10 * SECOND, 25),
    ] {
        let plan = ProbePlan {
            rate_pps,
            interval_ns,
            timeout_ns: 10 * MS,
            ..plan(u32::MAX - 1)
        };
        let targets = targets("10.0.0.1-10.0.0.250");
        let mut prober = Prober::new(&plan, targets).expect("a plan");
        let before = sent_in_a_second(&mut prober, 0);
        assert!(before >= expected, "{before} of {expected}");
        prober.limit_rate(1000);
        sent_in_a_second(&mut prober, SECOND);
        let after = sent_in_a_second(&mut prober, 2 * SECOND);
        let slack = expected / 4 + 10;
        assert!(after.abs_diff(expected) <= slack, "{after} of {expected}");
    }
}
