//! `tapline capture`.

mod buffer;
mod cgroup;
mod command;
mod interfaces;
mod pipe;
mod readers;
mod recorder;
mod report;
mod setup;
mod sockets;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::thread::CapabilitySet;

use tapline::Stop;
use tapline::capture::{
    CaptureError, CaptureOptions, CaptureSummary, DeliveryMode, Ended, FileConsumer, FileControl,
    FileOwner, FollowedKeys, LiveCounters, Namespaces, OpenInterface, Recorder, RecorderTrigger,
    TimestampSource,
};
use tapline::control::directory;
use tapline::file::write::{CaptureFile, WriteError};
use tapline::who::{ProcessFinder, ProcessHelper};

use crate::args::CaptureArgs;
use crate::control::{self, Control, RunningControl};
use crate::failure::{Exit, Failure, chain, full_disk, is_closed_output};
use crate::metrics::{self, Server};
use crate::output::decoder::Decoder;
use crate::output::{self, Written};
use crate::packet_line::{LineOptions, Printer};
use crate::process::process_helper::RunningHelper;
use crate::process::{privilege, signals, user};
use crate::sandbox::{self, Enforced, Sandbox};
use buffer::BufferChoice;
use cgroup::Cgroup;
use readers::choice::ReaderChoice;
use readers::files;
use report::progress::{Progress, ProgressOnly};
use report::start;
use report::summary::Summary;

pub use readers::files::written;
pub use report::account::{account_line, lost_json};
pub use report::stamps;
pub use setup::{filter, refuse_misplaced};
pub use source::{ANY, Source, refused};

/// Files that the end of a capture reads and writes to restore an interface.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const INTERRUPTS: &str = "/proc/irq";

/// Advice if the disk is full.
const BOUND_FILES: &str = "free space, or bound the files with --rotate-size and --keep";

pub fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    setup::refuse_file(args)?;
    if let Some(url) = crate::rpcap::url(args)? {
        return crate::rpcap::run(args, &url);
    }
    if args.list_interfaces {
        return interfaces::list(args.json);
    }
    match pipe::as_read(args)? {
        Some(pipes) => crate::read::run(&pipes),
        None => capture(args),
    }
}

/// Captures from interfaces of this host.
fn capture(args: &CaptureArgs) -> Result<Exit, Failure> {
    let keys = setup::keys(args)?;
    let cgroup = args.own_sockets.then(Cgroup::create).transpose()?;
    let ports = cgroup.as_ref().map(Cgroup::ports).transpose()?;
    let buffer = BufferChoice::new(args);
    let options = setup::options(args, buffer)?.socket_ports(ports.map(Arc::new));
    let delivery = (options.delivery, options.spin);
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let namespaces = source::namespaces(&args.netns, &args.interface);
    let readers = ReaderChoice::new(args, &options)?;
    let (mut capture, readers) = open(options, namespaces, readers)?;
    let live = capture.live();
    let progress = Progress::new(args, live.clone())?;
    let helper = args.who.then(|| RunningHelper::start(args)).transpose()?;
    // The connection is dropped before the process that it ends.
    let (_helper, processes) = helper.unzip();
    let control = control_without_root(args, &mut capture, delivery, &live, &stop)?;
    let command = command::prepare(args, cgroup.as_ref())?;

    let start = Start {
        args,
        buffer,
        readers: &readers,
        stop: &stop,
        live,
        server,
        control,
        command,
        groups: cgroup.as_ref().map(Cgroup::parent),
    };

    let mut written = Written::default();
    let found = keys.as_ref().map(FollowedKeys::counts);
    let mut decoded = Ok(());
    let (running, control);
    let result = if let Some(path) = args
        .output
        .write
        .as_ref()
        .filter(|_| files::has_files(args))
    {
        let result;
        (result, written, (running, control)) = into_files(start, path, capture, progress)?;
        result
    } else if let (Some(path), Some(limit)) = (&args.output.write, args.record.record) {
        let recorder = recorder::open(args, limit, path, &capture)?;
        let controls = Controls {
            triggers: vec![recorder.trigger()],
            ..Controls::default()
        };
        (running, control) = start.begin(&capture, &written, controls, &progress)?;
        let mut consumer = progress.around(recorder);
        let result = capture.run_consumer(&mut consumer, &stop);
        written = recorder::written(std::slice::from_ref(consumer.inner()));
        result
    } else if let Some(path) = &args.output.write {
        let file = setup::file(args, path, &capture, keys)?;
        let made = Written::from(&file);
        let file = writer(args, file, path, &capture, processes)?;
        let controls = Controls {
            files: vec![file.control()],
            ..Controls::default()
        };
        (running, control) = start.begin(&capture, &made, controls, &progress)?;
        let mut consumer = progress.around(file);
        let result = into_file(args, capture, &mut consumer, &stop);
        written = files::written(std::slice::from_ref(consumer.inner()));
        result
    } else if args.print.decode.is_some() {
        let interfaces = capture.interfaces().to_vec();
        let (decoder, options) = Decoder::start(&args.print, args.sandbox, interfaces)?;
        let file = setup::create(options, &capture)?;
        (running, control) = start.begin(&capture, &written, Controls::default(), &progress)?;
        let mut consumer = progress.around(FileConsumer::new(file, Duration::ZERO));
        let result = capture.run_consumer(&mut consumer, &stop);
        drop(consumer);
        decoded = decoder.finish();
        result
    } else {
        let printer = printer(args, &capture, processes)?;
        (running, control) = start.begin(&capture, &written, Controls::default(), &progress)?;
        let mut consumer = progress.around(printer);
        let result = capture.run_consumer(&mut consumer, &stop);
        written.processes = consumer.inner().process_counts();
        result
    };
    written.keys = found;
    drop(control);
    let command = running.map_or(Ok(()), command::Running::finish);
    let result = summary(result)?;
    let shown = Summary {
        result: &result,
        written: &written,
        buffer,
        readers: &readers,
    }
    .show(args);
    // The failure of the capture is reported before that of printing its summary.
    let exit = finish(args, &result)?;
    shown.map_err(|error| Failure::output("cannot print the summary", &error))?;
    decoded.and(command)?;
    Ok(exit)
}

