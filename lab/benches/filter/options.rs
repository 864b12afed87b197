//! What was asked for.

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench filter -- [--rounds N | --quick] [--json] \
     [--without ENGINE]...";

const ROUNDS: u32 = 5;
const MOST_ROUNDS: u32 = 1000;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub rounds: u32,
    pub json: bool,
    /// Names of engines to leave out.
    pub without: Vec<String>,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds: ROUNDS,
            json: false,
            without: Vec::new(),
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--json" => options.json = true,
                "--quick" => options.rounds = 1,
                "--rounds" => options.rounds = rounds(&value()?)?,
                // `make bench` hands its flags to both benches; this one is of the capture's.
                "--tapline" => drop(value()?),
                "--without" => options.without.push(value()?),
                _ => return Err(format!("{argument} is not understood")),
            }
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
