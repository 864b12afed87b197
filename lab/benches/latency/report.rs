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

    fn most_lost(&self, task: Task, kind: Kind) -> f64 {
        let lost = self.of(task, kind).iter().map(Trial::lost);
        lost.max().map_or(f64::NAN, |lost| lost as f64)
    }

    /// Of all turns.
    fn longest_us(&self, task: Task, kind: Kind) -> f64 {
        let longest = self
            .of(task, kind)
            .iter()
            .map(|trial| quantile_us(trial, 1.0));
        longest.fold(f64::NAN, f64::max)
    }

    pub fn print_markdown(&self) {
        for task in Task::ALL {
            println!("\n**{}**\n", task.name());
            println!("| reader | p50 | p99 | p99.9 | max | worst | CPU | sleeps/s | lost |");
            println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_for(task)) {
                self.print_row(task, kind);
            }
        }
        self.print_promises();
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
            "| {} | {:.0} us | {:.0} us | {:.0} us | {:.0} us | {:.0} us | {:.1} % | {:.0} | {} |",
            kind.name(),
            us(0.5),
            us(0.99),
            us(0.999),
            us(1.0),
            self.longest_us(task, kind),
            self.median(task, kind, Trial::cpu_share) * 100.0,
            self.median(task, kind, Trial::sleeps_per_s),
            self.most_lost(task, kind),
        );
    }

    /// What was asked for, what was reached, and the same figure of the peers.
    fn print_promises(&self) {
        println!(
            "\n**Must hold** (medians of the turns, and of ratios within a turn; a loss is that of the worst turn)\n"
        );
        println!("| | at most | reached | worst turn | | libpcap immediate | tcpdump | dumpcap |");
        println!("|---|--:|--:|--:|---|--:|--:|--:|");
        for promise in self.promises() {
            let value = (promise.figure)(promise.kind);
            let verdict = match value {
                _ if value.is_nan() => "not measured",
                _ if value <= promise.limit => "holds",
                _ => "DOES NOT HOLD",
            };
            print!(
                "| {} | {} | {value:.2} | {} | {verdict} |",
                promise.text,
                promise.limit,
                match promise.worst {
                    Some(worst) => format!("{worst:.2}"),
                    None => String::new(),
                },
            );
            for peer in [Kind::LibpcapImmediate, Kind::Tcpdump, Kind::Dumpcap] {
                match (promise.figure)(peer) {
                    figure if figure.is_finite() => print!(" {figure:.2} |"),
                    _ => print!(" |"),
                }
            }
            println!();
        }
    }

    fn promises(&self) -> Vec<Promise<'_>> {
        let p50 = |trial: &Trial| quantile_us(trial, 0.5);
        let p99 = |trial: &Trial| quantile_us(trial, 0.99);
        let sparse = move |kind| self.ratio(Task::Sparse, [kind, Kind::V2Poll], p50);
        let ms = move |kind, pick: fn(&Trial) -> f64| self.median(Task::Dense, kind, pick) / 1000.0;
        let cpu = move |kind, other| self.ratio(Task::Dense, [kind, other], Trial::cpu_share);
        let longest_ms =
            move |kind| self.median(Task::Jump, kind, |trial| quantile_us(trial, 1.0)) / 1000.0;
        // What the scheduler makes every reader wait shows in the one that sleeps for nothing else.
        let beyond_ms = move |kind| above_zero(longest_ms(kind) - longest_ms(Kind::V2Poll));
        // One turn in which the machine was elsewhere for a while shows here.
        let worst_ms = move |kind| {
            above_zero(self.longest_us(Task::Jump, kind) / 1000.0 - longest_ms(Kind::V2Poll))
        };
        let beyond = move |kind| {
            above_zero(self.most_lost(Task::Jump, kind) - self.most_lost(Task::Jump, Kind::V3))
        };
        let stalled = move |kind| self.most_lost(Task::Stall, kind);
        let (short, medium) = (Kind::Adaptive200, Kind::Adaptive500);
        let (full, long) = (Kind::AdaptiveFull, Kind::AdaptiveLong);
        vec![
            Promise::new("sparse: p50 to that of V2 with poll", short, 1.3, sparse),
            Promise::new("the same, immediate", Kind::Immediate, 1.1, sparse),
            Promise::new("dense, 200 us: p99, ms", short, 0.3, move |kind| {
                ms(kind, p99)
            }),
            Promise::new(
                "dense, 200 us: CPU to V2 with poll",
                short,
                0.25,
                move |kind| cpu(kind, Kind::V2Poll),
            ),
            Promise::new("dense, 500 us: p50, ms", medium, 0.3, move |kind| {
                ms(kind, p50)
            }),
            Promise::new("dense, 500 us: CPU to V3, 1 ms", medium, 2.5, move |kind| {
                cpu(kind, Kind::V3)
            }),
            Promise::new("stall: lost, -s 96", short, 0.0, stalled),
            Promise::new("stall: lost, -s 1518", full, 0.0, stalled),
            Promise::new("stall: lost, -s 9018", long, 0.0, stalled),
            Promise::new(
                "jump: longest wait beyond that of V2 with poll, ms",
                short,
                2.0,
                beyond_ms,
            )
            .with_worst(worst_ms),
            Promise::new("the same, V3", long, 2.0, beyond_ms).with_worst(worst_ms),
            Promise::new("jump: lost, beyond what V3, 1 ms loses", short, 0.0, beyond),
            Promise::new("the same, V3", long, 0.0, beyond),
        ]
    }
}

/// Something that has to hold.
struct Promise<'r> {
    text: &'static str,
    /// Who promises it.
    kind: Kind,
    limit: f64,
    /// Not a number for a reader that was not measured.
    figure: Box<dyn Fn(Kind) -> f64 + 'r>,
    /// What it was in the worst turn, where the figure is a median.
    worst: Option<f64>,
}

impl<'r> Promise<'r> {
    fn new(text: &'static str, kind: Kind, limit: f64, figure: impl Fn(Kind) -> f64 + 'r) -> Self {
        Self {
            text,
            kind,
            limit,
            figure: Box::new(figure),
            worst: None,
        }
    }

    fn with_worst(mut self, worst: impl Fn(Kind) -> f64) -> Self {
        self.worst = Some(worst(self.kind));
        self
    }
}

fn quantile_us(trial: &Trial, share: f64) -> f64 {
    let ns = trial.delays().quantile(share);
    ns.map_or(f64::NAN, |ns| ns as f64 / 1000.0)
}

/// What is not a number stays so.
fn above_zero(value: f64) -> f64 {
    value.clamp(0.0, f64::INFINITY)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
