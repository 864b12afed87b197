//! What was asked for.

use std::path::PathBuf;

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench ping -- \
                         [--rounds N | --quick] [--program PATH] [--only delay|flood|rate|many|counts]";

/// What there is to run.
const PARTS: [&str; 5] = ["delay", "flood", "rate", "many", "counts"];

const ROUNDS: u32 = 3;
const MOST_ROUNDS: u32 = 1000;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// How often each is measured.
    pub rounds: u32,
    /// Without ten million probes to one target, which take minutes.
    pub quick: bool,
    /// The program that is measured.
    pub program: PathBuf,
    /// The only part that is run.
    pub only: Option<String>,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds: ROUNDS,
            quick: false,
            // Benches run in the folder of their package.
            program: "../target/release/tapline".into(),
            only: None,
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--quick" => (options.rounds, options.quick) = (1, true),
                "--program" => options.program = value()?.into(),
                "--only" => {
                    let part = value()?;
                    if !PARTS.contains(&part.as_str()) {
                        return Err(format!("--only takes one of {}", PARTS.join(", ")));
                    }
                    options.only = Some(part);
                }
                "--rounds" => {
                    options.rounds = match value()?.parse() {
                        Ok(rounds @ 1..=MOST_ROUNDS) => rounds,
                        _ => {
                            return Err(format!("--rounds takes a number from 1 to {MOST_ROUNDS}"));
                        }
                    };
                }
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        Ok(is_bench.then_some(options))
    }

    /// Whether a part is wanted.
    pub fn has(&self, part: &str) -> bool {
        assert!(PARTS.contains(&part), "{part} can be asked for");
        self.only.as_deref().is_none_or(|only| only == part)
    }
}
