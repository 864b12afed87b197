//! Many probes and many targets, in virtual time.

use std::collections::VecDeque;

use crate::support::{IDENTIFIER, MS, SECOND, plan, targets};
use tapline_probe::{COOKIE_BYTES, EchoReply, IcmpMessage, NextAction, Probe, ProbePlan, Prober};

/// Runs `prober` over a network that delays packets by `delay_ns`, keeps their order and drops those selected by
/// `is_lost`.
fn run(prober: &mut Prober, delay_ns: u64, is_lost: impl Fn(Probe) -> bool) -> u64 {
    let mut flight: VecDeque<(u64, Probe, [u8; COOKIE_BYTES])> = VecDeque::new();
    let mut payload = [&[0; COOKIE_BYTES], prober.filler()].concat();
    let mut now = 0;
    loop {
        prober.expire(now, |_| ());
        let until = match prober.next(now) {
            NextAction::Send(probe) => {
                let cookie = prober.cookie(probe, now);
                prober.sent(probe, now);
                if !is_lost(probe) {
                    flight.push_back((now + delay_ns, probe, cookie));
                }
                // Sending takes time: 100 million probes a second.
                now += 10;
                now
            }
            NextAction::Wait(until) => until,
            NextAction::Done => return now,
        };
        while let Some((at, probe, cookie)) = flight.front().copied()
            && at <= until
        {
            flight.pop_front();
            payload[..COOKIE_BYTES].copy_from_slice(&cookie);
            let reply = EchoReply {
                source: prober.targets().address(probe.target).expect("an address"),
                hops: None,
                identifier: IDENTIFIER,
                sequence: probe.sequence(),
                intact: true,
                payload: &payload,
            };
            prober.received(&IcmpMessage::Reply(reply), Some(at), at);
        }
        now = until;
    }
}

fn flood(rounds: u32) -> ProbePlan {
    ProbePlan {
        interval_ns: 0,
        payload_bytes: 16,
        ..plan(rounds)
    }
}

#[test]
fn more_probes_than_there_are_sequence_numbers_lose_none() {
    for (rounds, delay_ns) in [(70_000, 30_000), (70_000, 900 * MS), (10_000_000, 30_000)] {
        let plan = flood(rounds);
        let mut prober = Prober::new(&plan, targets("10.0.0.1")).expect("a plan");
        run(&mut prober, delay_ns, |_| false);
        let total = prober.total();
        assert_eq!((total.sent, total.received), (rounds.into(), rounds.into()));
        assert_eq!((total.lost, total.late, total.duplicate), (0, 0, 0));
        let rtt = prober.rtt(0).expect("it was timed");
        assert_eq!(
            (rtt.min_ns, rtt.max_ns, rtt.stddev_ns),
            (delay_ns, delay_ns, 0.0)
        );
        assert_eq!(prober.other_counts(), tapline_probe::OtherCounts::default());
    }
}

#[test]
fn a_hundred_million_probes_are_all_accounted_for() {
    let plan = ProbePlan {
        interval_ns: 20_000,
        ..flood(100_000)
    };
    let mut prober = Prober::new(&plan, targets("10.0.0.0-10.0.3.231")).expect("a plan");
    run(&mut prober, 30_000, |probe| probe.round % 1000 == 999);
    let total = prober.total();
    assert_eq!(
        (total.sent, total.received, total.lost),
        (100_000_000, 99_900_000, 100_000)
    );
    for target in 0..1000 {
        let counts = prober.counts(target);
        assert_eq!((counts.received, counts.lost), (99_900, 100));
    }
    assert_eq!(prober.histogram().count(), 99_900_000);
    assert_eq!(prober.other_counts(), tapline_probe::OtherCounts::default());
}

#[test]
fn a_million_targets_have_their_own_counts() {
    let plan = ProbePlan {
        interval_ns: 100 * MS,
        ..flood(3)
    };
    let mut prober = Prober::new(&plan, targets("10.0.0.0-10.15.66.63")).expect("a plan");
    assert_eq!(prober.targets().len(), 1_000_000);
    // Every seventh target is absent, every hundredth misses its second probe.
    let is_lost = |probe: Probe| {
        probe.target.is_multiple_of(7) || (probe.target % 100 == 1 && probe.round == 1)
    };
    let end = run(&mut prober, 30 * MS, is_lost);
    assert!(end <= 300 * MS + SECOND);
    for target in 0..1_000_000 {
        let counts = prober.counts(target);
        let lost = (0..3).filter(|round| {
            is_lost(Probe {
                target,
                round: *round,
            })
        });
        let lost = lost.count() as u64;
        assert_eq!(
            (counts.sent, counts.received, counts.lost),
            (3, 3 - lost, lost)
        );
    }
    assert_eq!(prober.total().sent, 3_000_000);
}

#[test]
fn a_run_allocates_nothing() {
    let plan = ProbePlan {
        interval_ns: 10 * MS,
        histograms: true,
        prefix_pps: Some(1_000_000),
        ..flood(20)
    };
    let mut prober = Prober::new(&plan, targets("10.0.0.0/24 fd00::/120")).expect("a plan");
    let payload = vec![0; 16];
    let mut now = 0;
    let measured = allocation_counter::measure(|| {
        loop {
            prober.expire(now, |_| ());
            match prober.next(now) {
                NextAction::Send(probe) => {
                    let cookie = prober.cookie(probe, now);
                    prober.sent(probe, now);
                    let payload = if probe.target.is_multiple_of(3) {
                        &payload
                    } else {
                        &cookie[..]
                    };
                    let reply = EchoReply {
                        source: prober.targets().address(probe.target).expect("an address"),
                        hops: None,
                        identifier: IDENTIFIER,
                        sequence: probe.sequence(),
                        intact: true,
                        payload,
                    };
                    prober.received(&IcmpMessage::Reply(reply), Some(now + 10), now + 10);
                }
                NextAction::Wait(until) => now = until,
                NextAction::Done => break,
            }
        }
    });
    assert_eq!(measured.count_total, 0);
    let total = prober.total();
    assert_eq!((total.sent, total.received), (20 * 510, 20 * 340));
    assert_eq!(prober.quantile(1, 0.5), Some(63));
    assert_eq!(prober.buckets(1).collect::<Vec<_>>(), [(0, 127, 20)]);
    assert_eq!(prober.rtt(1).expect("answers").count, 20);
}
