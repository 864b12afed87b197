//! `tapline count --by stamp` where the kernel cannot count streams: a kernel filter selects packets with a stamp, a capture
//! copies them.

use std::io::{self, Write};

use serde_json::{Value, json};
use tapline::Packet;
use tapline::capture::{Account, CaptureSummary, Consumer, ConsumerError, DirectionFilter};
use tapline::count::{CountDirection, STAMP_FILTER, StreamCounter};

use super::json::realtime_ns;
use crate::args::CountArgs;
use crate::capture::{self, lost_json, refused};
use crate::failure::{Exit, Failure};
use crate::output::{json, streams};
use crate::process::{privilege, signals, user};
use crate::sandbox::{self, Sandbox};
use crate::screen::printable;
use crate::values::units::grouped;

/// How the figures were obtained, in summaries.
const METHOD: &str = "packets with a stamp, selected by a kernel filter and copied to user space";

/// Counts until the end. `reason` says why the kernel does not count.
pub fn run(args: &CountArgs, reason: &str) -> Result<Exit, Failure> {
    let mut interfaces = args.interface.iter();
    let first = interfaces.next().cloned().unwrap_or_default();
    let mut options = tapline::capture(first)
        .direction(direction(args))
        .tick(args.interval);
    options.links.extend(interfaces.cloned());
    if let Some(duration) = args.duration {
        options = options.duration(duration);
    }
    let options = options.filter(STAMP_FILTER);
    let options = options.map_err(|error| Failure::job(&error))?;
    let stop = signals::stop_as(&args.user, args.sandbox)?;
    let capture = options
        .open()
        .map_err(|error| refused(STAMP_FILTER, error))?;
    user::leave(&args.user, privilege::to_count(true))?;
    Sandbox::new(&sandbox::CAPTURE).enter(args.sandbox, args.quiet)?;
    show_start(args, reason).map_err(|error| Failure::stdout(&error))?;
    let links = capture.interfaces().iter();
    let mut report = Report {
        args,
        counter: StreamCounter::new(),
        link_types: links.map(|link| link.link_type.0).collect(),
    };
    let summary = capture::summary(capture.run_consumer(&mut report, &stop))?;
    let shown = report.show_summary(&summary);
    // The failure of the capture is reported before that of printing its summary.
    capture::ended(&summary.ended)?;
    shown.map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Done)
}

fn direction(args: &CountArgs) -> DirectionFilter {
    match args.direction {
        Some(CountDirection::In) | None => DirectionFilter::In,
        Some(CountDirection::Out) => DirectionFilter::Out,
        Some(CountDirection::Both) => DirectionFilter::Both,
    }
}

fn show_start(args: &CountArgs, reason: &str) -> io::Result<()> {
    if args.json {
        return json::print(&json!({
            "event": "start",
            "by": "stamp",
            "interfaces": args.interface,
            "method": METHOD,
            "reason": reason,
        }));
    }
    if !args.quiet {
        let line = format!(
            "counting streams on {} from copied packets ({reason})",
            printable(&args.interface.join(", "))
        );
        // A closed standard error is not a failure.
        let _ = writeln!(io::stderr(), "{line}");
    }
    Ok(())
}

/// Counts, and prints the totals at the intervals.
struct Report<'a> {
    args: &'a CountArgs,
    counter: StreamCounter,
    link_types: Vec<u16>,
}

impl Consumer for Report<'_> {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let link_type = self.link_types.get(packet.interface()).copied();
        let link_type = link_type.unwrap_or_default();
        self.counter
            .add(link_type, packet.data(), packet.time().as_nanos());
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if self.args.json {
            json::print(&json!({
                "event": "interval",
                "at_ns": now_ns,
                "streams": streams::json(&self.counter.totals()),
                "not_captured": account.lost.total(),
            }))?;
            return Ok(());
        }
        let mut out = io::stdout().lock();
        for line in streams::lines(&self.counter.totals()) {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        Ok(())
    }
}

impl Report<'_> {
    fn show_summary(&self, summary: &CaptureSummary) -> io::Result<()> {
        if self.args.json {
            return json::print(&self.summary_json(summary));
        }
        if self.args.quiet {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        for line in streams::lines(&self.counter.totals()) {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "counted: {METHOD}")?;
        let lost = summary.account.lost.total();
        if lost > 0 {
            let packets = grouped(lost);
            writeln!(
                out,
                "{packets} packets were not captured here: they count as lost, although they arrived"
            )?;
        }
        out.flush()
    }

    fn summary_json(&self, summary: &CaptureSummary) -> Value {
        json!({
            "event": "summary",
            "streams": streams::json(&self.counter.totals()),
            "uncounted": self.counter.uncounted(),
            "unstamped": self.counter.unstamped(),
            "lost": lost_json(&summary.account.lost),
            "at_ns": realtime_ns(),
            "duration_ns": summary.duration.as_nanos() as u64,
            "by": "stamp",
            "method": METHOD,
        })
    }
}
