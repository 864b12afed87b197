//! Reads the packets and runs the meter.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tapline::capture::{CaptureOptions, DeliveryMode};
use tapline::filter::SystemNames;
use tapline::flows::{FlowAccount, FlowMeter, FlowTable, TableOptions};
use tapline::read::ReadError;
use tapline::{Expression, Filter};

use super::ipfix::{Collector, Rates, Sent};
use super::outputs::{Output, Outputs};
use super::print::Printer;
use super::summary::{self, Ended, Origin};
use crate::args::{AUTO_BYTES, ColumnFormat, FlowsArgs};
use crate::capture;
use crate::columns::{ColumnFlags, ColumnOutput};
use crate::failure::{Exit, Failure, chain};
use crate::filter::filter_file;
use crate::metrics::{Counters, LatestMetrics, Server, capture_families, read_families};
use crate::object_storage::WhenFull;
use crate::output::{self, json};
use crate::process::{privilege, signals, user};
use crate::read::{self, Arguments};
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;

/// How often flows are looked for whose time has come, and metrics are renewed.
const TICK: Duration = Duration::from_millis(500);

/// How long packets gather in the ring, at most. A wake-up costs as much as many packets.
const GATHER: Duration = Duration::from_millis(100);

pub fn run(args: &FlowsArgs) -> Result<Exit, Failure> {
    if args.interface.is_empty() {
        run_files(args)
    } else {
        run_capture(args)
    }
}

fn table(args: &FlowsArgs) -> TableOptions {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    TableOptions {
        max_flows: args.max_flows,
        idle_ns: ns(args.idle),
        active_ns: ns(args.active),
        ..TableOptions::default()
    }
}

fn run_files(args: &FlowsArgs) -> Result<Exit, Failure> {
    if args.words.is_empty() {
        let line = "flows of what? Name capture files, or an interface with -i";
        return Err(Failure::new(Exit::Usage, line));
    }
    let arguments = Arguments::of(&args.words, &args.filter, args.filter_file.as_deref())?;
    let mut builder = arguments.inputs()?;
    if let Some(packets) = args.count {
        builder = builder.count(packets);
    }
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let mut columns = columns(args, arguments.when_full())?;
    let mut outputs = outputs(args, Rates::of_files(args.ipfix_rate))?;
    read::raise_descriptor_limit();
    let failure = |error: &ReadError| read::failure(error, &arguments);
    let mut job = builder.stop(stop).open().map_err(|error| failure(&error))?;
    let needed = output::needed_capabilities(args.write.as_deref());
    user::leave(&args.user, needed)?;
    let files = arguments.files.iter();
    let calls = columns
        .as_ref()
        .map_or(&sandbox::READ, |_| &sandbox::COLUMNS);
    let mut sandbox = files.fold(Sandbox::new(calls), Sandbox::read);
    sandbox = sandbox.local_time(prints_text(args));
    if let Some(columns) = &mut columns {
        columns.start(args.sandbox)?;
        outputs.columns = Some(Output::new(columns.flows()?));
        sandbox = columns.allow(sandbox);
    }
    let mut printer = Printer::new(args, outputs);
    if let Some(server) = server {
        let url = server.url();
        let progress = job.progress();
        let read: Counters = Box::new(move || read_families(&progress));
        let uploads = columns.as_ref().and_then(ColumnOutput::counters);
        printer.publish_to(serve(args, server, read, uploads)?);
        read::print_metrics_url(&url, args.json, args.quiet)
            .map_err(|error| Failure::stdout(&error))?;
    }
    sandbox.enter(args.sandbox, args.quiet)?;
    let mut meter = meter(args, printer)?;
    let result = job.run_consumer(&mut meter);
    let (broken, failed) = match result {
        Err(ReadError::Incomplete(broken)) => (broken.0, None),
        Err(error) => (Vec::new(), Some(failure(&error))),
        Ok(()) => (Vec::new(), None),
    };
    let failed = match &mut columns {
        Some(columns) => columns.finish(failed),
        None => failed,
    };
    let origin = job.summary();
    let account = *meter.account();
    let ended = Ended {
        args,
        account: &account,
        outputs: meter.sink().outputs(),
        columns: columns.as_ref(),
    };
    let shown = match &failed {
        Some(failure) if failure.is_closed() => Ok(()),
        _ => summary::show(&ended, &Origin::Files(&origin)),
    };
    // The failure of the job is reported before that of printing its summary.
    failed.map_or(Ok(()), Err)?;
    shown.map_err(|error| Failure::stdout(&error))?;
    read::fail_if_broken(broken.iter().map(|error| chain(error)).collect())
}

