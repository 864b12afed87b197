//! `tapline count --by stamp`: a program in the kernel counts stamped packets by stream.

use std::io::{self, IsTerminal, Write};

use serde_json::{Value, json};
use tapline::count::{
    Count, CountDirection, CountError, CountEvent, CountInterval, CountPoint, StreamTotals,
};

use super::json::realtime_ns;
use super::{captured_streams, failure, job, reporter, setup, start};
use crate::args::CountArgs;
use crate::failure::{Exit, Failure, chain};
use crate::output::{json, streams};
use crate::process::signals;
use crate::screen::printable;

/// How the figures were obtained, in summaries.
const METHOD: &str = "packets with a stamp, by a program in the kernel; none is copied";

pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    refuse_misplaced(args)?;
    let mut options = setup::options(args);
    options.direction = args.direction.unwrap_or(CountDirection::In);
    options.streams = true;
    // Dropped after the count, which removes its tc filters itself if it can.
    let mut guard = job::guard(args);
    let count = match Count::open_with_stop(options, signals::stop_as(&args.user, args.sandbox)?) {
        Ok(count) => count,
        Err(error) if is_about_the_arguments(&error) => {
            return Err(failure::of_opening(args, error));
        }
        Err(error) => {
            drop(guard);
            return captured_streams::run(args, &chain(&error));
        }
    };
    if !count.points().any(job::is_clsact) {
        guard.take();
    }
    report(args, count)
}

fn refuse_misplaced(args: &CountArgs) -> Result<(), Failure> {
    let misplaced = [
        (!args.classes.is_empty(), "classes"),
        (args.csv, "--csv"),
        (args.metrics.is_some(), "--metrics"),
    ];
    for (is_given, what) in misplaced {
        if is_given {
            let line = format!("--by stamp cannot be used with {what}");
            return Err(Failure::new(Exit::Usage, line));
        }
    }
    Ok(())
}

/// Whether a capture would fail, too.
fn is_about_the_arguments(error: &CountError) -> bool {
    matches!(
        error,
        CountError::NoInterface
            | CountError::DuplicateInterface { .. }
            | CountError::InvalidOptions { .. }
            | CountError::Link(_)
    )
}

/// Prints the totals at the intervals, and at the end.
fn report(args: &CountArgs, mut count: Count) -> Result<Exit, Failure> {
    job::leave(args, &count)?;
    job::restrict(args)?;
    let printed = |result: io::Result<()>| result.map_err(|error| Failure::stdout(&error));
    printed(show_start(args, &count))?;
    let failed = loop {
        match count.next_event() {
            Ok(Some(CountEvent::Interval(interval))) => {
                // The last one is part of the summary.
                if !count.has_ended() {
                    printed(show_interval(args, &interval, &count.streams()?))?;
                }
            }
            Ok(Some(CountEvent::Link(link))) if args.json => printed(super::json::link(&link))?,
            Ok(Some(CountEvent::Link(link))) => reporter::warn(&link),
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let shown = show_summary(args, &count, &count.streams()?);
    // A failure of the count comes before a failure to print the summary.
    let exit = job::finish(count, failed)?;
    printed(shown)?;
    Ok(exit)
}

fn show_start(args: &CountArgs, count: &Count) -> io::Result<()> {
    let points: Vec<CountPoint> = count.points().cloned().collect();
    if args.json {
        let points: Vec<Value> = points.iter().map(start::point_json).collect();
        return json::print(&json!({
            "event": "start",
            "by": "stamp",
            "interfaces": args.interface,
            "points": points,
            "method": METHOD,
        }));
    }
    if !args.quiet {
        let mut out = io::stderr();
        let hint = if out.is_terminal() {
            ", Ctrl-C to stop"
        } else {
            ""
        };
        for (link, hooks) in start::hooks(&points) {
            // A closed standard error is not a failure.
            let line = printable(&format!("counting streams on {link}: {hooks}"));
            let _ = writeln!(out, "{line}{hint}");
        }
    }
    Ok(())
}

fn show_interval(
    args: &CountArgs,
    interval: &CountInterval,
    totals: &StreamTotals,
) -> io::Result<()> {
    if args.json {
        return json::print(&json!({
            "event": "interval",
            "at_ns": interval.at_ns,
            "streams": streams::json(totals),
            "not_captured": 0,
        }));
    }
    print_lines(&streams::lines(totals))
}

fn show_summary(args: &CountArgs, count: &Count, totals: &StreamTotals) -> io::Result<()> {
    if args.json {
        return json::print(&json!({
            "event": "summary",
            "streams": streams::json(totals),
            "uncounted": totals.uncounted,
            "unstamped": totals.unstamped,
            // Nothing is captured, so that nothing can be lost.
            "lost": null,
            "at_ns": realtime_ns(),
            "duration_ns": count.last_totals().since_start_ns,
            "by": "stamp",
            "method": METHOD,
        }));
    }
    if args.quiet {
        return Ok(());
    }
    let mut lines = streams::lines(totals);
    lines.push(format!("counted: {METHOD}"));
    print_lines(&lines)
}

fn print_lines(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
