//! The summary of a send job, as text and as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::json;
use tapline::send::{Histogram, SendPath, SendPlan, SendSummary};

use crate::args::SendArgs;
use crate::screen::printable;
use crate::values::units::{amount, counted, grouped, span};

/// Prints what a dry run found: the packets, and the path that they would take, or why none can be opened.
pub fn show_plan(
    args: &SendArgs,
    plan: &SendPlan,
    path: Result<SendPath, String>,
) -> io::Result<()> {
    let (shortest, longest) = plan.lengths().unwrap_or_default();
    let duration = plan.duration();
    if args.json {
        return crate::output::json::print(&json!({
            "event": "plan",
            "packets": plan.packets(),
            "bytes": plan.bytes(),
            "shortest_bytes": shortest,
            "longest_bytes": longest,
            "skipped": plan.skipped(),
            "truncated": plan.truncated(),
            "duration_ns": duration.map(|time| time.as_nanos() as u64),
            "path": path.as_ref().ok().map(|path| path.name()),
            "path_error": path.err(),
        }));
    }
    let sizes = if shortest == longest {
        format!("{shortest}")
    } else {
        format!("{shortest} to {longest}")
    };
    let time = duration.map_or("as fast as possible".to_owned(), |time| {
        format!("in {}", span(time))
    });
    let path = match path {
        Ok(path) => format!("path {}", path.name()),
        Err(error) => format!("no path can be opened here: {error}"),
    };
    writeln!(
        io::stdout(),
        "{}, {}, of {sizes} bytes each, would be sent on {} {time}, {path}",
        counted(plan.packets(), "packet"),
        counted(plan.bytes(), "byte"),
        printable(args.interface.as_deref().unwrap_or_default()),
    )?;
    above_mtu(plan.skipped(), plan.truncated(), &mut io::stdout())
}

/// Prints what happens to frames above the MTU, if there are any.
fn above_mtu(skipped: u64, truncated: u64, out: &mut dyn Write) -> io::Result<()> {
    for (count, what) in [(skipped, "skipped"), (truncated, "truncated")] {
        if count > 0 {
            writeln!(out, "{} above the MTU {what}", counted(count, "frame"))?;
        }
    }
    Ok(())
}

/// Prints JSON on standard output, or the URL of the metrics on standard error unless quiet.
pub fn show_start(args: &SendArgs, metrics: Option<&str>) -> io::Result<()> {
    if args.json {
        return crate::output::json::print(&json!({
            "event": "start",
            "interface": args.interface,
            "metrics": metrics,
        }));
    }
    if let Some(url) = metrics.filter(|_| !args.quiet) {
        crate::screen::say(&format!("metrics at {url}"));
    }
    Ok(())
}

pub fn show(args: &SendArgs, summary: &SendSummary) -> io::Result<()> {
    if args.json {
        return crate::output::json::print(&as_json(summary));
    }
    if args.quiet {
        return Ok(());
    }
    text(summary, &mut io::stdout())
}

fn as_json(summary: &SendSummary) -> serde_json::Value {
    let (lateness, against) = lateness(summary);
    let quantile = |quantile| lateness.quantile(quantile);
    let failed: BTreeMap<_, _> = (summary.failed.iter())
        .map(|(&errno, &count)| (error_name(errno), count))
        .collect();
    json!({
        "event": "summary",
        "submitted": summary.submitted,
        "accepted": summary.accepted,
        "second_accepted": summary.second_accepted,
        "delivered": summary.delivered,
        "missed": summary.missed,
        "bytes": summary.bytes,
        "failed": failed,
        "skipped": summary.skipped,
        "truncated": summary.truncated,
        "retries": summary.retries,
        "duration_ns": summary.duration.as_nanos() as u64,
        "postponed_ns": summary.postponed.as_nanos() as u64,
        "path": summary.path.name(),
        "stopped": summary.is_stopped,
        "late_p50_ns": quantile(0.5),
        "late_p99_ns": quantile(0.99),
        "late_max_ns": lateness.range_ns().map(|(_, most)| most),
        "late_against": against,
        "late_packets": lateness.count(),
    })
}

fn text(summary: &SendSummary, out: &mut dyn Write) -> io::Result<()> {
    let delivered = summary.delivered.map_or("unknown".to_owned(), grouped);
    writeln!(
        out,
        "{} submitted = {} accepted + {} failed; delivered by the device: {delivered}",
        counted(summary.submitted, "packet"),
        grouped(summary.accepted),
        grouped(summary.all_failed()),
    )?;
    if let Some(second) = summary.second_accepted {
        let first = grouped(summary.accepted - second);
        let second = grouped(second);
        writeln!(out, "  {first} of clients, {second} of servers")?;
    }
    for (&errno, &count) in &summary.failed {
        let error = io::Error::from_raw_os_error(errno);
        writeln!(out, "  {} failed: {error}", grouped(count))?;
    }
    if summary.missed > 0 {
        let missed = grouped(summary.missed);
        writeln!(out, "  {missed} missed their time: etf dropped them")?;
    }
    above_mtu(summary.skipped, summary.truncated, out)?;
    let seconds = summary.duration.as_secs_f64();
    let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    writeln!(
        out,
        "{}, {}pps, {}bps, path {}",
        span(summary.duration),
        amount(rate(summary.accepted as f64)),
        amount(rate(summary.bytes as f64 * 8.0)),
        summary.path.name(),
    )?;
    let (lateness, against) = lateness(summary);
    let late = |quantile| lateness.quantile(quantile);
    if let (Some(p50), Some(p99)) = (late(0.5), late(0.99)) {
        let microseconds = |ns: u64| ns as f64 / 1000.0;
        writeln!(
            out,
            "late by p50 {:.1} us, p99 {:.1} us ({against}, {})",
            microseconds(p50),
            microseconds(p99),
            counted(lateness.count(), "packet"),
        )?;
    }
    if !summary.postponed.is_zero() {
        writeln!(
            out,
            "postponed by {} in all: the sender was more than 20 ms behind its plan",
            span(summary.postponed),
        )?;
    }
    if summary.is_stopped {
        writeln!(out, "stopped before all packets were sent")?;
    }
    Ok(())
}

/// A packet is stamped once in this time, unless it goes out together with others.
const STAMP_INTERVAL_MS: u128 = 1;

/// How late packets were, and at which point: by the kernel's time stamps if these are at least a quarter of those that there
/// can be. Packets that go out together, as of a sender that is behind its plan, have none.
fn lateness(summary: &SendSummary) -> (&Histogram, &'static str) {
    let at_most = summary.duration.as_millis() / STAMP_INTERVAL_MS;
    let at_most = at_most.min(summary.lateness.count().into());
    let stamped = u128::from(summary.stamped_lateness.count());
    if stamped > 0 && stamped >= at_most / 4 {
        (&summary.stamped_lateness, "kernel time stamp")
    } else {
        (&summary.lateness, "system call")
    }
}

/// The error as text, e.g. `Invalid argument (os error 22)`.
fn error_name(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}