/// Whether flows are printed with their local time.
fn prints_text(args: &FlowsArgs) -> bool {
    !args.json && !args.csv
}

/// Opens the connection to a collector, which the sandbox would not allow later.
fn outputs(args: &FlowsArgs, rates: Rates) -> Result<Outputs, Failure> {
    let collector = args.ipfix.as_ref();
    let collector = collector.map(|to| Collector::open(to, args.ipfix_domain, rates));
    let collector = collector.transpose()?;
    Ok(Outputs {
        collector: collector.map(Output::new),
        ..Outputs::default()
    })
}

/// The columns that the flags ask for, if they do.
fn columns(args: &FlowsArgs, when_full: WhenFull) -> Result<Option<ColumnOutput>, Failure> {
    let Some(path) = &args.write else {
        return Ok(None);
    };
    let usual = if args.partition.partition.is_some() {
        Some(ColumnFormat::Parquet)
    } else if output::is_stdout(path) {
        Some(ColumnFormat::Arrow)
    } else {
        ColumnFormat::by_name(path)
    };
    let Some(format) = args.format.or(usual) else {
        let line = format!(
            "in which format is {} to be? Use a name that ends in .parquet or .arrows, or --format",
            path.display()
        );
        return Err(Failure::new(Exit::Usage, line));
    };
    let prints = args.json || args.csv;
    let flags = ColumnFlags {
        format,
        path,
        partition: &args.partition,
        rotate_interval: args.rotate_interval,
        spool: &args.spool,
        when_full,
        prints_json: prints,
    };
    ColumnOutput::new(&flags).map(Some)
}

fn meter(args: &FlowsArgs, mut printer: Printer) -> Result<FlowMeter<Printer>, Failure> {
    if args.csv {
        printer.heading();
    }
    FlowMeter::new(&table(args), printer)
        .map_err(|error| Failure::job_on("cannot measure flows", &error))
}

fn run_capture(args: &FlowsArgs) -> Result<Exit, Failure> {
    if args.interface.iter().any(|name| name == capture::ANY) {
        let line = "flows has no -i any (name the interfaces, or pipe 'tapline capture -i any -w -' into 'tapline flows -')";
        return Err(Failure::new(Exit::Usage, line));
    }
    let text = filter(args)?;
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let mut columns = columns(args, WhenFull::GiveUp)?;
    let mut outputs = outputs(args, Rates::of_capture(args.ipfix_rate))?;
    let mut capture = options(args, text.as_deref())
        .open()
        .map_err(|error| capture::refused(text.as_deref().unwrap_or_default(), error))?;
    crate::filter::warn(
        text.as_deref().unwrap_or_default(),
        capture.filter_warnings(),
    );
    if let Some(output) = &mut outputs.collector {
        let indexes = capture.links().map(|opened| opened.link.index);
        output.sink_mut().set_if_indexes(indexes.collect());
    }
    let mut needed = privilege::to_count(text.is_some());
    needed |= output::needed_capabilities(args.write.as_deref());
    user::leave(&args.user, needed)?;
    if let Some(output) = &mut outputs.collector {
        output.sink_mut().reconnect(args.sandbox)?;
    }
    let mut sandbox = Sandbox::new(
        columns
            .as_ref()
            .map_or(&sandbox::CAPTURE, |_| &sandbox::FLOWS),
    )
    .local_time(prints_text(args));
    if let Some(columns) = &mut columns {
        columns.start(args.sandbox)?;
        outputs.columns = Some(Output::new(columns.flows()?));
        sandbox = columns.allow(sandbox);
    }
    let mut printer = Printer::new(args, outputs);
    let url = server.as_ref().map(Server::url);
    if let Some(server) = server {
        let live = capture.live();
        let captured: Counters = Box::new(move || capture_families(&live.accounts()));
        let uploads = columns.as_ref().and_then(ColumnOutput::counters);
        printer.publish_to(serve(args, server, captured, uploads)?);
    }
    sandbox.enter(args.sandbox, args.quiet)?;
    show_start(args, columns.as_ref(), url.as_deref()).map_err(|error| Failure::stdout(&error))?;
    let mut meter = meter(args, printer)?;
    for interface in capture.interfaces() {
        meter
            .add_interface(interface)
            .map_err(|error| Failure::job(&*error))?;
    }
    let summary = capture::summary(capture.run_consumer(&mut meter, &stop))?;
    let not_uploaded = columns.as_mut().and_then(|columns| columns.finish(None));
    let account = *meter.account();
    let ended = Ended {
        args,
        account: &account,
        outputs: meter.sink().outputs(),
        columns: columns.as_ref(),
    };
    let shown = summary::show(&ended, &Origin::Capture(&summary));
    // The failure of the capture is reported before that of printing its summary.
    capture::ended(&summary.ended)?;
    shown.map_err(|error| Failure::stdout(&error))?;
    not_uploaded.map_or(Ok(()), Err)?;
    Ok(Exit::Done)
}

