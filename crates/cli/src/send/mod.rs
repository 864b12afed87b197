//! `tapline send`.

mod edit;
mod progress;
mod summary;

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use tapline::read::ReadBuilder;
use tapline::send::{Fill, Rate, Replay, SendError, SendOptions, SendQueue, SourceError};
use tapline::{Expression, Filter};

use crate::args::SendArgs;
use crate::failure::{Exit, Failure};
use crate::names::SystemNames;
use crate::{privilege, signals};
use edit::Edit;
use progress::Progress;

pub fn run(args: &SendArgs) -> Result<Exit, Failure> {
    let source = source(args)?;
    if args.dry_run {
        return dry_run(args, source);
    }
    let mut sender = options(args)
        .open()
        .map_err(|error| failure(&error))?
        .stop_with(signals::stop()?);
    privilege::drop_unneeded(false)?;
    let progress = Progress::start(args, sender.live())?;
    let result = sender.run(source);
    drop(progress);
    let summary = sender.finish().map_err(|error| failure(&error))?;
    let shown = summary::show(args, &summary);
    // The failure of sending is reported before that of printing its summary.
    result.map_err(|error| failure(&error))?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    if summary.all_failed() > 0 {
        let line = format!("the kernel refused {} packets", summary.all_failed());
        return Err(Failure::new(Exit::Failed, line));
    }
    Ok(Exit::Done)
}

fn options(args: &SendArgs) -> SendOptions {
    tapline::send::send(&*args.interface)
        .rate(args.speed.map_or(args.rate, Rate::Recorded))
        .path(args.path)
        .long_frames(args.fit)
        .allow_uplink(args.yes_on_uplink)
        .packets(args.count.map(NonZeroU64::get))
}

/// The packets of the files, with the changes of the flags.
fn source(
    args: &SendArgs,
) -> Result<impl FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static, Failure> {
    let is_stdin = |path: &&std::path::PathBuf| path.as_os_str() == "-";
    if args.passes.get() > 1 && args.read.iter().any(|path| is_stdin(&path)) {
        let line = "standard input can be sent only once: --loop needs a file";
        return Err(Failure::new(Exit::Usage, line));
    }
    let filter = (!args.filter.is_empty()).then(|| args.filter.join(" "));
    if let Some(text) = &filter {
        tapline::filter::check_syntax(text)
            .map_err(|error| Failure::new(Exit::Usage, crate::failure::chain(&error)))?;
    }
    let files = args.read.clone();
    let open = move || {
        let mut builder = ReadBuilder::new();
        for path in &files {
            builder = add(builder, path)?;
        }
        if let Some(text) = &filter {
            let expression = Expression::new(text, Arc::new(SystemNames::new()));
            let Ok(filtered) = builder.filter(Filter::from(expression));
            builder = filtered;
        }
        Ok(builder.open()?)
    };
    let replay = Replay::new(open).repeat(args.passes);
    let edit = Edit::new(args);
    Ok(match edit {
        None => replay,
        Some(edit) => replay.edit(move |frame| edit.apply(frame)),
    }
    .into_source())
}

fn add(builder: ReadBuilder, path: &Path) -> std::io::Result<ReadBuilder> {
    if path.as_os_str() != "-" {
        return Ok(builder.file(path));
    }
    let stdin = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned()?;
    Ok(builder.stream("standard input", stdin))
}

/// Reads what would be sent.
fn dry_run(
    args: &SendArgs,
    mut source: impl FnMut(&mut SendQueue) -> Result<Fill, SourceError>,
) -> Result<Exit, Failure> {
    let mut plan = summary::Plan::default();
    let most = args.count.map_or(u64::MAX, NonZeroU64::get);
    let mut queue = SendQueue::default();
    loop {
        let fill = source(&mut queue).map_err(SendError::Source);
        let fill = fill.map_err(|error| failure(&error))?;
        for packet in queue.packets() {
            if plan.packets < most {
                plan.add(packet.bytes.len());
            }
        }
        queue.clear();
        if fill == Fill::End || plan.packets >= most {
            break;
        }
    }
    summary::show_plan(args, &plan)
        .map_err(|error| Failure::output("cannot print the plan", &error))?;
    Ok(Exit::Done)
}

fn failure(error: &SendError) -> Failure {
    let (exit, advice) = match error {
        SendError::Namespace(_) if error.is_privilege() => {
            (Exit::Privilege, " (needs CAP_SYS_ADMIN; run with sudo)")
        }
        _ if error.is_privilege() => (
            Exit::Privilege,
            " (needs CAP_NET_RAW; run with sudo or setcap)",
        ),
        SendError::Uplink { .. } => (Exit::Usage, "; give --yes-on-uplink to send on it"),
        SendError::TooLong { .. } => (Exit::Failed, "; use --fit truncate or --fit skip"),
        SendError::Link(error) if error.errno() == Some(19) => {
            (Exit::Failed, " ('ip link' lists the interfaces)")
        }
        _ => (Exit::Failed, ""),
    };
    let line = crate::failure::chain(error);
    Failure::new(exit, line + advice)
}
