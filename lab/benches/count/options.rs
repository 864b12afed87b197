//! What was asked for.

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench count -- [--rounds N] \
                         [--packets N]";

const MOST_ROUNDS: u32 = 1000;
const MOST_PACKETS: u64 = 1_000_000_000;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// How often each is measured.
    pub rounds: u32,
    /// Packets sent over the veth pair in a round; 0 leaves that part out.
    pub packets: u64,
}

impl Options {
    /// `None` when it is not cargo bench that calls.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds: 9,
            packets: 1_000_000,
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments
                    .next()
                    .ok_or(format!("{argument} needs a value"))?;
                let number = value.parse::<u64>().ok();
                number.ok_or(format!("{argument} takes a number"))
            };
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--rounds" => {
                    options.rounds = value()?.clamp(1, MOST_ROUNDS.into()) as u32;
                }
                "--packets" => options.packets = value()?.min(MOST_PACKETS),
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        Ok(is_bench.then_some(options))
    }
}
