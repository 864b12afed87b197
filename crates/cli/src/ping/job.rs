//! A run from the list of targets to the exit status.

use std::io::{self, IsTerminal};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::thread::CapabilitySet;
use tapline::ping::{
    COOKIE_BYTES, Forecast, PingError, PingOperation, PingOptions, Prober, TargetControl,
};
use tapline::{Stop, Stopper};

use super::live::LiveTable;
use super::output::csv::CsvOutput;
use super::output::fping_style::FpingStyle;
use super::output::json::JsonOutput;
use super::output::ping_style::PingStyle;
use super::output::reporter::{Reporter, RunEnd, RunStart};
use super::output::warnings;
use super::reload::Reloader;
use super::sweep_state::SweepState;
use super::target_list::{KnownNames, TargetList};
use super::timeline::Timeline;
use super::watch::Watch;
use super::{dry_run, failure, page, respond, setup};
use crate::args::{Origin, PingArgs};
use crate::failure::{Exit, Failure};
use crate::metrics::{ChangeCounts, LatestMetrics, Server, ping_families};
use crate::output::page_file::PageFile;
use crate::process::{memory, signals, user};
use crate::sandbox::{self, Sandbox};
use crate::screen::{Progress, Screen};
use crate::values::units::{amount, grouped};

/// Probes per second that sockets reach on one CPU, roughly.
const MAX_SOCKET_PPS: u64 = 300_000;
/// How long replies may stay unread that are not printed one by one.
const MAX_WAIT: Duration = Duration::from_millis(250);

pub fn run(args: &PingArgs) -> Result<Exit, Failure> {
    if args.respond {
        return respond::run(args);
    }
    require_terminal(args)?;
    let list = TargetList::read(args, &KnownNames::new())?;
    list.require_targets()?;
    require_source_family(args, &list)?;
    for line in list.skipped.iter().chain(&list.waiting) {
        warnings::warn(line);
    }
    let count = list.targets.len();
    require_no_lines(args, count)?;
    require_sweep(args)?;
    if !args.quiet && args.size < COOKIE_BYTES {
        warnings::warn(&short_payload(args.size));
    }
    let mut options = setup::options(args, count);
    let max_replies = setup::max_replies(args, count);
    options.max_wait = max_wait(args, max_replies);
    if args.dry_run {
        return print_plan(args, &list, &options);
    }
    let forecast = options.forecast(&list.targets);
    let forecast = forecast.map_err(|error| failure::open(args, error))?;
    require_memory(&forecast)?;
    let (stop, hangups) = stop_signals(args)?;
    let mut state = open_state(args, &list, &mut options)?;
    let is_continued = options.resume.is_some();
    let known = list.names();
    let status_request = signals::quit()?;
    let server = args.metrics.map(Server::bind).transpose()?;
    let ping = tapline::ping(list.targets).options(options).stop(stop);
    let mut ping = ping.open().map_err(|error| failure::open(args, error))?;
    if let Some(signals) = hangups {
        start_reloading(args, signals, known, ping.control())?;
    }
    user::leave(&args.user, kept(args))?;
    let report = args.report.as_deref().map(PageFile::create).transpose()?;
    // If the file cannot be written, nothing is sent.
    if let Some(state) = &mut state {
        state.write(ping.statistics())?;
    }
    let url = server.as_ref().map(Server::url);

    let mut reporter = reporter(args, count, ping.stopper());
    let start = RunStart {
        statistics: ping.statistics(),
        forecast: &forecast,
        backend: ping.backend(),
        send_path: ping.send_path(),
        is_continued,
        metrics: url.as_deref(),
    };
    begin(args, &mut *reporter, &start)?;
    let latest = server.map(|server| serve(args, server, ping.statistics()));
    let latest = latest.transpose()?;
    restrict(args)?;
    let mut watch = Watch {
        reporter: &mut *reporter,
        status_request,
        stopper: ping.stopper(),
        failed: None,
        latest,
        updated: Instant::now(),
        max_replies,
        progress: progress(args, count),
        smoothed_ns: None,
        changes: ChangeCounts::default(),
        is_json: args.json,
        state,
        unkept: None,
        timeline: report.is_some().then(Timeline::start),
    };
    let ran = ping.run(|event, statistics| watch.event(event, statistics));
    if let Some(progress) = &watch.progress {
        progress.clear();
    }
    let (failed, mut unkept, state) = (watch.failed, watch.unkept, watch.state);
    let timeline = watch.timeline;
    let mut summary = ping.finish().map_err(wait_failure)?;
    if max_replies.is_some_and(|count| summary.statistics.total().received >= count.into()) {
        summary.ended = tapline::ping::Ended::Count;
    }
    let end = RunEnd {
        summary: &summary,
        skipped: list.skipped.len(),
        only: None,
    };
    let reported = failed.map_or_else(|| reporter.end(&end), Err);
    // Also after an error of the run, for what was printed before it.
    if let (Ok(()), Some(mut state), None) = (&reported, state, &unkept) {
        unkept = state.write(&summary.statistics).err();
    }
    ran.map_err(wait_failure)?;
    reported.map_err(|error| Failure::stdout(&error))?;
    unkept.map_or(Ok(()), Err)?;
    if let Some((file, timeline)) = report.zip(timeline) {
        let text = page::page(&summary, list.skipped.len(), &file.start, timeline);
        file.write(text)?;
    }
    exit_status(args, &end)
}

