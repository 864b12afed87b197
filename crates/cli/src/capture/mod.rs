//! `tapline capture`.

mod interfaces;
mod progress;
mod setup;
mod sockets;
mod start;
mod summary;

use std::time::Duration;

use tapline::capture::{
    Capture, CaptureError, CaptureOptions, CaptureSummary, Ended, FileConsumer, LiveCounters,
    OpenInterface,
};

use crate::args::CaptureArgs;
use crate::decoder::Decoder;
use crate::failure::{Exit, Failure, chain, is_closed_output};
use crate::metrics::{self, Server};
use crate::output::{self, Written};
use crate::packet_line::{LineOptions, Printer};
use crate::{privilege, signals};
use progress::Progress;
use summary::Summary;

pub use setup::refuse_misplaced;
pub use summary::{account_line, lost_json};

pub fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    setup::refuse_file(args)?;
    if args.list_interfaces {
        return interfaces::list(args.json);
    }
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
    let result = if let Some(path) = &args.output.write {
        let file = setup::file(args, path, &capture)?;
        begin(args, &capture, &Written::from(&file), live, server)?;
        let to_pipe = output::is_stdout(path);
        let flush = if to_pipe || args.packet_buffered {
            Duration::ZERO
        } else {
            Duration::from_secs(1)
        };
        let mut consumer = progress.around(FileConsumer::new(file, flush));
        let result = capture.run_consumer(&mut consumer, &stop);
        let file = consumer.inner();
        written = Written {
            packets: file.packets_written(),
            bytes: file.bytes_written(),
            files: file.paths(),
        };
        result
    } else if args.print.decode.is_some() {
        let (decoder, options) = Decoder::start(&args.print, capture.interfaces().to_vec())?;
        let file = setup::create(options, &capture)?;
        begin(args, &capture, &written, live, server)?;
        let mut consumer = progress.around(FileConsumer::new(file, Duration::ZERO));
        let result = capture.run_consumer(&mut consumer, &stop);
        drop(consumer);
        decoder.finish()?;
        result
    } else {
        begin(args, &capture, &written, live, server)?;
        let mut printer = Printer::new(args.json, LineOptions::from(&args.print));
        for interface in capture.interfaces() {
            printer.add_interface(interface);
        }
        let mut consumer = progress.around(printer);
        capture.run_consumer(&mut consumer, &stop)
    };
    let result = summary(result)?;
    let shown = Summary {
        result: &result,
        written: &written,
        backend,
    }
    .show(args);
    // The failure of the capture is reported before that of printing its summary.
    let exit = finish(args, &result)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    Ok(exit)
}

/// Opens a capture and prints the warnings about its filter.
pub fn open(options: CaptureOptions) -> Result<Capture, Failure> {
    let text = options.filter.as_ref().and_then(|filter| filter.text());
    let text = text.unwrap_or_default().to_owned();
    let capture = options.open().map_err(|error| refused(&text, error))?;
    crate::filter::warn(&text, capture.filter_warnings());
    Ok(capture)
}

/// Why a capture with filter `text` cannot be opened. Errors in the filter are shown with their position.
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

/// The summary of a capture that ran, whether it failed or not.
pub fn summary(result: Result<CaptureSummary, CaptureError>) -> Result<CaptureSummary, Failure> {
    (result.or_else(CaptureError::into_summary)).map_err(Failure::from)
}

/// The last steps before packets are read: drops privileges, starts the metrics server, prints the start.
fn begin(
    args: &CaptureArgs,
    capture: &Capture,
    written: &Written,
    live: LiveCounters,
    server: Option<Server>,
) -> Result<(), Failure> {
    let counts = |link: OpenInterface<'_>| link.filter.is_some() || link.xdp_mode.is_some();
    privilege::drop_unneeded(args.sample.is_some() || capture.links().any(counts))?;
    let url = server.as_ref().map(Server::url);
    if let Some(server) = server {
        server.serve(move || metrics::capture_families(&live.accounts()))?;
    }
    start::show(args, capture, written, url.as_deref()).map_err(|error| Failure::stdout(&error))
}

/// The exit status, or the failure that ended the capture.
fn finish(args: &CaptureArgs, summary: &CaptureSummary) -> Result<Exit, Failure> {
    ended(&summary.ended)?;
    let lost = summary.account.lost.total();
    let all = summary.account.delivered + summary.account.filtered.unwrap_or(0) + lost;
    match args.fail_loss {
        Some(limit) if limit.is_exceeded(lost, all) => Err(Failure::new(
            Exit::Failed,
            format!("lost {lost} of {all} packets, more than --fail-loss allows"),
        )),
        _ => Ok(Exit::Done),
    }
}

/// The failure that ended a capture, if one did.
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
