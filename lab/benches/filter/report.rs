//! The figures of all rounds, for people and for programs.

use serde_json::json;

use crate::compile::Microseconds;
use crate::engine::{NAMES, Round};
use crate::harness::BenchOptions;
use crate::harness::Machine;
use crate::harness::Spread;
use crate::rows::Row;
use crate::trace::Trace;

pub struct Report {
    machine: Machine,
    rounds: u32,
    lines: Vec<Line>,
    compiled: Vec<(String, Vec<Microseconds>)>,
}

/// One filter on one trace.
struct Line {
    trace: &'static str,
    frames: usize,
    filter: String,
    rounds: Vec<Round>,
}

impl Line {
    fn spread(&self, engine: usize) -> Option<Spread> {
        let own = self.rounds.iter().filter(|round| round.engine == engine);
        Spread::of(own.map(|round| round.ns))
    }

    /// Packets that match; `None` if the engines do not agree.
    fn matches(&self) -> Option<u64> {
        let mut counts = self.rounds.iter().map(|round| round.matches);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    }
}

impl Report {
    pub fn new(machine: Machine, options: &BenchOptions) -> Self {
        Self {
            machine,
            rounds: options.rounds,
            lines: Vec::new(),
            compiled: Vec::new(),
        }
    }

    pub fn add(&mut self, trace: &Trace, row: &Row, rounds: Vec<Round>) {
        self.lines.push(Line {
            trace: trace.name,
            frames: trace.len(),
            filter: row.name.clone(),
            rounds,
        });
    }

    pub fn add_compile(&mut self, row: &Row, times: Vec<Microseconds>) {
        self.compiled.push((row.name.clone(), times));
    }

    pub fn engines_agree(&self) -> bool {
        self.lines.iter().all(|line| line.matches().is_some())
    }

    pub fn print_markdown(&self) {
        println!("{}", self.machine.line());
        println!(
            "\nOne thread, traces in memory, ns of its processor time per packet; {} rounds, engines by turns; median \
             (least–most). All engines found the same number of matches: {}.",
            self.rounds,
            if self.engines_agree() { "yes" } else { "NO" }
        );
        let mut trace = "";
        for line in &self.lines {
            if line.trace != trace {
                trace = line.trace;
                println!(
                    "\n| {trace}, {} frames | matches | {} |",
                    line.frames,
                    NAMES.join(" | ")
                );
                println!("|---|--:|{}", "--:|".repeat(NAMES.len()));
            }
            let figures = (0..NAMES.len()).map(|engine| {
                let spread = line.spread(engine);
                spread.map_or("–".into(), |spread| spread.show(1.0, 2))
            });
            let figures: Vec<String> = figures.collect();
            let matches = line
                .matches()
                .map_or("differ".into(), |count| count.to_string());
            println!("| {} | {matches} | {} |", line.filter, figures.join(" | "));
        }
        println!(
            "\n| compiling, µs | text to graph | graph to native code | libpcap |\n|---|--:|--:|--:|"
        );
        for (filter, times) in &self.compiled {
            let [front, native, libpcap] = spreads(times)
                .map(|spread| spread.map_or("–".into(), |spread| spread.show(1.0, 0)));
            println!("| {filter} | {front} | {native} | {libpcap} |");
        }
    }

    pub fn print_json(&self) {
        let spread = |s: Spread| json!({"median": s.median, "least": s.least, "most": s.most});
        for line in &self.lines {
            for (engine, name) in NAMES.iter().enumerate() {
                if let Some(figures) = line.spread(engine) {
                    let object = json!({
                        "event": "run", "trace": line.trace, "filter": line.filter, "engine": name,
                        "matches": line.matches(), "packet_ns": spread(figures),
                    });
                    println!("{object}");
                }
            }
        }
        for (filter, times) in &self.compiled {
            let [front, native, libpcap] = spreads(times).map(|figures| figures.map(spread));
            let object = json!({
                "event": "compile", "filter": filter,
                "front_us": front, "native_us": native, "libpcap_us": libpcap,
            });
            println!("{object}");
        }
        let summary = json!({
            "event": "summary", "machine": self.machine.line(), "rounds": self.rounds,
            "engines_agree": self.engines_agree(),
        });
        println!("{summary}");
    }
}

fn spreads(times: &[Microseconds]) -> [Option<Spread>; 3] {
    [
        Spread::of(times.iter().map(|times| times.front)),
        Spread::of(times.iter().map(|times| times.native)),
        Spread::of(times.iter().filter_map(|times| times.libpcap)),
    ]
}