/// Opens the capture, with one reader where several that no flag asked for cannot be had.
fn open(
    options: CaptureOptions,
    namespaces: Option<Namespaces>,
    readers: ReaderChoice,
) -> Result<(Source, ReaderChoice), Failure> {
    if let Some(one) = readers.without_several() {
        let several = Source::open(
            options.clone(),
            namespaces.clone(),
            readers.readers.as_ref(),
        );
        return match several {
            Ok(capture) => Ok((capture, readers)),
            Err(_) => Ok((Source::open(options, namespaces, None)?, one)),
        };
    }
    let capture = Source::open(options, namespaces, readers.readers.as_ref())?;
    Ok((capture, readers))
}

/// Opens the control socket, and gives up what neither the capture nor its changes need.
fn control_without_root(
    args: &CaptureArgs,
    capture: &mut Source,
    delivery: (DeliveryMode, Duration),
    live: &LiveCounters,
    stop: &Stop,
) -> Result<Option<Control>, Failure> {
    let socket = control::socket(args)?;
    let mut needed = privilege::to_capture_anywhere();
    needed.set(privilege::ANY_FILE, args.output.write.is_some());
    user::leave(&args.user, needed)?;
    let followed = capture.follow();
    followed.map_err(|error| Failure::job_on("cannot follow interfaces", &error))?;
    let opened = socket.map(|socket| Control::open(args, socket, capture, delivery, live, stop));
    let opened = opened.transpose();
    opened.map_err(|error| Failure::job_on("cannot start the thread of changes", &error))
}

/// Captures into the file of `consumer`. Several readers encode packets themselves, unless their processes are to be found.
fn into_file<C: FileOwner>(
    args: &CaptureArgs,
    capture: Source,
    consumer: &mut C,
    stop: &Stop,
) -> Result<CaptureSummary, CaptureError> {
    if args.who {
        capture.run_consumer(consumer, stop)
    } else {
        capture.run_file(consumer, stop)
    }
}

/// The result of a capture, the files that it wrote, and the command and the control server that ran beside it.
type FinishedCapture = (
    Result<CaptureSummary, CaptureError>,
    Written,
    (Option<command::Running>, Option<RunningControl>),
);

/// Captures into a file, or a flight recorder, for each reader.
fn into_files(
    start: Start<'_>,
    path: &Path,
    capture: Source,
    progress: Progress,
) -> Result<FinishedCapture, Failure> {
    let (args, stop) = (start.args, start.stop);
    if let Some(limit) = args.record.record {
        let mut recorders = recorder::for_readers(args, limit, path, &capture)?;
        let controls = Controls {
            triggers: recorders.iter().map(Recorder::trigger).collect(),
            ..Controls::default()
        };
        let beside = start.begin(&capture, &Written::default(), controls, &progress)?;
        let result = capture.run_files(&mut recorders, &mut progress.around(ProgressOnly), stop);
        return Ok((result, recorder::written(&recorders), beside));
    }
    let mut files = files::files(args, path, &capture, flush(args, path))?;
    let made = files::written(&files);
    let controls = Controls {
        files: files.iter().map(FileConsumer::control).collect(),
        ..Controls::default()
    };
    let beside = start.begin(&capture, &made, controls, &progress)?;
    let result = capture.run_files(&mut files, &mut progress.around(ProgressOnly), stop);
    Ok((result, files::written(&files), beside))
}

