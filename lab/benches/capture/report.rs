//! The figures of all rounds, for people and for programs.

use serde_json::json;

use crate::harness::Machine;
use crate::harness::Spread;
use crate::harness::TRIES;
use crate::rig::{
    DROP_FRAMES, DROP_RING_MIB, FRAME_BYTES, MOST_FRAMES, READER_CPU, RING_MIB, Rig, SENDER_CPU,
    SNAPLEN, snaplen_program,
};
use crate::round::{Outcome, PACED_PPS, Round, Sink, Trial};
use crate::tool::{Kind, Tool};

pub struct Report {
    machine: Machine,
    tools: Vec<ToolLines>,
    results: Vec<Outcome>,
    /// Of each round.
    drop_pps: Vec<u64>,
    rounds: u32,
}

/// What is told of a tool beside its figures.
struct ToolLines {
    tool: Tool,
    version: Option<String>,
    command: String,
}

/// The figures of one tool and one sink.
struct Figures {
    paced_ns: Spread,
    full_ns: Spread,
    sender_ns: Spread,
    lost_percent: Spread,
    offered_pps: Spread,
    loss_free_pps: Spread,
    wakeups: Spread,
}

impl Report {
    pub fn new(machine: Machine, tools: &[Tool], rig: &Rig) -> Self {
        let lines = |tool: &Tool| {
            let arguments = tool.arguments(rig, "FILE".as_ref(), "N");
            let arguments: Vec<_> = arguments
                .iter()
                .map(|word| word.to_string_lossy())
                .collect();
            let program = match &tool.program {
                Some(path) if !tool.is_peer() => path.display().to_string(),
                _ => tool.name.clone(),
            };
            ToolLines {
                version: tool.version(),
                command: format!("{program} {}", arguments.join(" ")),
                tool: tool.clone(),
            }
        };
        Self {
            machine,
            tools: tools.iter().map(lines).collect(),
            results: Vec::new(),
            drop_pps: Vec::new(),
            rounds: 0,
        }
    }

    pub fn add(&mut self, round: Round) {
        self.rounds += 1;
        self.results.extend(round.results);
        self.drop_pps.push(round.drop_pps);
    }

    /// Whether every file of tapline holds as many packets as it says.
    pub fn tapline_counts_right(&self) -> bool {
        let own = |result: &&Outcome| !self.tools[result.tool].tool.is_peer();
        self.results
            .iter()
            .filter(own)
            .all(|result| result.miscounted().next().is_none())
    }

    /// `None` for a tool that is not installed.
    fn figures(&self, tool: usize, sink: Sink) -> Option<Figures> {
        let results = self
            .results
            .iter()
            .filter(|r| r.tool == tool && r.sink == sink);
        let spread = |pick: &dyn Fn(&Outcome) -> f64| Spread::of(results.clone().map(pick));
        let lost = |trial: &Trial| trial.lost() as f64 * 100.0 / trial.offered as f64;
        Some(Figures {
            paced_ns: spread(&|result| result.paced.cost_ns())?,
            full_ns: spread(&|result| result.full.cost_ns())?,
            sender_ns: spread(&|result| result.full.sender_ns())?,
            lost_percent: spread(&|result| lost(&result.full))?,
            offered_pps: spread(&|result| result.full.offered_pps as f64)?,
            loss_free_pps: spread(&|result| result.loss_free_pps() as f64)?,
            wakeups: spread(&|r| r.paced.reader.waits as f64 / r.paced.seconds)?,
        })
    }

    /// The best peer's median of a figure, by `better`.
    fn best_peer(
        &self,
        sink: Sink,
        pick: fn(&Figures) -> Spread,
        better: fn(f64, f64) -> f64,
    ) -> Option<f64> {
        let peers = self
            .tools
            .iter()
            .enumerate()
            .filter(|(_, lines)| lines.tool.is_peer());
        let medians =
            peers.filter_map(|(number, _)| Some(pick(&self.figures(number, sink)?).median));
        medians.reduce(better)
    }

    pub fn print_markdown(&self) {
        println!("{}", self.machine.line());
        println!(
            "\nCapture of {FRAME_BYTES}-byte frames, {SNAPLEN} bytes kept of each, over veth; ring \
             {RING_MIB} MiB, in drop mode {DROP_RING_MIB}; sender on processor {SENDER_CPU}, reader on processor {READER_CPU}. \
             {} rounds; median (least–most); × is the ratio to the best peer's median.",
            self.rounds
        );
        for sink in Sink::ALL {
            self.print_table(sink);
        }
        self.print_drop();
        println!();
        for lines in &self.tools {
            let ToolLines {
                tool,
                version,
                command,
            } = lines;
            match version {
                Some(version) => println!("- {}: {version}; `{command}`", tool.name),
                None => println!(
                    "- {}: not installed (apt-get install {})",
                    tool.name, tool.package
                ),
            }
        }
        self.print_notes();
    }

