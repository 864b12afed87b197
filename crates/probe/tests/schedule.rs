//! When probes are sent, and how long a run takes.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::support::{IDENTIFIER, MS, SECOND, World, plan, targets};
use tapline_probe::{NeighbourPace, NextAction, Probe, ProbePlan, Prober, RunKey, SendFailure};

/// Sends all probes without replies. Returns when each was sent.
fn times(plan: &ProbePlan, words: &str, on_link: bool) -> Vec<(u64, Probe)> {
    let mut world = World::new(plan, words);
    if on_link {
        (0..world.prober.targets().len()).for_each(|target| world.prober.mark_on_link(target));
    }
    let mut times = Vec::new();
    while let Some((probe, _)) = world.send() {
        times.push((world.now_ns, probe));
    }
    assert_eq!(world.prober.total().sent, times.len() as u64);
    assert_eq!(world.prober.total().lost, times.len() as u64);
    times
}

/// Maximum number of `times` within any interval of `span_ns`.
fn densest(times: &[u64], span_ns: u64) -> usize {
    let within = |first: usize| {
        let inside = times[first..]
            .iter()
            .take_while(|at| **at < times[first] + span_ns);
        inside.count()
    };
    (0..times.len()).map(within).max().unwrap_or(0)
}

#[test]
fn each_target_is_probed_once_an_interval_and_all_are_spread_over_it() {
    let times = times(&plan(5), "10.0.0.0/28", false);
    let mut of: HashMap<u32, Vec<u64>> = HashMap::new();
    for (at, probe) in &times {
        of.entry(probe.target).or_default().push(*at);
    }
    assert_eq!(of.len(), 14);
    for own in of.values() {
        assert_eq!(own.len(), 5);
        assert!(
            own.windows(2)
                .all(|pair| (pair[1] - pair[0]).abs_diff(SECOND) <= 1)
        );
    }
    let gap = SECOND / 14;
    assert!(
        times
            .windows(2)
            .all(|pair| (pair[1].0 - pair[0].0).abs_diff(gap) <= 1)
    );
    let order: Vec<u32> = times[..14].iter().map(|(_, probe)| probe.target).collect();
    assert!(!order.is_sorted(), "the order is permuted");
}

#[test]
fn probes_that_gather_leave_in_groups_and_each_target_keeps_its_interval() {
    let even = times(&plan(3), "10.0.0.0/22", false);
    let gathered = ProbePlan {
        gather_ns: 50 * MS,
        ..plan(3)
    };
    let times = times(&gathered, "10.0.0.0/22", false);
    assert_eq!((times.len(), even.len()), (3 * 1022, 3 * 1022));
    let groups: Vec<&[(u64, Probe)]> = times.chunk_by(|one, next| one.0 == next.0).collect();
    assert_eq!(
        groups.len(),
        3 * 21,
        "a round has 20 groups of 51 and one of 2"
    );
    assert!(groups.iter().all(|group| group.len() <= 51));
    for ((at, probe), (evenly_at, same)) in times.iter().zip(&even) {
        assert_eq!(probe, same);
        assert!(at <= evenly_at && evenly_at - at <= 50 * MS);
    }
    let mut last = HashMap::new();
    for (at, probe) in times {
        if let Some(before) = last.insert(probe.target, at) {
            assert!((at - before).abs_diff(SECOND) <= 1);
        }
    }
}

#[test]
fn where_probes_gather_losses_are_reported_with_the_next_group() {
    let plan = ProbePlan {
        gather_ns: 50 * MS,
        timeout_ns: 210 * MS,
        ..plan(2)
    };
    let mut prober = Prober::new(&plan, targets("10.0.0.0/22")).expect("a plan");
    let (mut now_ns, mut waits, mut lost) = (0, 0, 0);
    loop {
        prober.expire(now_ns, |_| lost += 1);
        match prober.next(now_ns) {
            NextAction::Send(probe) => prober.sent(probe, now_ns),
            NextAction::Wait(until_ns) => (now_ns, waits) = (until_ns, waits + 1),
            NextAction::Done => break,
        }
    }
    assert_eq!(lost, 2 * 1022);
    // One for each group but the first, and after the last for the losses of some groups each.
    assert!((41..=47).contains(&waits), "{waits}");
    assert!(
        now_ns
            <= plan
                .forecast(1022)
                .expect("a plan")
                .duration_ns()
                .expect("an end")
    );
}