/// After how long buffered packets are written while no packet waits.
pub fn flush(args: &CaptureArgs, path: &Path) -> Duration {
    if output::is_stdout(path) || args.packet_buffered {
        Duration::ZERO
    } else {
        Duration::from_secs(1)
    }
}

/// The summary of a capture that ran, whether it failed or not.
pub fn summary(result: Result<CaptureSummary, CaptureError>) -> Result<CaptureSummary, Failure> {
    (result.or_else(CaptureError::into_summary)).map_err(Failure::from)
}

/// What the control socket controls besides the capture.
#[derive(Default)]
struct Controls {
    files: Vec<FileControl>,
    triggers: Vec<RecorderTrigger>,
}

/// What starts together with the reader.
struct Start<'r> {
    args: &'r CaptureArgs,
    buffer: BufferChoice,
    readers: &'r ReaderChoice,
    stop: &'r Stop,
    live: LiveCounters,
    server: Option<Server>,
    control: Option<Control>,
    command: Option<command::Prepared<'r>>,
    /// The directory from which the end removes a control group.
    groups: Option<PathBuf>,
}

impl Start<'_> {
    /// Capabilities that the reading thread keeps.
    fn needed(&self, capture: &Source) -> CapabilitySet {
        let counts = |link: &OpenInterface<'_>| link.filter.is_some() || link.xdp_mode.is_some();
        let links = capture.links();
        // Interfaces that come up may have filters that count.
        let counts = self.args.sample.is_some() || capture.is_hotplug() || links.iter().any(counts);
        let mut needed = privilege::to_count(counts);
        // The directory of control groups can be read only, also for root.
        let removes_group = self.args.own_sockets;
        needed.set(privilege::ANY_FILE, makes_files(self.args) || removes_group);
        let restores = restores_settings(self.args, capture);
        needed.set(CapabilitySet::NET_ADMIN, restores);
        needed
    }

    /// The last steps before packets are read: drops privileges, starts the metrics server, restricts this thread, reports
    /// the start, starts the command, and the control of the capture and its file.
    fn begin(
        self,
        capture: &Source,
        written: &Written,
        Controls { files, triggers }: Controls,
        progress: &Progress,
    ) -> Result<(Option<command::Running>, Option<RunningControl>), Failure> {
        privilege::drop_all_but(self.needed(capture))?;
        let wait = |command: command::Prepared<'_>| command.wait(self.stop, self.args.sandbox);
        let command = self.command.map(wait).transpose()?;
        let url = self.server.as_ref().map(Server::url);
        if let Some(server) = self.server {
            let live = self.live;
            let families = move || metrics::capture_families(&live.accounts());
            server.serve(self.args.sandbox, families)?;
        }
        let enforced = restrict(self.args, capture, self.groups)?;
        let socket = self.control.as_ref().and_then(Control::path);
        let details = start::StartDetails {
            metrics: url.as_deref(),
            control: socket.as_deref(),
            enforced,
        };
        let shown = start::show(
            self.args,
            (self.buffer, self.readers),
            capture,
            written,
            details,
        );
        shown.map_err(|error| Failure::stdout(&error))?;
        progress.ready();
        let command = command.map(command::Waiting::begin).transpose()?;
        let serve = |control: Control| control.serve(files, triggers);
        match self.control.map(serve).transpose() {
            Ok(control) => Ok((command, control)),
            Err(error) => {
                // The command does not outlive the capture; what counts is the first failure.
                let _ = command.map(command::Running::finish);
                Err(Failure::job_on("cannot serve the control socket", &error))
            }
        }
    }
}

/// Whether the end restores which packets an interface stamps, and settings of its device: of one that is captured, or of one
/// that comes up or that `tapline ctl add` adds later.
fn restores_settings(args: &CaptureArgs, capture: &Source) -> bool {
    let may_join = capture.is_hotplug() || !args.no_control;
    let may_stamp_others = may_join && args.timestamp.source == TimestampSource::Hardware;
    may_stamp_others || capture.links().iter().any(|link| link.restores_settings)
}

/// Whether files are created while packets are read: the first one is open before, others follow only then.
fn makes_files(args: &CaptureArgs) -> bool {
    output::rotation(&args.output).is_any() || args.record.record.is_some()
}

