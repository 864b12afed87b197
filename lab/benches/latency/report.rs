//! Medians of the rounds, and whether what is promised holds.

use std::collections::HashMap;

use tapline_lab::tool;

use crate::kind::Kind;
use crate::task::{Task, Trial};

#[derive(Debug, Default)]
pub struct Report {
    trials: HashMap<(&'static str, &'static str), Vec<Trial>>,
}

impl Report {
    pub fn add(&mut self, task: Task, kind: Kind, trial: Trial) {
        let key = (task.name(), kind.name());
        self.trials.entry(key).or_default().push(trial);
    }

    fn of(&self, task: Task, kind: Kind) -> &[Trial] {
        let trials = self.trials.get(&(task.name(), kind.name()));
        trials.map_or(&[], Vec::as_slice)
    }

    fn median(&self, task: Task, kind: Kind, pick: impl Fn(&Trial) -> f64) -> f64 {
        median(self.of(task, kind).iter().map(pick).collect())
    }

    /// The median over the rounds of what one reader had divided by what another had.
    fn ratio(&self, task: Task, [one, other]: [Kind; 2], pick: impl Fn(&Trial) -> f64) -> f64 {
        let pairs = self.of(task, one).iter().zip(self.of(task, other));
        median(pairs.map(|(one, other)| pick(one) / pick(other)).collect())
    }

    fn most_lost(&self, task: Task, kind: Kind) -> u64 {
        let lost = self.of(task, kind).iter().map(Trial::lost);
        lost.max().unwrap_or(0)
    }

    pub fn print_markdown(&self) {
        for task in Task::ALL {
            println!("\n**{}**\n", task.name());
            println!("| reader | p50 | p99 | p99.9 | max | CPU | sleeps/s | lost |");
            println!("|---|--:|--:|--:|--:|--:|--:|--:|");
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_for(task)) {
                self.print_row(task, kind);
            }
        }
        println!("\n**Must hold** (medians of ratios within a round)\n");
        for (text, value, limit) in self.promises() {
            let verdict = if value <= limit {
                "holds"
            } else {
                "DOES NOT HOLD"
            };
            println!("- {text}: {value:.2}, at most {limit}: {verdict}");
        }
        for name in ["tcpdump", "dumpcap"] {
            if tool::find(name).is_none() {
                println!(
                    "- {name} is not installed and not measured ({})",
                    tool::package(name)
                );
            }
        }
    }

    fn print_row(&self, task: Task, kind: Kind) {
        let us = |share| self.median(task, kind, |trial| quantile_us(trial, share));
        println!(
            "| {} | {:.0} us | {:.0} us | {:.0} us | {:.0} us | {:.1} % | {:.0} | {} |",
            kind.name(),
            us(0.5),
            us(0.99),
            us(0.999),
            us(1.0),
            self.median(task, kind, Trial::cpu_share) * 100.0,
            self.median(task, kind, Trial::sleeps_per_s),
            self.most_lost(task, kind),
        );
    }

    /// What is measured, its value, and the most it may be.
    fn promises(&self) -> Vec<(&'static str, f64, f64)> {
        let p50 = |trial: &Trial| quantile_us(trial, 0.5);
        let p99 = |trial: &Trial| quantile_us(trial, 0.99);
        let sparse = |kind| self.ratio(Task::Sparse, [kind, Kind::V2Poll], p50);
        let dense = |pair| self.ratio(Task::Dense, pair, Trial::cpu_share);
        let ms = |kind, pick: fn(&Trial) -> f64| self.median(Task::Dense, kind, pick) / 1000.0;
        let lost = |task, kind| self.most_lost(task, kind) as f64;
        let jump = |kind| self.median(Task::Jump, kind, |trial| quantile_us(trial, 0.999)) / 1000.0;
        // What the scheduler makes every reader wait shows in the one that sleeps for nothing else.
        let noise_ms = jump(Kind::V2Poll);
        vec![
            (
                "sparse: p50 of adaptive to V2 with poll",
                sparse(Kind::Adaptive200),
                1.3,
            ),
            (
                "sparse: p50 of immediate to V2 with poll",
                sparse(Kind::Immediate),
                1.1,
            ),
            ("dense, 200 us: p99, ms", ms(Kind::Adaptive200, p99), 0.3),
            (
                "dense, 200 us: CPU to V2 with poll",
                dense([Kind::Adaptive200, Kind::V2Poll]),
                0.25,
            ),
            ("dense, 500 us: p50, ms", ms(Kind::Adaptive500, p50), 0.3),
            (
                "dense, 500 us: CPU to V3, 1 ms",
                dense([Kind::Adaptive500, Kind::V3]),
                2.5,
            ),
            ("stall: lost, V2", lost(Task::Stall, Kind::Adaptive200), 0.0),
            (
                "stall: lost, V3",
                lost(Task::Stall, Kind::AdaptiveLong),
                0.0,
            ),
            (
                "jump: p99.9 beyond that of V2 with poll, ms",
                (jump(Kind::Adaptive200) - noise_ms).max(0.0),
                2.0,
            ),
            (
                "jump: lost, beyond what V3 loses",
                (lost(Task::Jump, Kind::Adaptive200) - lost(Task::Jump, Kind::V3)).max(0.0),
                0.0,
            ),
        ]
    }
}

fn quantile_us(trial: &Trial, share: f64) -> f64 {
    trial.delays().quantile(share).unwrap_or(0) as f64 / 1000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
