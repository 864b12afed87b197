//! `tapline demo`.
//!
//! ```text
//!   left ──────── veth ──────── right
//!   sends and receives          captures on its interface ──▶ demo.pcapng
//!   its counters: packets sent         ══?══          packets in the file
//! ```
//!
//! Both hosts are network namespaces of this process and disappear with it. Every wait has a deadline and
//! ends at a signal. The file is written to a temporary directory and moved when it is complete.

mod comparison;
mod deadline;
mod hosts;
mod output;
mod recording;
mod traffic;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::thread::CapabilitySet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use tapline::Stop;

use self::comparison::{Comparison, FileContents};
use self::deadline::Deadline;
use self::hosts::Hosts;
use self::output::Printer;
use self::recording::{OutputFile, Recording};
use self::traffic::kind::Kind;
use crate::args::DemoArgs;
use crate::failure::{Exit, Failure};
use crate::process::privilege;

/// Limit of everything except `--keep`.
const TIME_LIMIT: Duration = Duration::from_secs(30);

const CAPABILITIES: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    (CapabilitySet::NET_RAW, "CAP_NET_RAW"),
];

/// Runs the command.
pub fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let missing = privilege::missing(&CAPABILITIES);
    if !missing.is_empty() {
        let line = format!(
            "cannot create test hosts: needs {} (run with sudo, or with 'unshare --map-root-user' if users \
             may do that)",
            missing.join(", ")
        );
        return Err(Failure::new(Exit::Privilege, line));
    }
    let start = Instant::now();
    let stop = stop_at_signals()?;
    let deadline = Deadline::after(&stop, TIME_LIMIT);
    let printer = Printer::new(args.json);
    let file = OutputFile::prepare(args.write.as_deref())?;

    printer.title()?;
    let mut hosts = Hosts::create(&deadline)?;
    printer.hosts(&hosts)?;
    let recording = Recording::start(&hosts.right, file.path())?;
    printer.capture(&hosts.right, &recording, file.final_path())?;

    let before = hosts.right.counters()?;
    let mut sent = Vec::new();
    for kind in Kind::SENT {
        printer.sending(kind)?;
        let of_kind = traffic::send_counted(kind, &mut hosts, &deadline)
            .inspect_err(|_| printer.end_line())?;
        printer.sent(&of_kind)?;
        sent.push(of_kind);
    }
    let counted = hosts.right.counters()?.since(before);

    let recorded = recording.finish(counted.packets(), &deadline)?;
    let stored = FileContents::read(file.path(), &sent)?;
    let comparison = Comparison {
        sent: &sent,
        counted,
        stored: &stored,
        recorded: &recorded,
    };
    deadline.check()?;
    let path = file.finish()?;
    printer.result(&comparison, &path, start.elapsed())?;
    if args.keep {
        printer.keep(&hosts)?;
        Deadline::after(&stop, Duration::MAX).wait_for_signal()?;
    }
    drop(hosts);
    printer.removed(args.keep)?;
    Ok(if comparison.agrees() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// A stop that SIGINT, SIGTERM and SIGHUP trigger. Repeated signals change nothing, so that the demo always
/// removes an incomplete file.
fn stop_at_signals() -> io::Result<Stop> {
    let stop = Stop::new()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        low_level::pipe::register(signal, stop.stopper().as_fd().try_clone_to_owned()?)?;
    }
    Ok(stop)
}
