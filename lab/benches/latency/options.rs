//! What was asked for.

use crate::kind::Kind;
use crate::task::Task;

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench latency -- [--rounds N | --quick] [--sparse] [--dense] [--json]";

const ROUNDS: u32 = 3;
const MOST_ROUNDS: u32 = 1000;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub rounds: u32,
    pub json: bool,
    /// Rare packets only, and readers that wake for each: many turns in little time.
    pub sparse: bool,
    /// Dense packets only.
    pub dense: bool,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds: ROUNDS,
            json: false,
            sparse: false,
            dense: false,
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--json" => options.json = true,
                "--sparse" => options.sparse = true,
                "--dense" => options.dense = true,
                "--quick" => options.rounds = 1,
                "--rounds" => {
                    let value = arguments.next().unwrap_or_default();
                    options.rounds = match value.parse() {
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

    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        let sparse = self.sparse;
        Kind::ALL
            .into_iter()
            .filter(move |kind| !sparse || kind.wakes_for_each())
    }

    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        let all = !self.sparse && !self.dense;
        let (sparse, dense) = (self.sparse, self.dense);
        Task::ALL.into_iter().filter(move |&task| {
            all || sparse && task == Task::Sparse || dense && task == Task::Dense
        })
    }
}
