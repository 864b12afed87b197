//! The program `tapline`: flags, text, JSON, live screens and exit statuses around the library's jobs.

#![forbid(unsafe_code)]

mod args;
mod capture;
mod columns;
mod control;
mod count;
mod demo;
mod doctor;
mod ethtool;
mod extcap;
mod failure;
mod filter;
mod flows;
mod generate;
mod index;
mod latency;
mod metrics;
mod net;
mod object_storage;
mod output;
mod packet_line;
mod page;
mod ping;
mod process;
mod read;
mod report;
mod rpcap;
mod run;
mod sandbox;
mod screen;
mod send;
mod serve;
mod values;

use std::io::{self, Write};
use std::process::ExitCode;

use args::{Args, Command, from_ip_syntax};
use failure::{Exit, Failure};
use screen::printable;

fn main() -> ExitCode {
    // Otherwise the program ends as others do.
    let _ = process::signals::report_large_files();
    let result = Args::parse_line(from_ip_syntax(std::env::args_os()))
        .map_err(|error| args::usage::failure(&error))
        .and_then(|args| run(args.command));
    let exit = result.unwrap_or_else(|failure| {
        if failure.exit != Exit::Done {
            // If standard error is closed, nobody can read the message.
            let _ = print(&failure);
        }
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn print(failure: &Failure) -> io::Result<()> {
    let mut out = io::stderr();
    writeln!(out, "tapline: {}", printable(&failure.line))?;
    let mut below = failure.below.lines();
    below.try_for_each(|line| writeln!(out, "  {}", printable(line)))
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Capture(args) => capture::run(&args),
        Command::Read(args) => read::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Latency(args) => latency::run(&args),
        Command::Flows(args) => flows::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Ctl(args) => control::run(&args),
        Command::Ethtool(args) => ethtool::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Ping(args) => ping::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Link(args) => net::run(net::NetObject::Link, &args),
        Command::Addr(args) => net::run(net::NetObject::Addr, &args),
        Command::Route(args) => net::run(net::NetObject::Route, &args),
        Command::Nexthop(args) => net::run(net::NetObject::Nexthop, &args),
        Command::Rule(args) => net::run(net::NetObject::Rule, &args),
        Command::Neigh(args) => net::run(net::NetObject::Neigh, &args),
        Command::Fdb(args) => net::run(net::NetObject::Fdb, &args),
        Command::Tuntap(args) => net::run(net::NetObject::Tuntap, &args),
        Command::Maddr(args) => net::maddr(&args),
        Command::Vrf(args) => net::run(net::NetObject::Vrf, &args),
        Command::Vlan(args) => net::run(net::NetObject::Vlan, &(*args).into()),
        Command::Mdb(args) => net::run(net::NetObject::Mdb, &args),
        Command::Netns(args) => net::netns(&args),
        Command::Batch(args) => net::batch(&args),
        Command::Monitor(args) => net::monitor(&args),
        Command::Explain(args) => net::explain(&args),
        Command::Run(args) => run::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Extcap(args) => extcap::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Generate { directory } => generate::run(&directory),
        Command::ClsactGuard => process::clsact_guard::run(),
        Command::ProcessHelper(args) => process::process_helper::run(&args),
    }
}
