//! The options of all benches. Each bench uses those that apply to it, so that `make bench` can pass the same to all.

use std::ops::RangeInclusive;
use std::path::PathBuf;

pub const USAGE: &str = "usage: cargo bench -p tapline-lab --bench NAME -- [OPTION]...
  --rounds N         measure N times
  --quick            measure once, and leave out what takes minutes
  --json             print JSON lines (capture, filter, latency)
  --tapline FILE     measure this build of tapline; may be repeated (capture, ping, read)
  --without NAME     leave out a peer or an engine; may be repeated (capture, filter)
  --only PART        run one part alone (ping: delay, flood, rate, many, counts)
  --packets N        packets of a round over a veth pair, 0 for none (count)
  --sparse, --dense  rare packets only, dense packets only (latency)
  --trace-in FOLDER  where to make the trace (read)";

const MOST_ROUNDS: u32 = 1000;
const MOST_PACKETS: u64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct BenchOptions {
    pub rounds: u32,
    pub quick: bool,
    pub json: bool,
    /// Builds of tapline to measure.
    pub tapline: Vec<PathBuf>,
    /// Names of peers and engines to leave out.
    pub without: Vec<String>,
    only: Option<String>,
    pub packets: u64,
    pub sparse: bool,
    pub dense: bool,
    pub trace_in: PathBuf,
}

impl BenchOptions {
    /// `None` if it is not `cargo bench` that calls.
    pub fn parse(
        rounds: u32,
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, String> {
        let mut options = Self {
            rounds,
            quick: false,
            json: false,
            tapline: Vec::new(),
            without: Vec::new(),
            only: None,
            packets: 1_000_000,
            sparse: false,
            dense: false,
            trace_in: "/var/tmp".into(),
        };
        let mut is_bench = false;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--bench" => is_bench = true,
                "--quick" => (options.rounds, options.quick) = (1, true),
                "--json" => options.json = true,
                "--sparse" => options.sparse = true,
                "--dense" => options.dense = true,
                "--rounds" => {
                    let rounds = number(&argument, &value()?, 1..=MOST_ROUNDS.into())?;
                    options.rounds = rounds as u32;
                }
                "--packets" => options.packets = number(&argument, &value()?, 0..=MOST_PACKETS)?,
                "--tapline" => options.tapline.push(value()?.into()),
                "--without" => options.without.push(value()?),
                "--only" => options.only = Some(value()?),
                "--trace-in" => options.trace_in = value()?.into(),
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        if options.tapline.is_empty() {
            options.tapline.push(beside_this_bench()?);
        }
        Ok(is_bench.then_some(options))
    }

    /// Whether `part` is to run.
    pub fn has(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }

    /// The part to run alone, if it is none of `parts`.
    pub fn unknown_part(&self, parts: &[&str]) -> Option<&str> {
        let only = self.only.as_deref();
        only.filter(|only| !parts.contains(only))
    }

    /// The numbers of the rounds; each is announced on standard error.
    pub fn each_round(&self) -> impl Iterator<Item = u32> + use<> {
        let rounds = self.rounds;
        (1..=rounds).inspect(move |number| eprintln!("bench: round {number} of {rounds}"))
    }
}

fn number(option: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    let (least, most) = (range.start(), range.end());
    number.ok_or_else(|| format!("{option} takes a number from {least} to {most}"))
}

/// Cargo puts benches into `release/deps` and programs into `release`.
fn beside_this_bench() -> Result<PathBuf, String> {
    let own = std::env::current_exe();
    let own = own.map_err(|error| format!("cannot find this program's folder: {error}"))?;
    let folder = own.ancestors().nth(2).unwrap_or(&own);
    Ok(folder.join("tapline"))
}