/// The filter of a capture.
fn filter(args: &FlowsArgs) -> Result<Option<String>, Failure> {
    if let Some(path) = &args.filter_file {
        if let Some(word) = args.words.first() {
            let line = format!(
                "the filter is in {}: what is {}?",
                path.display(),
                word.display()
            );
            return Err(Failure::new(Exit::Usage, line));
        }
        return filter_file::expression(path).map(Some);
    }
    let words = args.words.iter().chain(&args.filter);
    let words: Option<Vec<&str>> = words.map(|word| word.to_str()).collect();
    match words {
        Some(words) if words.is_empty() => Ok(None),
        Some(words) => Ok(Some(words.join(" "))),
        None => Err(Failure::new(Exit::Usage, "the filter is not UTF-8")),
    }
}

fn options(args: &FlowsArgs, filter: Option<&str>) -> CaptureOptions {
    let filter =
        filter.map(|text| Filter::Expression(Expression::new(text, Arc::new(SystemNames::new()))));
    let mut options = CaptureOptions::default()
        .links(args.interface.clone())
        .with_filter(filter)
        .promiscuous(!args.no_promisc)
        .direction(args.direction)
        .snaplen(match args.snaplen {
            0 => tapline::capture::DEFAULT_SNAPLEN,
            bytes => bytes,
        })
        .buffer_bytes(usize::try_from(args.buffer).unwrap_or(usize::MAX))
        .delivery(delivery(args.idle))
        .outlast_link_down(true)
        .tick(TICK);
    if let Some(packets) = args.count {
        options = options.packets(packets.into());
    }
    if let Some(duration) = args.duration {
        options = options.duration(duration);
    }
    options
}

/// Batches as those of a capture into a file. A flow whose next packet is still in the ring can seem to be idle, so its packets wait
/// there only for a small part of the idle timeout.
fn delivery(idle: Duration) -> DeliveryMode {
    DeliveryMode::Batch {
        min_bytes: AUTO_BYTES,
        timeout: (idle / 10).clamp(Duration::from_millis(1), GATHER),
    }
}

/// Serves the counters of the meter, which are published as the latest, those of the `origin` of packets and those of uploads.
fn serve(
    args: &FlowsArgs,
    server: Server,
    origin: Counters,
    uploads: Option<Counters>,
) -> Result<Arc<LatestMetrics>, Failure> {
    let sent = args.ipfix.as_ref().map(|_| Sent::default());
    let latest = LatestMetrics::new(summary::families(&FlowAccount::default(), sent));
    let posted = Arc::clone(&latest);
    server.serve(args.sandbox, move || {
        let mut families = origin();
        families.extend(posted.read().iter().cloned());
        families.extend(uploads.iter().flat_map(|uploads| uploads()));
        families
    })?;
    Ok(latest)
}

fn show_start(
    args: &FlowsArgs,
    columns: Option<&ColumnOutput>,
    metrics: Option<&str>,
) -> io::Result<()> {
    if args.json {
        return json::print(&json!({
            "event": "start",
            "interfaces": args.interface,
            "max_flows": args.max_flows,
            "max_memory_bytes": FlowTable::memory_bytes(args.max_flows),
            "metrics": metrics,
            "uploads": columns.map(ColumnOutput::uploads_json),
        }));
    }
    if !args.quiet {
        // A closed standard error is not a failure.
        let mut out = io::stderr();
        let interfaces = printable(&args.interface.join(", "));
        let _ = writeln!(out, "flows on {interfaces}, {}", summary::room(args));
        if let Some(columns) = columns {
            let _ = columns.print_uploads(&mut out);
        }
        if let Some(url) = metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_gather_for_a_tenth_of_the_idle_timeout_within_limits() {
        for (idle_ms, timeout_ms) in [(1, 1), (500, 50), (15_000, 100)] {
            let expected = DeliveryMode::Batch {
                min_bytes: AUTO_BYTES,
                timeout: Duration::from_millis(timeout_ms),
            };
            assert_eq!(delivery(Duration::from_millis(idle_ms)), expected);
        }
    }
}
