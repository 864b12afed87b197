//! Compares the state machine with a model that keeps every probe in a table.

use std::collections::{HashMap, HashSet};

use crate::support::{MS, World, plan};
use proptest::prelude::*;
use tapline_probe::{Classification, Probe, ProbeCounts, ProbePlan};

/// The model's state of a target.
#[derive(Debug, Default)]
struct Model {
    /// Probes that have been answered.
    answered: HashSet<u32>,
    counts: ProbeCounts,
    rtts: Vec<u64>,
    latest: Option<u32>,
    reordered: u64,
}

impl Model {
    /// The expected classification of a reply to `probe`, `rtt_ns` after it was sent.
    fn judge(&mut self, probe: Probe, rtt_ns: u64, timeout_ns: u64) -> Classification {
        let rtt = Some(rtt_ns);
        if !self.answered.insert(probe.round) {
            self.counts.duplicate += 1;
            return Classification::Duplicate { probe, rtt_ns: rtt };
        }
        if rtt_ns > timeout_ns {
            self.counts.late += 1;
            return Classification::Late { probe, rtt_ns: rtt };
        }
        let is_reordered = self.latest.is_some_and(|latest| latest > probe.round);
        self.latest = self.latest.max(Some(probe.round));
        self.counts.received += 1;
        self.rtts.push(rtt_ns);
        Classification::Received {
            probe,
            rtt_ns: rtt,
            is_reordered,
        }
    }
}

fn about(verdict: &Classification) -> (Probe, Option<u64>) {
    match *verdict {
        Classification::Received { probe, rtt_ns, .. }
        | Classification::Late { probe, rtt_ns }
        | Classification::Duplicate { probe, rtt_ns } => (probe, rtt_ns),
        Classification::Stale { probe } => (probe, None),
        other => panic!("{other:?} of a sound answer"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_verdict_and_every_count_is_the_models(
        targets in 1_u32..40,
        rounds in 1_u32..120,
        interval_ms in 0_u64..100,
        timeout_ms in 1_u64..300,
        // How the answers to the probes come, in turn: delays in thousandths of the timeout.
        delays in prop::collection::vec(prop::collection::vec(0_u64..2000, 0..4), 1..50),
    ) {
        let plan = ProbePlan {
            interval_ns: interval_ms * MS,
            timeout_ns: timeout_ms * MS,
            rate_pps: Some(100_000),
            ..plan(rounds)
        };
        let words = format!("10.0.0.0-10.0.0.{}", targets - 1);
        let mut world = World::new(&plan, &words);
        let mut in_time = 0;
        let mut turns = delays.iter().cycle();
        world.run(|_| {
            let delays = turns.next().expect("it is a cycle").iter();
            let delays: Vec<u64> = delays.map(|part| part * plan.timeout_ns / 1000).collect();
            in_time += delays.iter().filter(|delay| **delay <= plan.timeout_ns).min().iter().count() as u64;
            delays
        });

        let mut models: HashMap<u32, Model> = HashMap::new();
        for verdict in &world.verdicts {
            let (probe, rtt_ns) = about(verdict);
            let model = models.entry(probe.target).or_default();
            match rtt_ns {
                Some(rtt_ns) => {
                    let want = model.judge(probe, rtt_ns, plan.timeout_ns);
                    model.reordered += u64::from(matches!(want, Classification::Received { is_reordered: true, .. }));
                    prop_assert_eq!(*verdict, want);
                }
                // Only what has long ended may be forgotten.
                None => prop_assert!(
                    world.lost.contains(&probe) || model.answered.contains(&probe.round)
                ),
            }
        }
        let mut total = ProbeCounts::default();
        let mut reordered = 0;
        for target in 0..targets {
            let model = models.remove(&target).unwrap_or_default();
            reordered += model.reordered;
            let mut want = model.counts;
            want.sent = rounds.into();
            want.lost = want.sent - want.received - want.late;
            prop_assert_eq!(world.prober.counts(target), want);
            for (sum, part) in [
                (&mut total.sent, want.sent),
                (&mut total.received, want.received),
                (&mut total.lost, want.lost),
                (&mut total.late, want.late),
                (&mut total.duplicate, want.duplicate),
            ] {
                *sum += part;
            }
            let Some(rtt) = world.prober.rtt(target) else {
                prop_assert!(model.rtts.is_empty());
                continue;
            };
            let mean = model.rtts.iter().sum::<u64>() as f64 / model.rtts.len() as f64;
            prop_assert!((rtt.mean_ns - mean).abs() < 1.0);
            let min = model.rtts.iter().min().expect("it was timed");
            prop_assert!(rtt.min_ns.abs_diff(*min) <= *min >> 23);
        }
        prop_assert_eq!(world.prober.total(), total);
        prop_assert_eq!(world.prober.other_counts().reordered, reordered);
        // Every answer that came in time was delivered, so nothing of it is lost.
        prop_assert_eq!(total.received, in_time);
        prop_assert!(world.prober.is_done());
    }
}
