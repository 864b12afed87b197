//! `tapline capture`.

mod command;
mod interfaces;
mod pipe;
mod progress;
mod recorder;
mod setup;
mod sockets;
mod source;
mod stamps;
mod start;
mod summary;

use std::time::Duration;

use rustix::thread::CapabilitySet;

use tapline::capture::{
    CaptureError, CaptureSummary, Ended, FileConsumer, FileControl, LiveCounters, OpenInterface,
    RecorderTrigger,
};
use tapline::file::write::WriteError;

use crate::args::CaptureArgs;
use crate::control::{Control, RunningControl};
use crate::decoder::Decoder;
use crate::failure::{Exit, Failure, chain, full_disk, is_closed_output};
use crate::metrics::{self, Server};
use crate::output::{self, Written};
use crate::packet_line::{LineOptions, Printer};
use crate::{privilege, signals};
use progress::Progress;
use summary::Summary;

pub use setup::refuse_misplaced;
pub use source::{Source, refused};
pub use summary::{account_line, lost_json};

/// Advice if the disk is full.
const BOUND_FILES: &str = "free space, or bound the files with --rotate-size and --keep";

pub fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    setup::refuse_file(args)?;
    if args.list_interfaces {
        return interfaces::list(args.json);
    }
    if let Some(pipes) = pipe::as_read(args)? {
        return crate::read::run(&pipes);
    }
    let options = setup::options(args)?;
    let delivery = (options.delivery, options.spin);
    let stop = signals::stop()?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let namespaces = source::namespaces(&args.netns, &args.interface);
    let mut capture = Source::open(options, namespaces)?;
    let live = capture.live();
    let progress = Progress::new(args, live.clone())?;
    let control = Control::open(args, &mut capture, delivery, &live, &stop)?;
    let command = command::prepare(args)?;

    let mut written = Written::default();
    let mut decoded = Ok(());
    let running;
    let result = if let (Some(path), Some(limit)) = (&args.output.write, args.record.record) {
        let recorder = recorder::open(args, limit, path, &capture)?;
        let controls = Controls {
            trigger: Some(recorder.trigger()),
            ..Controls::from(control)
        };
        let _control = begin(args, &capture, &written, live, server, controls)?;
        progress.ready();
        running = command.map(|command| command.start(&stop)).transpose()?;
        let mut consumer = progress.around(recorder);
        let result = capture.run_consumer(&mut consumer, &stop);
        let recorder = consumer.inner();
        written = Written {
            packets: recorder.packets_written(),
            bytes: recorder.bytes_written(),
            files: recorder.files().to_vec(),
        };
        result
    } else if let Some(path) = &args.output.write {
        let file = setup::file(args, path, &capture)?;
        let made = Written::from(&file);
        let to_pipe = output::is_stdout(path);
        let flush = if to_pipe || args.packet_buffered {
            Duration::ZERO
        } else {
            Duration::from_secs(1)
        };
        let file = FileConsumer::new(file, flush);
        let controls = Controls {
            file: Some(file.control()),
            ..Controls::from(control)
        };
        let _control = begin(args, &capture, &made, live, server, controls)?;
        progress.ready();
        running = command.map(|command| command.start(&stop)).transpose()?;
        let mut consumer = progress.around(file);
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
        let _control = begin(args, &capture, &written, live, server, control.into())?;
        progress.ready();
        running = command.map(|command| command.start(&stop)).transpose()?;
        let mut consumer = progress.around(FileConsumer::new(file, Duration::ZERO));
        let result = capture.run_consumer(&mut consumer, &stop);
        drop(consumer);
        decoded = decoder.finish();
        result
    } else {
        let _control = begin(args, &capture, &written, live, server, control.into())?;
        progress.ready();
        running = command.map(|command| command.start(&stop)).transpose()?;
        let mut printer = Printer::new(args.json, LineOptions::from(&args.print));
        for interface in capture.interfaces() {
            printer.add_interface(interface);
        }
        let mut consumer = progress.around(printer);
        capture.run_consumer(&mut consumer, &stop)
    };
    let command = running.map_or(Ok(()), command::Running::finish);
    let result = summary(result)?;
    let shown = Summary {
        result: &result,
        written: &written,
    }
    .show(args);
    // The failure of the capture is reported before that of printing its summary.
    let exit = finish(args, &result)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    decoded.and(command)?;
    Ok(exit)
}

/// The summary of a capture that ran, whether it failed or not.
pub fn summary(result: Result<CaptureSummary, CaptureError>) -> Result<CaptureSummary, Failure> {
    (result.or_else(CaptureError::into_summary)).map_err(Failure::from)
}

/// The control socket, and what it controls besides the capture.
struct Controls {
    control: Option<Control>,
    file: Option<FileControl>,
    trigger: Option<RecorderTrigger>,
}

impl From<Option<Control>> for Controls {
    fn from(control: Option<Control>) -> Self {
        Self {
            control,
            file: None,
            trigger: None,
        }
    }
}

/// The last steps before packets are read: drops privileges, starts the metrics server and the control of the
/// capture and its file, and reports the start.
fn begin(
    args: &CaptureArgs,
    capture: &Source,
    written: &Written,
    live: LiveCounters,
    server: Option<Server>,
    controls: Controls,
) -> Result<Option<RunningControl>, Failure> {
    if capture.is_group() {
        privilege::drop_all_but(privilege::TO_CAPTURE_ANYWHERE)?;
    } else {
        let counts = |link: &OpenInterface<'_>| link.filter.is_some() || link.xdp_mode.is_some();
        let links = capture.links();
        let counts = args.sample.is_some() || links.iter().any(counts);
        let mut needed = privilege::to_read(counts);
        // The end restores which packets the interface stamps.
        let restores = links.iter().any(|link| link.restores_stamping);
        needed.set(CapabilitySet::NET_ADMIN, restores);
        privilege::drop_all_but(needed)?;
    }
    let url = server.as_ref().map(Server::url);
    if let Some(server) = server {
        server.serve(move || metrics::capture_families(&live.accounts()))?;
    }
    let Controls {
        control,
        file,
        trigger,
    } = controls;
    let socket = control.as_ref().and_then(Control::path);
    let serve = |control: Control| control.serve(file, trigger, written.names());
    let control = control.map(serve).transpose()?;
    let places = start::Places {
        metrics: url.as_deref(),
        control: socket.as_deref(),
    };
    start::show(args, capture, written, places).map_err(|error| Failure::stdout(&error))?;
    Ok(control)
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
        Ended::NamespaceRemoved => failed("the network namespace was deleted".to_owned()),
        Ended::LinkRemoved { link } => failed(format!("interface {link} was removed")),
        Ended::Consumer(error) if is_closed_output(&**error) => Ok(()),
        Ended::Consumer(error) => {
            let full = error.downcast_ref::<WriteError>();
            let advice = full.and_then(|error| full_disk(error, BOUND_FILES));
            let advice = advice.map_or_else(String::new, |advice| format!(" ({advice})"));
            failed(chain(&**error) + &advice)
        }
        Ended::Wait(error) => Err(Failure::job_on("cannot wait for packets", error)),
        _ => Ok(()),
    }
}