#[test]
fn a_run_ends_after_count_times_interval_and_timeout() {
    for (rounds, rate) in [(1, None), (10, None), (3, Some(20))] {
        let plan = ProbePlan {
            rate_pps: rate,
            ..plan(rounds)
        };
        let bound = plan
            .forecast(254)
            .expect("a plan")
            .duration_ns()
            .expect("an end");
        let mut world = World::new(&plan, "10.0.0.0/24");
        world.run(|_| Vec::new());
        assert!(world.now_ns <= bound, "{} of {bound}", world.now_ns);
        assert_eq!(world.prober.total().lost, u64::from(rounds) * 254);
        assert!(world.prober.is_done());
    }
}

#[test]
fn a_run_whose_probes_are_answered_ends_with_the_last_answer() {
    let mut world = World::new(&plan(3), "10.0.0.1");
    world.run(|_| vec![5 * MS]);
    assert_eq!(world.now_ns, 2 * SECOND + 5 * MS);
}

#[test]
fn the_rate_is_kept() {
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: Some(1000),
        ..plan(1)
    };
    let times: Vec<u64> = times(&plan, "10.0.0.0/22", false)
        .iter()
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(times.len(), 1022);
    assert_eq!(densest(&times, 100 * MS), 100);
}

#[test]
fn a_prefix_has_a_limit_of_its_own_and_the_others_go_on() {
    let plan = ProbePlan {
        interval_ns: 0,
        rate_pps: Some(10_000),
        prefix_pps: Some(100),
        ..plan(1)
    };
    let targets = targets("10.0.0.0/24 10.0.1.0-10.0.40.0 fd00::/124");
    let times = times(&plan, "10.0.0.0/24 10.0.1.0-10.0.40.0 fd00::/124", false);
    assert_eq!(times.len(), targets.len() as usize);
    let mut of: HashMap<IpAddr, Vec<u64>> = HashMap::new();
    for (at, probe) in &times {
        let prefix = match targets.address(probe.target).expect("an address") {
            IpAddr::V4(address) => IpAddr::V4((address.to_bits() & !0xff).into()),
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !0xffff_ffff_ffff_ffff).into()),
        };
        of.entry(prefix).or_default().push(*at);
    }
    assert_eq!(of.len(), 42);
    for (prefix, own) in &of {
        assert!(densest(own, SECOND) <= 100, "{prefix}");
    }
    let probes: HashSet<_> = times
        .iter()
        .map(|(_, probe)| (probe.target, probe.round))
        .collect();
    assert_eq!(probes.len(), times.len(), "each once");
    let last = times.last().expect("some").0;
    assert!(
        last < 105 * SECOND,
        "no slower than the fullest prefix asks for: {last}"
    );
}

#[test]
fn absent_hosts_on_the_link_are_asked_for_in_waves() {
    let times = times(&plan(1), "10.0.0.0/20", true);
    assert_eq!(times.len(), 4094);
    let times: Vec<u64> = times.iter().map(|(at, _)| *at).collect();
    let NeighbourPace { most, time_ns } = NeighbourPace::default();
    assert!(densest(&times, time_ns) <= 2 * most as usize);
    assert!(*times.last().expect("some") <= 4094 / u64::from(most) * time_ns + SECOND);
}

#[test]
fn hosts_on_the_link_that_answer_are_asked_at_full_speed() {
    let mut world = World::new(&plan(1), "10.0.0.0/20");
    (0..4094).for_each(|target| world.prober.mark_on_link(target));
    world.run(|_| vec![100_000]);
    assert_eq!(world.prober.total().received, 4094);
    assert!(world.now_ns <= SECOND + MS);
}

#[test]
fn a_full_send_queue_gets_time_to_drain() {
    let plan = ProbePlan {
        interval_ns: MS,
        ..plan(1000)
    };
    let mut world = World::new(&plan, "10.0.0.1");
    let mut times = Vec::new();
    loop {
        world.expire();
        match world.prober.next(world.now_ns) {
            NextAction::Send(probe) => {
                times.push(world.now_ns);
                world
                    .prober
                    .not_sent(probe, SendFailure::QueueFull, world.now_ns);
            }
            NextAction::Wait(until_ns) => world.now_ns = until_ns,
            NextAction::Done => break,
        }
    }
    let total = world.prober.total();
    assert_eq!((total.sent, total.local_drops, total.lost), (0, 1000, 0));
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..8], [1, 2, 4, 8, 16, 32, 64, 64].map(|ms| ms * MS));
    let bound = (plan.backoff_ns + 1000 * MS) * 16 / 15;
    assert!(*times.last().expect("some") <= bound, "back-off has an end");
}

