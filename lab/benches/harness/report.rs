//! The report of a bench: figures, targets and remarks.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tapline_lab::benchmarks::{Measurements, Run, Spread};

use super::BenchOptions;
use super::machine::{date, load, machine, stolen};
use super::table::{Column, Table};

/// Name of the bench that this module is a part of.
const BENCH: &str = env!("CARGO_CRATE_NAME");

/// Maximum attempts per trial.
const TRIES: usize = 5;

/// Share of the CPU time of a trial that a hypervisor may take away without disturbing the trial: shared hosts always take a
/// little.
const MOST_STOLEN: f64 = 0.01;

/// The figures of all rounds, the results of the targets, and remarks.
pub struct Report {
    start: Instant,
    machine: String,
    date: String,
    load: String,
    rounds: u32,
    /// No round begins after this time.
    limit: Duration,
    is_json: bool,
    is_complete: bool,
    tables: Vec<Table>,
    verdicts: Vec<String>,
    notes: Vec<String>,
    failures: Vec<String>,
    trials: usize,
    repeated: usize,
    disturbed: usize,
}

impl Report {
    pub fn new(options: &BenchOptions) -> Self {
        Self {
            start: Instant::now(),
            machine: machine(),
            date: date(),
            load: load(),
            rounds: options.rounds(),
            limit: options.seconds.map_or(Duration::MAX, Duration::from_secs),
            is_json: options.json,
            is_complete: options.is_complete(),
            tables: Vec::new(),
            verdicts: Vec::new(),
            notes: Vec::new(),
            failures: Vec::new(),
            trials: 0,
            repeated: 0,
            disturbed: 0,
        }
    }

    /// The round numbers. Prints each to standard error. Fewer if the time is over.
    pub fn rounds(&self, part: &str) -> impl Iterator<Item = u32> + use<> {
        let (part, rounds, start, limit) = (part.to_owned(), self.rounds, self.start, self.limit);
        (1..=rounds)
            .take_while(move |_| start.elapsed() < limit)
            .inspect(move |number| eprintln!("bench: {part}, round {number} of {rounds}"))
    }

    /// Repeats a trial until it is undisturbed on `cpu1` (one CPU) or `cpu` (all of them), and returns the least
    /// disturbed attempt.
    pub fn undisturbed<T>(&mut self, cpu: &str, mut trial: impl FnMut() -> T) -> T {
        let mut attempt = || {
            let (before, start) = (stolen(cpu), Instant::now());
            let result = trial();
            // Some hypervisors correct what they have reported.
            let taken = stolen(cpu).saturating_sub(before).as_secs_f64();
            (taken / start.elapsed().as_secs_f64(), result)
        };
        let mut least = attempt();
        let mut tries = 1;
        while least.0 > MOST_STOLEN && tries < TRIES {
            let next = attempt();
            tries += 1;
            if next.0 < least.0 {
                least = next;
            }
        }
        self.trials += 1;
        self.repeated += usize::from(tries > 1);
        self.disturbed += usize::from(least.0 > MOST_STOLEN);
        least.1
    }

