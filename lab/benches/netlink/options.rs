//! What was asked for.

pub const USAGE: &str =
    "usage: cargo bench -p tapline-lab --bench netlink -- [--rounds N | --quick]";

const ROUNDS: u32 = 7;
const MOST_ROUNDS: u32 = 1000;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub rounds: u32,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self { rounds: ROUNDS };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--quick" => options.rounds = 1,
                "--rounds" => {
                    options.rounds = match value()?.parse() {
                        Ok(rounds @ 1..=MOST_ROUNDS) => rounds,
                        _ => {
                            return Err(format!("--rounds takes a number from 1 to {MOST_ROUNDS}"));
                        }
                    };
                }
                // `make bench` hands its flags to all benches; this one is of the capture's.
                "--tapline" => drop(value()?),
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        Ok(is_bench.then_some(options))
    }
}
