//! The program `tapline`: flags, text, JSON, live screens and exit statuses around the library's jobs.

#![forbid(unsafe_code)]

mod args;
mod capture;
mod failure;
mod generate;
mod line;
mod privilege;
mod signals;
mod units;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Capture(args) => capture::run(&args),
        Command::Generate { directory } => generate::run(&directory),
    };
    let exit = result.unwrap_or_else(|Failure { exit, line }| {
        eprintln!("tapline: {line}");
        exit
    });
    ExitCode::from(exit as u8)
}
