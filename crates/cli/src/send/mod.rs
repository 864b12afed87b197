//! `tapline send`.
//!
//! ```text
//! source: files and their changes, or generated packets ─▶ Sender ─▶ interface
//!                                                      └─▶ SendToFile (-w) or the plan of a dry run
//! ```

mod progress;
mod source;
mod summary;
mod to_file;

use std::num::NonZeroU64;

use rustix::thread::CapabilitySet;
use tapline::file::model::LinkType;
use tapline::send::{Fill, Rate, SendError, SendOptions, SendPath, SendPlan, SendQueue, Sender};

use crate::args::SendArgs;
use crate::failure::{Exit, Failure, is_closed_output};
use crate::metrics::{Server, send_families};
use crate::process::{signals, user};
use crate::sandbox::{self, Sandbox};
use crate::values::units::counted;
use progress::Progress;
use source::Source;

pub fn run(args: &SendArgs) -> Result<Exit, Failure> {
    to_file::refuse_two_on_stdout(args)?;
    refuse_one_side(args)?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let packets = source::open(args)?;
    if args.dry_run {
        return dry_run(args, packets.source);
    }
    if let Some(path) = &args.write {
        return to_file::run(args, path, packets, server);
    }
    let mut sender = options(args)
        .open()
        .map_err(|error| failure(&error))?
        .stop_with(signals::stop_as(&args.user, args.sandbox)?);
    let mut needed = CapabilitySet::empty();
    // Files are opened again for each repetition.
    if !args.read.is_empty() {
        needed |= user::to_read_any_file(&args.user);
    }
    // At a rate, packets leave on time only if the sending thread runs first when it wakes.
    needed.set(CapabilitySet::SYS_NICE, rate(args) != Rate::Max);
    user::leave(&args.user, needed)?;
    let live = sender.live();
    begin(args, server, live.clone())?;
    let progress = Progress::start(args, live, packets.share)?;
    let result = sender.run(packets.source);
    drop(progress);
    let summary = sender.finish().map_err(|error| failure(&error))?;
    let shown = summary::show(args, &summary);
    // The failure of sending is reported before that of printing its summary.
    result.map_err(|error| failure(&error))?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    if summary.all_failed() > 0 {
        let line = format!(
            "the kernel refused {}",
            counted(summary.all_failed(), "packet")
        );
        return Err(Failure::new(Exit::Failed, line));
    }
    Ok(Exit::Done)
}

/// Clients and servers on one interface would be no split.
fn refuse_one_side(args: &SendArgs) -> Result<(), Failure> {
    match &args.split {
        Some(second) if args.interface.as_ref() == Some(second) => {
            let line = format!("--split needs another interface than -i {second}");
            Err(Failure::new(Exit::Usage, line))
        }
        _ => Ok(()),
    }
}

fn options(args: &SendArgs) -> SendOptions {
    tapline::send::send(args.interface.as_deref().unwrap_or_default())
        .second_link(args.split.clone())
        .rate(rate(args))
        .path(args.path)
        .threads(args.threads)
        .long_frames(args.fit)
        .allow_uplink(args.yes_on_uplink)
        .packets(args.count.map(NonZeroU64::get))
        .link_type(LinkType::ETHERNET)
}

fn rate(args: &SendArgs) -> Rate {
    args.speed.map_or(args.rate, Rate::Recorded)
}

/// Serves the metrics, restricts the program, and prints where they are.
fn begin(
    args: &SendArgs,
    server: Option<Server>,
    live: tapline::send::LiveSent,
) -> Result<(), Failure> {
    let url = server.as_ref().map(Server::url);
    if let Some(server) = server {
        let interface = args.interface.clone().unwrap_or_default();
        server.serve(args.sandbox, move || send_families(&interface, &live))?;
    }
    restrict(args)?;
    summary::show_start(args, url.as_deref()).map_err(|error| Failure::stdout(&error))
}