/// Prints what would be sent.
fn print_plan(args: &PingArgs, list: &TargetList, options: &PingOptions) -> Result<Exit, Failure> {
    let forecast = tapline::ping::forecast_with_limits(&list.targets, options);
    let forecast = forecast.map_err(|error| failure::open(args, error))?;
    dry_run::print(args, list, &forecast).map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

/// What a payload without room for a cookie means.
fn short_payload(bytes: usize) -> String {
    let tag = match Prober::tag_bytes(bytes) {
        0 => "nothing proves that a reply is genuine".to_owned(),
        tag => format!("{tag} of 4 bytes prove that a reply is genuine"),
    };
    format!(
        "{bytes} bytes of payload hold no send time, so tapline keeps it, and {tag} (16 bytes hold all)"
    )
}

/// The signals that end the run, and those that reload the file of targets if there is one.
fn stop_signals(args: &PingArgs) -> Result<(Stop, Option<UnixStream>), Failure> {
    if !setup::can_reload(args) {
        return Ok((signals::stop_as(&args.user, args.sandbox)?, None));
    }
    let (stop, hangups) = signals::stop_or_reload(&args.user, args.sandbox)?;
    Ok((stop, Some(hangups)))
}

/// Reads the file of targets at each of the signals.
fn start_reloading(
    args: &PingArgs,
    signals: UnixStream,
    known: KnownNames,
    control: TargetControl,
) -> Result<(), Failure> {
    let reloader = Reloader {
        signals,
        args: args.clone(),
        known,
        control,
    };
    Ok(reloader.start()?)
}

/// Opens the file of `--state`, and continues where it says.
fn open_state(
    args: &PingArgs,
    list: &TargetList,
    options: &mut PingOptions,
) -> Result<Option<SweepState>, Failure> {
    let Some(path) = &args.state else {
        return Ok(None);
    };
    let (state, position) = SweepState::open(path, &list.targets)?;
    options.resume = position;
    Ok(Some(state))
}

/// Restricts a run to what it still needs.
fn restrict(args: &PingArgs) -> Result<(), Failure> {
    let calls = if setup::is_in_kernel(args) {
        &sandbox::PING_XDP
    } else {
        &sandbox::PING
    };
    let sandbox = Sandbox::new(calls).look_names_up(args.resolve_every.is_some());
    let mut sandbox = sandbox.write(args.report.as_deref());
    if let Some(path) = &args.state {
        // The file is replaced by one beside it.
        let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
        sandbox = sandbox.write_in(folder.unwrap_or(Path::new(".")).to_owned());
    }
    sandbox.enter(args.sandbox, args.quiet)?;
    Ok(())
}

/// Serves the metrics that are published in the result.
fn serve(
    args: &PingArgs,
    server: Server,
    statistics: &Prober,
) -> Result<Arc<LatestMetrics>, Failure> {
    let latest = LatestMetrics::new(ping_families(statistics, Some(0), &ChangeCounts::default()));
    let read = latest.clone();
    server.serve(args.sandbox, move || read.read().to_vec())?;
    Ok(latest)
}

/// Begins the reports. Says if the rate is beyond what sockets reach.
fn begin(
    args: &PingArgs,
    reporter: &mut dyn Reporter,
    start: &RunStart<'_>,
) -> Result<(), Failure> {
    let targets = u64::from(start.forecast.targets);
    // Without an interval and a rate, as many as possible.
    let pps = (targets * 1_000_000_000).checked_div(start.forecast.round_ns);
    let is_beyond = pps.is_none_or(|pps| pps > MAX_SOCKET_PPS);
    if is_beyond && !args.quiet && args.backend.0.is_none() {
        warnings::warn("--backend xdp sends more probes per second than sockets can");
    }
    let begun = reporter.begin(start);
    begun.map_err(|error| Failure::stdout(&error))
}

/// Capabilities that a run keeps after it is opened. The XDP back end runs programs and resolves neighbours.
fn kept(args: &PingArgs) -> CapabilitySet {
    if setup::is_in_kernel(args) {
        CapabilitySet::BPF | CapabilitySet::NET_ADMIN
    } else {
        CapabilitySet::empty()
    }
}

/// The XDP back end has no lines for answers.
fn require_no_lines(args: &PingArgs, targets: u32) -> Result<(), Failure> {
    let has_none = args.quiet || args.csv || args.live || (targets > 1 && !args.verbose);
    if has_none || args.dry_run || !setup::is_in_kernel(args) {
        return Ok(());
    }
    let line =
        "--backend xdp counts replies in the kernel and cannot print each: add -q, --csv or --live";
    Err(Failure::new(Exit::Usage, line))
}

/// A state is that of one probe to each target.
fn require_sweep(args: &PingArgs) -> Result<(), Failure> {
    if args.state.is_none() || (setup::is_sweep(args) && !args.dry_run) {
        return Ok(());
    }
    let line = "--state is for --backend xdp with -c 1, and not for --dry-run";
    Err(Failure::new(Exit::Usage, line))
}

/// The progress of a quiet run with an end, on a terminal.
fn progress(args: &PingArgs, targets: u32) -> Option<Progress> {
    let count = args.count.filter(|_| args.quiet)?;
    let probes = u64::from(count.get()) * u64::from(targets);
    Progress::open(Some(probes), "probes")
}

fn wait_failure(error: PingError) -> Failure {
    match error {
        PingError::Kernel {
            operation: operation @ PingOperation::Wait,
            source,
        } => Failure::job_on(format!("cannot {operation}"), &source),
        error => Failure::new(Exit::Failed, crate::failure::chain(&error)),
    }
}

/// The requested form of output, or the one that suits the number of targets. `stopper` ends the run.
fn reporter(args: &PingArgs, targets: u32, stopper: Stopper) -> Box<dyn Reporter + '_> {
    let reporter: Box<dyn Reporter + '_> = match targets {
        _ if args.json => Box::new(JsonOutput::new(args, targets)),
        _ if args.csv => Box::new(CsvOutput::new(args)),
        1 => Box::new(PingStyle::new(args)),
        _ => Box::new(FpingStyle::new(args)),
    };
    if args.live {
        return Box::new(LiveTable::new(targets, reporter, stopper));
    }
    reporter
}