#[test]
fn a_refusal_slows_nothing_down() {
    let mut world = World::new(&plan(3), "10.0.0.1");
    for round in 0..3 {
        let NextAction::Send(probe) = world.prober.next(round * SECOND) else {
            panic!("round {round} is due");
        };
        world
            .prober
            .not_sent(probe, SendFailure::Refused, round * SECOND);
    }
    assert_eq!(world.prober.next(2 * SECOND), NextAction::Done);
    assert_eq!(world.prober.counts(0).local_drops, 3);
}

#[test]
fn a_stall_is_not_made_up_for_by_a_burst() {
    let plan = ProbePlan {
        interval_ns: MS,
        ..plan(10_000)
    };
    let mut world = World::new(&plan, "10.0.0.1");
    for _ in 0..100 {
        world.send();
    }
    world.now_ns += 5 * SECOND;
    world.expire();
    let mut burst = 0;
    while let NextAction::Send(probe) = world.prober.next(world.now_ns) {
        world.prober.sent(probe, world.now_ns);
        burst += 1;
    }
    assert_eq!(burst, 11, "what was due in 10 ms, and the one due now");
}

#[test]
fn a_flood_without_limits_never_forgets_a_probe() {
    let plan = ProbePlan {
        interval_ns: 0,
        timeout_ns: 100 * MS,
        ..plan(100_000)
    };
    // A probe each 10 ns, and no answer: more than are kept account of.
    let mut prober = Prober::new(&plan, targets("10.0.0.0/21")).expect("a plan");
    let (mut now, mut lost, mut sent, mut most) = (0, 0_u64, 0_u64, 0);
    while now < 120 * MS {
        prober.expire(now, |_| lost += 1);
        match prober.next(now) {
            NextAction::Send(probe) => {
                prober.sent(probe, now);
                sent += 1;
                now += 10;
            }
            NextAction::Wait(until_ns) => now = until_ns,
            NextAction::Done => panic!("there are more"),
        }
        most = most.max(sent - lost);
    }
    assert!(most > 8_000_000 && most <= 1 << 23, "{most}");
    prober.stop(now);
    prober.expire(now + SECOND, |_| lost += 1);
    assert_eq!((prober.total().sent, prober.total().lost), (sent, lost));
    assert_eq!(sent, lost);
    assert!(prober.is_done());
}

#[test]
fn stopping_ends_the_sending_and_takes_back_what_waits() {
    let plan = ProbePlan {
        rounds: None,
        prefix_pps: Some(1),
        interval_ns: MS,
        ..ProbePlan::new(IDENTIFIER, RunKey([3, 4]))
    };
    let mut world = World::new(&plan, "10.0.0.0/29");
    for _ in 0..3 {
        world.send().expect("a probe");
    }
    world.prober.stop(world.now_ns);
    assert!(world.send().is_none(), "nothing more is sent");
    let total = world.prober.total();
    assert_eq!((total.sent, total.lost), (3, 3));
    assert!(world.prober.other_counts().unsent > 0);
}

#[test]
fn values_out_of_range_are_named() {
    let wrong = [
        (
            ProbePlan {
                rounds: Some(0),
                ..plan(1)
            },
            "count",
        ),
        (
            ProbePlan {
                rate_pps: Some(0),
                ..plan(1)
            },
            "rate",
        ),
        (
            ProbePlan {
                timeout_ns: 0,
                ..plan(1)
            },
            "timeout (ns)",
        ),
        (
            ProbePlan {
                payload_bytes: 2,
                ..plan(1)
            },
            "payload (bytes)",
        ),
        (
            ProbePlan {
                interval_ns: u64::MAX,
                ..plan(1)
            },
            "interval (ns)",
        ),
    ];
    for (plan, what) in wrong {
        assert_eq!(plan.forecast(1).expect_err("it is wrong").what, what);
    }
    assert_eq!(plan(1).forecast(0).expect_err("no targets").what, "targets");
}
