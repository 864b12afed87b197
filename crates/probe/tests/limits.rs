//! How rate and in-flight limits lengthen a run: predicted and simulated.

use crate::support::{MS, SECOND, World, plan, targets};
use tapline_probe::{NeighbourPace, NextAction, ProbePlan, SendFailure};

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
fn back_off_comes_back_with_the_calm() {
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