    /// The table with this title, created if missing.
    pub fn table(&mut self, title: &str, columns: &[Column]) -> &mut Table {
        let place = self.tables.iter().position(|table| table.title == title);
        let place = place.unwrap_or_else(|| {
            self.tables.push(Table::new(title, columns));
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }

    /// The values of all rounds in one cell of a table; empty if nothing was measured.
    pub fn of(&self, title: &str, name: &str, head: &str) -> Vec<f64> {
        let table = self.tables.iter().find(|table| table.title == title);
        table.map_or(Vec::new(), |table| table.of(name, head).to_vec())
    }

    pub fn tables(&mut self) -> &mut [Table] {
        &mut self.tables
    }

    /// A target: the median of a figure must be at most `limit`.
    pub fn at_most(&mut self, what: &str, values: &[f64], limit: f64) {
        let holds = |median| median <= limit;
        self.verdict(what, values, &format!("at most {limit}"), holds);
    }

    /// A target: the median of a figure must be at least `limit`.
    pub fn at_least(&mut self, what: &str, values: &[f64], limit: f64) {
        let holds = |median| median >= limit;
        self.verdict(what, values, &format!("at least {limit}"), holds);
    }

    fn verdict(&mut self, what: &str, values: &[f64], bound: &str, holds: impl Fn(f64) -> bool) {
        let verdict = match Spread::of(values) {
            None => format!("{what}: not measured"),
            Some(Spread {
                median,
                least,
                most,
            }) => {
                let verdict = if holds(median) {
                    "holds"
                } else {
                    "DOES NOT HOLD"
                };
                format!("{what}: {median:.2} ({least:.2}–{most:.2}), {bound}: {verdict}")
            }
        };
        self.verdicts.push(verdict);
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Reports a wrong measurement: the bench fails.
    pub fn fail(&mut self, complaint: impl Into<String>) {
        self.failures.push(complaint.into());
    }

    pub fn print(mut self) -> ExitCode {
        self.note(format!(
            "On average {} threads were running or waiting for a CPU in the minute before the bench.",
            self.load
        ));
        if self.trials > 0 {
            let (trials, repeated, disturbed) = (self.trials, self.repeated, self.disturbed);
            let most = TRIES - 1;
            self.note(format!(
                "A hypervisor took more than {:.0} % of the CPU time in {repeated} of {trials} trials. They were \
                 repeated, up to {most} times; {disturbed} were still disturbed.",
                MOST_STOLEN * 100.0
            ));
        }
        if self.start.elapsed() >= self.limit {
            self.note("The time of `--seconds` was over before the bench ended: the last figures may be of fewer rounds.");
        }
        let run = self.run();
        if self.is_json {
            for table in &run.tables {
                for row in &table.rows {
                    let line = json!({
                        "event": "row", "table": table.title, "columns": table.columns, "row": row,
                    });
                    println!("{line}");
                }
            }
            let summary = json!({
                "event": "summary", "machine": run.machine, "date": run.date, "rounds": run.rounds,
                "verdicts": run.verdicts, "notes": run.notes, "failures": self.failures,
            });
            println!("{summary}");
        } else {
            let (rounds, seconds) = (run.rounds, run.seconds);
            println!(
                "{}; {}; {rounds} rounds in {seconds} s; median (least–most)",
                run.machine, run.date
            );
            for table in &run.tables {
                println!("\n{}", table.markdown());
            }
            for line in run.verdicts.iter().chain(&run.notes) {
                println!("- {line}");
            }
        }
        // The figures of a run with wrong measurements are not kept.
        if self.failures.is_empty() {
            keep(run, self.is_complete);
        }
        for complaint in &self.failures {
            eprintln!("bench: {complaint}");
        }
        ExitCode::from(u8::from(!self.failures.is_empty()))
    }

    /// What the bench's file says about this run.
    fn run(&self) -> Run {
        let words = std::env::args().skip(1).filter(|word| word != "--bench");
        let words: Vec<_> = words.collect();
        let command = format!(
            "cargo bench -p tapline-lab --bench {BENCH} -- {}",
            words.join(" ")
        );
        Run {
            machine: self.machine.clone(),
            date: self.date.clone(),
            command: command.trim_end_matches([' ', '-']).into(),
            rounds: self.rounds,
            seconds: self.start.elapsed().as_secs(),
            tables: self.tables.iter().map(Table::figures).collect(),
            verdicts: self.verdicts.clone(),
            notes: self.notes.clone(),
        }
    }
}

/// Adds the run to the bench's file below the target folder.
fn keep(run: Run, is_complete: bool) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let path = target.expect("the target folder").join("bench");
    let path = path.join(BENCH).with_extension("json");
    let nothing = || Measurements {
        bench: BENCH.into(),
        runs: Vec::new(),
    };
    let mut measured = Measurements::read(&path).unwrap_or_else(|_| nothing());
    measured.add(run, is_complete);
    match measured.write(&path) {
        Ok(()) => eprintln!("bench: written to {}", path.display()),
        Err(error) => eprintln!("bench: {}: {error}", path.display()),
    }
}