    fn print_table(&self, sink: Sink) {
        println!(
            "\n| to {} | reader CPU at {} kpps, ns/packet | × | reader CPU at full speed, ns/packet \
             | × | sender and stack, ns/packet | lost at full speed, % | of kpps | loss-free, kpps | × |",
            sink.name(),
            PACED_PPS / 1000
        );
        println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        let best_paced = self.best_peer(sink, |f| f.paced_ns, f64::min);
        let best_full = self.best_peer(sink, |f| f.full_ns, f64::min);
        let best_rate = self.best_peer(sink, |f| f.loss_free_pps, f64::max);
        let ratio = |spread: Spread, best: Option<f64>| {
            best.map_or("–".into(), |best| format!("{:.2}", spread.median / best))
        };
        for (number, lines) in self.tools.iter().enumerate() {
            let name = &lines.tool.name;
            let Some(figures) = self.figures(number, sink) else {
                println!("| {name} | not installed | | | | | | | | |");
                continue;
            };
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                figures.paced_ns.show(1.0, 0),
                ratio(figures.paced_ns, best_paced),
                figures.full_ns.show(1.0, 0),
                ratio(figures.full_ns, best_full),
                figures.sender_ns.show(1.0, 0),
                figures.lost_percent.show(1.0, 2),
                figures.offered_pps.show(1e3, 0),
                figures.loss_free_pps.show(1e3, 0),
                ratio(figures.loss_free_pps, best_rate),
            );
        }
    }

    /// Drop mode beside what the rig carries at most.
    fn print_drop(&self) {
        let Some(most) = Spread::of(self.drop_pps.iter().map(|&pps| pps as f64)) else {
            return;
        };
        println!(
            "\nAn XDP program that only drops counts {} kpps on this rig.",
            most.show(1e3, 0)
        );
        for (number, lines) in self.tools.iter().enumerate() {
            let is_it = |result: &&Outcome| result.tool == number && result.sink == Sink::Tmpfs;
            let loss_free = self
                .results
                .iter()
                .filter(is_it)
                .map(Outcome::loss_free_pps);
            let shares = loss_free.zip(&self.drop_pps);
            let shares = shares.map(|(pps, most)| pps as f64 * 100.0 / *most as f64);
            if lines.tool.kind == Kind::TaplineDrop
                && let Some(shares) = Spread::of(shares)
            {
                println!(
                    "Of those {} takes {} % to tmpfs without a loss, round by round.",
                    lines.tool.name,
                    shares.show(1.0, 0)
                );
            }
        }
        let trials = || self.results.iter().flat_map(Outcome::trials);
        println!(
            "In {} of {} trials a hypervisor took a processor away: they were taken again, up to {} times; in {} \
             of them it still did.",
            trials().filter(|trial| trial.tries > 1).count(),
            trials().count(),
            TRIES - 1,
            trials().filter(|trial| trial.tries > TRIES).count(),
        );
    }

    fn print_notes(&self) {
        println!(
            "\nCPU is the reader's user and system time from its first wait for packets to its end, \
             by captured packets. Sender and stack is the sender's processor time at full speed, by offered \
             packets: sending, and what the receiver's driver, programs and stack do. Full speed is as fast as the sender goes beside this reader. A \
             loss-free rate equal to it was limited by the sender. N is the number of frames of a trial: a million at the paced rate, up to {MOST_FRAMES} at others, \
             in drop mode {DROP_FRAMES}. \
             netsniff-ng has no flag for the bytes to keep: its filter, `{}`, does that; it hands ring memory \
             to the kernel, so to /dev/null it touches no packet.",
            snaplen_program().trim_end()
        );
        let mut all_right = true;
        for result in &self.results {
            for trial in result.miscounted() {
                all_right = false;
                println!(
                    "- {} counted {} packets and its file holds {}.",
                    result.name,
                    trial.reader.counted.captured,
                    trial.in_file.unwrap_or_default()
                );
            }
        }
        if all_right {
            println!("Every file on tmpfs held as many packets as its writer counted.");
        }
    }

    pub fn print_json(&self) {
        let figures = |number: usize, sink: Sink| {
            let figures = self.figures(number, sink)?;
            let spread = |s: Spread| json!({"median": s.median, "least": s.least, "most": s.most});
            Some(json!({
                "tool": self.tools[number].tool.name,
                "sink": sink.name(),
                "reader_cpu_ns_per_packet_paced": spread(figures.paced_ns),
                "reader_cpu_ns_per_packet_full": spread(figures.full_ns),
                "sender_cpu_ns_per_packet_full": spread(figures.sender_ns),
                "lost_percent_full": spread(figures.lost_percent),
                "offered_pps_full": spread(figures.offered_pps),
                "loss_free_pps": spread(figures.loss_free_pps),
                "wakeups_per_s_paced": spread(figures.wakeups),
            }))
        };
        let numbers = 0..self.tools.len();
        let rows: Vec<_> = Sink::ALL
            .into_iter()
            .flat_map(|sink| {
                numbers
                    .clone()
                    .filter_map(move |number| figures(number, sink))
            })
            .collect();
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|ToolLines { tool, version, command }| {
                json!({"name": tool.name, "version": version, "command": command, "package": tool.package})
            })
            .collect();
        let summary = json!({
            "event": "summary",
            "machine": self.machine.processor,
            "processors": self.machine.processors,
            "virtual_machine": self.machine.is_virtual,
            "kernel": self.machine.kernel,
            "time": self.machine.time,
            "frame_bytes": FRAME_BYTES,
            "snaplen": SNAPLEN,
            "ring_mib": RING_MIB,
            "drop_ring_mib": DROP_RING_MIB,
            "xdp_drop_pps": self.drop_pps,
            "paced_pps": PACED_PPS,
            "rounds": self.rounds,
            "tools": tools,
            "figures": rows,
        });
        println!("{summary}");
    }
}