/// Replies can be read in batches if they are not printed one by one, and none of them ends the run.
fn max_wait(args: &PingArgs, max_replies: Option<u32>) -> Duration {
    let is_immediate = !args.quiet || args.verbose || args.live || max_replies.is_some();
    if is_immediate {
        Duration::ZERO
    } else {
        MAX_WAIT
    }
}

/// `--live` needs a terminal that can move the cursor.
fn require_terminal(args: &PingArgs) -> Result<(), Failure> {
    let line = match args.live {
        true if !io::stdout().is_terminal() => "--live requires a terminal as standard output",
        true if !Screen::is_possible() => {
            "--live moves the cursor, and this terminal cannot (see TERM)"
        }
        _ => return Ok(()),
    };
    Err(Failure::new(Exit::Usage, line))
}

/// Some target must have the family of the source address.
fn require_source_family(args: &PingArgs, list: &TargetList) -> Result<(), Failure> {
    let Some(Origin::Address(address)) = args.interface else {
        return Ok(());
    };
    let can_change = args.resolve_every.is_some() || setup::can_reload(args);
    if list.targets.has_family(address.is_ipv6()) || can_change {
        return Ok(());
    }
    let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    let line = format!("-I {address} is an {family} address, and no target is");
    Err(Failure::new(Exit::Usage, line))
}

/// Refuses a run whose statistics exceed the available memory: the kernel would kill other programs.
fn require_memory(forecast: &Forecast) -> Result<(), Failure> {
    match memory::available_bytes() {
        Some(bytes) if bytes < forecast.memory_bytes => {
            let targets = grouped(forecast.targets.into());
            let [needed, bytes] = [forecast.memory_bytes, bytes].map(|bytes| amount(bytes as f64));
            let line = format!(
                "the statistics of {targets} targets take {needed}B of memory, and {bytes}B are available"
            );
            Err(Failure::new(Exit::Failed, line))
        }
        _ => Ok(()),
    }
}

/// Success means that every target answered, or that the loss is within `--fail-loss`. As in ping and fping, unknown
/// targets, or a single target to which nothing could be sent, are a different error from silence.
fn exit_status(args: &PingArgs, end: &RunEnd<'_>) -> Result<Exit, Failure> {
    let statistics = &end.summary.statistics;
    let total = statistics.total();
    if let Some(limit) = args.fail_loss {
        let settled = total.sent - total.pending() + total.local_drops;
        let missing = settled - total.received;
        if limit.is_exceeded(missing, settled) {
            let line = format!(
                "{missing} of {settled} probes were not answered, more than --fail-loss allows"
            );
            return Err(Failure::new(Exit::Failed, line));
        }
    }
    // As in ping: a number of replies within a time is required in full.
    let required = match (args.count, args.duration) {
        (Some(count), Some(_)) => count.get().into(),
        _ => 1,
    };
    let all_answered = || {
        let mut targets = statistics.targets().indices();
        targets.all(|target| {
            let counts = statistics.counts(target);
            // An earlier run of a sweep has probed it.
            let is_earlier = args.state.is_some() && counts.sent + counts.local_drops == 0;
            is_earlier || counts.received >= required
        })
    };
    let is_refused = statistics.targets().len() == 1 && total.sent == 0 && total.local_drops > 0;
    Ok(
        if end.skipped > 0 || (is_refused && args.fail_loss.is_none()) {
            Exit::Usage
        } else if args.fail_loss.is_some() || all_answered() {
            Exit::Done
        } else {
            Exit::Failed
        },
    )
}
