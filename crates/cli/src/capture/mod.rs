//! `tapline capture`.

mod printer;
mod progress;
mod setup;
mod sockets;
mod start;
mod summary;

use std::time::Duration;

use tapline::capture::{
    Capture, CaptureError, Ended, FileConsumer, Filter, Live, OpenLink, Options, Outcome,
};

use crate::args::CaptureArgs;
use crate::failure::{Exit, Failure, chain, is_closed_output};
use crate::line::Printer;
use crate::metrics::{self, Server};
use crate::output::{self, Written};
use crate::{privilege, signals};
use progress::Progress;
use summary::Summary;

pub use setup::refuse_misplaced;
pub use summary::{account_line, lost_json};

pub fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    let options = setup::options(args)?;
    let stop = signals::stop()?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let mut capture = open(options)?;
    let backend = capture
        .links()
        .next()
        .map_or("", |link| link.backend.name());
    let live = capture.live();
    let progress = Progress::new(args, live.clone());

    let mut written = Written::default();
    let outcome = if let Some(path) = &args.output.write {
        let file = setup::file(args, path, &capture)?;
        begin(args, &capture, &Written::from(&file), live, server)?;
        let to_pipe = output::is_stdout(path);
        let flush = if to_pipe {
            Duration::ZERO
        } else {
            Duration::from_secs(1)
        };
        let mut consumer = progress.around(FileConsumer::new(file, flush));
        let outcome = capture.run(&mut consumer, &stop);
        let file = consumer.inner();
        written = Written {
            packets: file.packets_written(),
            bytes: file.bytes_written(),
            files: file.paths(),
        };
        outcome
    } else {
        begin(args, &capture, &written, live, server)?;
        let mut printer = Printer::new(args.json);
        for interface in capture.interfaces() {
            printer.add_interface(interface);
        }
        let mut consumer = progress.around(printer);
        capture.run(&mut consumer, &stop)
    };
    let summary = Summary {
        outcome: &outcome,
        written: &written,
        backend,
    };
    let shown = summary.show(args);
    // Why the capture failed comes before that it could not be told.
    let exit = finish(args, &outcome)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    Ok(exit)
}

/// Where the filter is wrong, or means what its reader may not expect, its place is shown.
pub fn open(options: Options) -> Result<Capture, Failure> {
    let text = match &options.filter {
        Some(Filter::Expression(expression)) => expression.text.clone(),
        _ => String::new(),
    };
    let capture = Capture::open(options).map_err(|error| refused(&text, error))?;
    crate::filter::warn(&text, capture.filter_warnings());
    Ok(capture)
}

/// Why a capture with filter `text` could not be opened; where the filter is wrong its place is shown.
pub fn refused(text: &str, error: CaptureError) -> Failure {
    let below = match &error {
        CaptureError::Filter { error, .. } => crate::filter::shown(text, error),
        _ => String::new(),
    };
    Failure {
        below,
        ..error.into()
    }
}

/// The last steps before packets are handled: no privilege is needed any more, and all is ready.
fn begin(
    args: &CaptureArgs,
    capture: &Capture,
    written: &Written,
    live: Live,
    server: Option<Server>,
) -> Result<(), Failure> {
    let counts = |link: OpenLink<'_>| link.filter.is_some() || link.xdp_mode.is_some();
    privilege::drop_unneeded(args.sample.is_some() || capture.links().any(counts))?;
    let url = server.as_ref().map(Server::url);
    if let Some(server) = server {
        server.serve(move || metrics::capture_families(&live.accounts()))?;
    }
    start::show(args, capture, written, url.as_deref()).map_err(|error| Failure::stdout(&error))
}

/// Exit status, and the line for a capture that did not end by itself.
fn finish(args: &CaptureArgs, outcome: &Outcome) -> Result<Exit, Failure> {
    ended(&outcome.ended)?;
    let lost = outcome.account.lost.total();
    let all = outcome.account.delivered + outcome.account.filtered.unwrap_or(0) + lost;
    match args.fail_loss {
        Some(limit) if limit.is_exceeded(lost, all) => Err(Failure::new(
            Exit::Failed,
            format!("lost {lost} of {all} packets, more than --fail-loss allows"),
        )),
        _ => Ok(Exit::Done),
    }
}

/// The line for a capture that was not to end so.
pub fn ended(ended: &Ended) -> Result<(), Failure> {
    let failed = |line: String| Err(Failure::new(Exit::Failed, line));
    match ended {
        Ended::LinkDown { link } => failed(format!("interface {link} went down")),
        Ended::LinkRemoved { link } => failed(format!("interface {link} was removed")),
        Ended::Consumer(error) if is_closed_output(&**error) => Ok(()),
        Ended::Consumer(error) => failed(chain(&**error)),
        Ended::Wait(error) => Err(Failure::job_on("cannot wait for packets", error)),
        _ => Ok(()),
    }
}