/// Leaves the capture what it still needs: its output, its control socket, and what the end restores. Interfaces that come
/// later are opened by other threads.
fn restrict(
    args: &CaptureArgs,
    capture: &Source,
    groups: Option<PathBuf>,
) -> Result<Enforced, Failure> {
    let makes_files = makes_files(args);
    let mut sandbox =
        Sandbox::new(&sandbox::CAPTURE).write(args.output.write.as_deref().filter(|_| makes_files));
    let prints = args.output.write.is_none() && !args.json;
    sandbox = sandbox.local_time(prints || makes_files);
    let restores = restores_settings(args, capture) || args.readers.cpus.is_some();
    if restores {
        sandbox = sandbox.read(BOOT_ID).write_in(INTERRUPTS.into());
    }
    // An interface is restored over a socket. A filter that `tapline ctl` sets may name hosts; which interface has come up is
    // looked up to find processes.
    let asks = !args.no_control || (capture.is_hotplug() && args.who);
    sandbox = sandbox.open_sockets(restores || asks);
    let directories = args.readers.stripe.iter().cloned().chain(directory().ok());
    sandbox = directories.fold(sandbox, Sandbox::write_in);
    sandbox = groups.into_iter().fold(sandbox, Sandbox::remove_from);
    sandbox.enter(args.sandbox, args.quiet)
}

/// Writes packets to `file`, with what else is wanted about them.
fn writer(
    args: &CaptureArgs,
    file: CaptureFile,
    path: &Path,
    capture: &Source,
    processes: Option<ProcessHelper>,
) -> Result<FileConsumer, Failure> {
    let mut file = FileConsumer::new(file, flush(args, path));
    if let Some(finder) = finder(capture, processes)? {
        file.find_processes(finder);
    }
    if args.packet_id {
        file.identify_packets(capture.interfaces());
    }
    Ok(file)
}

/// Prints packets, with their processes if they are wanted.
fn printer(
    args: &CaptureArgs,
    capture: &Source,
    processes: Option<ProcessHelper>,
) -> Result<Printer, Failure> {
    let mut printer = Printer::new(args.json, LineOptions::from(&args.print));
    for interface in capture.interfaces() {
        printer.add_interface(interface);
    }
    if let Some(finder) = finder(capture, processes)? {
        printer.find_processes(finder);
    }
    Ok(printer)
}

/// Finds the processes of packets, if they are wanted.
fn finder(
    capture: &Source,
    processes: Option<ProcessHelper>,
) -> Result<Option<ProcessFinder>, Failure> {
    let open = |helper| ProcessFinder::open_with(helper, capture.interfaces());
    let finder = processes.map(open).transpose();
    finder.map_err(|error| Failure::new(Exit::Unsupported, chain(&error)))
}

/// The exit status, or the failure that ended the capture.
fn finish(args: &CaptureArgs, summary: &CaptureSummary) -> Result<Exit, Failure> {
    ended(&summary.ended)?;
    let lost = summary.account.lost.total();
    let all = summary.account.delivered + summary.account.filtered.unwrap_or(0) + lost;
    within_limit(args, lost, all)
}

/// The exit status, unless more packets were lost than `--fail-loss` allows.
pub fn within_limit(args: &CaptureArgs, lost: u64, all: u64) -> Result<Exit, Failure> {
    match args.fail_loss {
        Some(limit) if limit.is_exceeded(lost, all) => Err(Failure::new(
            Exit::Failed,
            format!("lost {lost} of {all} packets, more than --fail-loss allows"),
        )),
        _ => Ok(Exit::Done),
    }
}

/// The failure of what takes the packets. That standard output was closed is none.
pub fn consumer_failed(error: &(dyn std::error::Error + 'static)) -> Result<(), Failure> {
    if is_closed_output(error) {
        return Ok(());
    }
    let full = error.downcast_ref::<WriteError>();
    let advice = full.and_then(|error| full_disk(error, BOUND_FILES));
    let advice = advice.map_or_else(String::new, |advice| format!(" ({advice})"));
    Err(Failure::new(Exit::Failed, chain(error) + &advice))
}

/// The failure that ended a capture, if one did.
pub fn ended(ended: &Ended) -> Result<(), Failure> {
    let failed = |line: String| Err(Failure::new(Exit::Failed, line));
    match ended {
        Ended::LinkDown { link } => failed(format!("interface {link} went down")),
        Ended::NamespaceRemoved => failed("the network namespace was deleted".to_owned()),
        Ended::LinkRemoved { link } => failed(format!("interface {link} was removed")),
        Ended::Consumer(error) => consumer_failed(&**error),
        Ended::Wait(error) => Err(Failure::job_on("cannot wait for packets", error)),
        _ => Ok(()),
    }
}