/// Leaves the program the files that it sends: the thread that reads them starts from here on.
fn restrict(args: &SendArgs) -> Result<(), Failure> {
    let sandbox = Sandbox::new(&sandbox::SEND);
    let sandbox = args.read.iter().fold(sandbox, Sandbox::read);
    sandbox.enter(args.sandbox, args.quiet)?;
    Ok(())
}

/// Reads what would be sent.
fn dry_run(args: &SendArgs, mut source: Source) -> Result<Exit, Failure> {
    // Without the interface, the reason is printed in place of the path.
    let plan = || SendPlan::new(rate(args));
    let mut plan = plan().fit(&options(args)).unwrap_or_else(|_| plan());
    let most = args.count.map_or(u64::MAX, NonZeroU64::get);
    if args.is_endless() {
        let line = "the number of packets has no limit: give --count for a dry run";
        return Err(Failure::new(Exit::Usage, line));
    }
    let path = planned_path(args);
    restrict(args)?;
    let mut queue = SendQueue::default();
    loop {
        let fill = source(&mut queue).map_err(SendError::Source);
        let fill = fill.map_err(|error| failure(&error))?;
        if fill == Fill::Repeat {
            plan.repeat();
        }
        for packet in queue.packets() {
            if plan.packets() < most {
                plan.add(&packet).map_err(|error| failure(&error))?;
            }
        }
        queue.clear();
        if fill == Fill::End || plan.packets() >= most {
            break;
        }
    }
    summary::show_plan(args, &plan, path)
        .map_err(|error| Failure::output("cannot print the plan", &error))?;
    Ok(Exit::Done)
}

/// The path that packets would take. Opening one sends nothing.
fn planned_path(args: &SendArgs) -> Result<SendPath, String> {
    if args.path != SendPath::Auto {
        return Ok(args.path);
    }
    let summary = options(args).open().and_then(Sender::finish);
    summary
        .map(|summary| summary.path)
        .map_err(|error| crate::failure::chain(&error))
}

/// The kernel's number for an operation that a driver does not support.
const EOPNOTSUPP: i32 = 95;

fn failure(error: &SendError) -> Failure {
    if let SendError::Write(error) = error
        && is_closed_output(error)
    {
        return Failure::closed();
    }
    let (exit, advice) = match error {
        SendError::Namespace(_) if error.is_privilege() => {
            (Exit::Privilege, " (needs CAP_SYS_ADMIN; run with sudo)")
        }
        SendError::Open { path, .. } if error.is_privilege() && *path == SendPath::LiveFrames => (
            Exit::Privilege,
            " (needs CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_ADMIN; run with sudo)",
        ),
        _ if error.is_privilege() => (
            Exit::Privilege,
            " (needs CAP_NET_RAW; run with sudo or setcap)",
        ),
        SendError::Open { path, .. } if *path != SendPath::Auto => {
            (Exit::Unsupported, "; --path auto chooses another")
        }
        SendError::Send {
            path: SendPath::LiveFrames,
            source,
            ..
        } if source.raw_os_error() == Some(EOPNOTSUPP) => (
            Exit::Unsupported,
            "; a veth interface needs an XDP program or GRO at its peer, --path auto chooses another path",
        ),
        SendError::LinkType { .. } => (Exit::Usage, "; only Ethernet interfaces take these frames"),
        SendError::Uplink { .. } => (Exit::Usage, "; give --yes-on-uplink to send on it"),
        SendError::BecameUplink { .. } => (Exit::Failed, "; give --yes-on-uplink to go on"),
        SendError::Stalled { .. } => (
            Exit::Failed,
            " ('ip link' shows NO-CARRIER if its other end is down)",
        ),
        SendError::TooLong { .. } => (Exit::Failed, "; use --fit truncate or --fit skip"),
        SendError::Link(error) if error.errno() == Some(19) => {
            (Exit::Failed, " ('ip link' lists the interfaces)")
        }
        _ => (Exit::Failed, ""),
    };
    let line = crate::failure::chain(error);
    Failure::new(exit, line + advice)
}
