//! The program `tapline`: flags, text, JSON, live screens and exit statuses around the library's jobs.

#![forbid(unsafe_code)]

mod args;
mod capture;
mod demo;
mod failure;
mod generate;
mod json;
mod line;
mod moment;
mod output;
mod privilege;
mod program;
mod read;
mod signals;
mod units;
mod usage;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Exit, Failure};

fn main() -> ExitCode {
    let result = Args::try_parse()
        .map_err(|error| usage::failure(&error))
        .and_then(|args| run(args.command));
    let exit = result.unwrap_or_else(|Failure { exit, line }| {
        let line = line.replace(char::is_control, "?");
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(io::stderr(), "tapline: {line}");
        exit
    });
    ExitCode::from(exit as u8)
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Capture(args) => capture::run(&args),
        Command::Read(args) => read::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Generate { directory } => generate::run(&directory),
    }
}
