//! The program `tapline`: flags, text, JSON, live screens and exit statuses around the library's jobs.

#![forbid(unsafe_code)]

mod args;
mod capture;
mod count;
mod demo;
mod doctor;
mod failure;
mod filter;
mod filter_file;
mod generate;
mod guard;
mod json;
mod latency;
mod line;
mod metrics;
mod moment;
mod names;
mod net;
mod output;
mod paint;
mod ping;
mod privilege;
mod read;
mod screen;
mod signals;
mod units;
mod usage;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, reordered};
use failure::{Exit, Failure};

fn main() -> ExitCode {
    let result = Args::try_parse_from(reordered(std::env::args_os()))
        .map_err(|error| usage::failure(&error))
        .and_then(|args| run(args.command));
    let exit = result.unwrap_or_else(|failure| {
        if failure.exit != Exit::Done {
            // A closed standard error leaves nobody to tell.
            let _ = tell(&failure);
        }
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn tell(failure: &Failure) -> io::Result<()> {
    let mut out = io::stderr();
    let printable = |line: &str| line.replace(char::is_control, "?");
    writeln!(out, "tapline: {}", printable(&failure.line))?;
    let mut below = failure.below.lines();
    below.try_for_each(|line| writeln!(out, "  {}", printable(line)))
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Capture(args) => capture::run(&args),
        Command::Read(args) => read::run(&args),
        Command::Latency(args) => latency::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Ping(args) => ping::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Link(args) => net::run(net::Noun::Link, &args),
        Command::Addr(args) => net::run(net::Noun::Addr, &args),
        Command::Route(args) => net::run(net::Noun::Route, &args),
        Command::Nexthop(args) => net::run(net::Noun::Nexthop, &args),
        Command::Rule(args) => net::run(net::Noun::Rule, &args),
        Command::Neigh(args) => net::run(net::Noun::Neigh, &args),
        Command::Fdb(args) => net::run(net::Noun::Fdb, &args),
        Command::Tuntap(args) => net::run(net::Noun::Tuntap, &args),
        Command::Maddr(args) => net::maddr(&args),
        Command::Vrf(args) => net::run(net::Noun::Vrf, &args),
        Command::Vlan(args) => net::vlan(&args),
        Command::Mdb(args) => net::run(net::Noun::Mdb, &args),
        Command::Netns(args) => net::netns(&args),
        Command::Batch(args) => net::batch(&args),
        Command::Monitor(args) => net::monitor(&args),
        Command::Explain(args) => net::explain(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Generate { directory } => generate::run(&directory),
        Command::ClsactGuard => guard::run(),
    }
}
