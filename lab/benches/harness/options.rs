//! The command line of benches.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, FromArgMatches, Parser, value_parser};

/// Common options. Each bench ignores options that do not apply, so that `make bench` can pass the same options to all.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo bench -p tapline-lab --bench NAME --")]
pub struct BenchOptions {
    /// Measure N times
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Begin no round after N seconds, and keep what was measured until then
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// Measure once and skip slow parts
    #[arg(long)]
    pub quick: bool,
    /// Print JSON lines instead of tables
    #[arg(long)]
    pub json: bool,
    /// Measure this build of tapline; may be repeated (capture, ping, read; send and winpcap take one)
    #[arg(long, value_name = "FILE")]
    tapline: Vec<PathBuf>,
    /// Skip a peer or an engine; may be repeated (capture, filter)
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,
    /// Run only this part; may be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Packets per round over a veth pair, 0 for none (count)
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = value_parser!(u64).range(..=1_000_000_000))]
    pub packets: u64,
    /// Replay a file of about N GB (send)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=100))]
    pub file_gb: u64,
    /// Folder for large files (read, send, winpcap)
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    pub trace_in: PathBuf,
    /// Set by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

impl BenchOptions {
    /// Parses the command line. Returns `None` if the caller is not `cargo bench`.
    pub fn parse(rounds: u32, parts: &'static [&'static str]) -> Option<Self> {
        let command = Self::command().mut_arg("only", |only| match parts {
            [] => only.hide(true),
            _ => only.value_parser(PossibleValuesParser::new(parts)),
        });
        let mut options = Self::from_arg_matches(&command.get_matches()).expect("checked by clap");
        let rounds = if options.quick { 1 } else { rounds };
        options.rounds.get_or_insert(rounds);
        options.bench.then_some(options)
    }

    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(1)
    }

    /// Whether to run `part`.
    pub fn has(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// Whether no part and no peer is left out.
    pub fn is_complete(&self) -> bool {
        self.only.is_empty() && self.without.is_empty()
    }

    /// Whether to skip a peer or an engine.
    pub fn is_without(&self, name: &str) -> bool {
        self.without.iter().any(|without| without == name)
    }

    /// The builds of tapline to measure: those given, or the one in this bench's target folder.
    pub fn tapline(&self) -> Vec<PathBuf> {
        let mut builds = self.tapline.clone();
        if builds.is_empty() {
            // Cargo puts benches into `release/deps` and programs into `release`.
            let own = std::env::current_exe().expect("the path of this program");
            builds.push(own.ancestors().nth(2).unwrap_or(&own).join("tapline"));
        }
        for build in &builds {
            let path = build.display();
            assert!(
                build.is_file(),
                "{path} is missing: cargo build --release -p tapline-cli"
            );
        }
        builds
    }
}
