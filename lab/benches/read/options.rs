//! What was asked for.

use std::path::PathBuf;

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench read -- [--rounds N | --quick] \
     [--trace-in FOLDER] [--tapline FILE]...";

const ROUNDS: u32 = 9;
const MOST_ROUNDS: u32 = 1000;

#[derive(Debug)]
pub struct Options {
    pub rounds: u32,
    /// Where the trace is made.
    pub trace_in: PathBuf,
    /// Builds of tapline to measure.
    pub tapline: Vec<PathBuf>,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds: ROUNDS,
            trace_in: "/var/tmp".into(),
            tapline: Vec::new(),
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--quick" => options.rounds = 1,
                "--rounds" => options.rounds = rounds(&value()?)?,
                "--trace-in" => options.trace_in = value()?.into(),
                "--tapline" => options.tapline.push(value()?.into()),
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        if options.tapline.is_empty() {
            options.tapline.push(beside_this_bench()?);
        }
        Ok(is_bench.then_some(options))
    }
}

fn rounds(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(rounds @ 1..=MOST_ROUNDS) => Ok(rounds),
        _ => Err(format!("--rounds takes a number from 1 to {MOST_ROUNDS}")),
    }
}

/// Cargo puts benches into `release/deps` and programs into `release`.
fn beside_this_bench() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let folder = own.ancestors().nth(2).unwrap_or(&own);
    Ok(folder.join("tapline"))
}
