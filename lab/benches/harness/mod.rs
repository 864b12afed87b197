//! What the benches share: options, rounds, the machine, and medians with their spread.

#![allow(dead_code, unused_imports, reason = "each bench uses a part")]

mod machine;
mod options;
mod spread;
mod steal;

use std::process::ExitCode;

pub use machine::Machine;
pub use options::BenchOptions;
pub use spread::Spread;
pub use steal::{TRIES, undisturbed};

/// Runs `measure` with the options of the command line: `main` of every bench. `rounds` is the default.
pub fn run(rounds: u32, measure: impl FnOnce(&BenchOptions) -> ExitCode) -> ExitCode {
    match BenchOptions::parse(rounds, std::env::args().skip(1)) {
        Ok(Some(options)) => measure(&options),
        // `cargo test --benches` starts benches too; they are not tests.
        Ok(None) => ExitCode::SUCCESS,
        Err(line) => {
            eprintln!("bench: {line}\n{}", options::USAGE);
            ExitCode::from(2)
        }
    }
}
