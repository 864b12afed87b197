//! `tapline batch`: runs the lines of a file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;

use serde_json::json;
use tapline::net::{BatchSummary, ItemResult, OnError};

use super::command::{ChangedNames, LineCommand};
use super::line::Lines;
use crate::args::BatchArgs;
use crate::failure::{Exit, Failure, chain};
use crate::net::handle::NetHandle;
use crate::output::{is_stdout, json};
use crate::screen::printable;

/// Runs `tapline batch`.
pub fn run(args: &BatchArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let cannot_read = |error: io::Error| Failure::job_on(format!("cannot read {name}"), &error);
    let input: Box<dyn Read> = if is_stdout(&args.file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(cannot_read)?)
    };
    let on_error = match (args.force, args.undo) {
        (true, _) => OnError::Continue,
        (_, true) => OnError::Undo,
        _ => OnError::Stop,
    };
    let mut handle = NetHandle::open(args.netns.as_deref())?;
    let mut sender = NetHandle::open(args.netns.as_deref())?.netlink;
    let mut batch = sender.batch(on_error);
    let mut report = Report::default();
    let mut changed = ChangedNames::default();
    let mut lines = Lines::new(input);
    loop {
        if lines.may_wait() {
            // Lines typed on a terminal take effect at once.
            batch.flush();
        }
        let line = match lines.next() {
            None => break,
            Some(Ok(line)) => line,
            Some(Err(error)) => {
                let failure = (lines.number(), cannot_read(error));
                report.failures.push(failure);
                break;
            }
        };
        let has_failed = !report.failures.is_empty() && on_error != OnError::Continue;
        if batch.has_stopped() || has_failed {
            report.skipped += usize::from(!line.is_empty());
            continue;
        }
        if changed.affects(&line) {
            batch.flush();
            handle.names.forget();
            changed = ChangedNames::default();
        }
        let command = LineCommand::parse(&line, args, &mut handle, &mut batch).or_else(|_| {
            // The line may use what a waiting line adds.
            batch.flush();
            LineCommand::parse(&line, args, &mut handle, &mut batch)
        });
        changed.add(&line);
        match command {
            Ok(LineCommand::Empty) => {}
            Ok(LineCommand::Items(add)) => {
                let items = add(&mut batch);
                report.lines.extend(iter::repeat_n(line.number, items));
            }
            Ok(LineCommand::Standalone(command)) => {
                batch.flush();
                if batch.has_stopped() {
                    report.skipped += 1;
                    continue;
                }
                match command.run(&mut handle) {
                    Ok(()) => report.standalone += 1,
                    Err(failure) => report.failures.push((line.number, failure)),
                }
            }
            Err(_) if batch.has_stopped() => report.skipped += 1,
            Err(failure) => report.failures.push((line.number, failure)),
        }
    }
    let mut outcome = if report.failures.is_empty() {
        batch.finish()
    } else {
        batch.abandon()
    };
    for (_, error) in outcome.failed.iter_mut().chain(&mut outcome.not_undone) {
        error.name_link(&mut handle.names);
    }
    report.print(&outcome, args.show.json)?;
    let exit = report.failures.first().map(|(_, failure)| failure.exit);
    Ok(exit.unwrap_or_else(|| exit_of(&outcome)))
}

/// A missing privilege has its own exit status, as for a single command; the others are failures.
fn exit_of(outcome: &BatchSummary) -> Exit {
    let mut failures = outcome.failed.iter().map(|(_, error)| Failure::from(error));
    if outcome.is_done() {
        Exit::Done
    } else if failures.any(|failure| failure.exit == Exit::Privilege) {
        Exit::Privilege
    } else {
        Exit::Failed
    }
}

/// The results of the lines that are not in the outcome of the kernel's batch.
#[derive(Default)]
struct Report {
    /// The line of each item of the batch.
    lines: Vec<usize>,
    /// Lines that could not be parsed, and standalone lines that failed.
    failures: Vec<(usize, Failure)>,
    /// Lines behind a failure.
    skipped: usize,
    /// Standalone lines that succeeded.
    standalone: usize,
}

impl Report {
    /// Prints each failure and the totals.
    fn print(&self, outcome: &BatchSummary, is_json: bool) -> io::Result<()> {
        let count = |is_counted: fn(&ItemResult<'_>) -> bool| {
            let results = (0..outcome.item_count).filter_map(|item| outcome.result(item));
            results.filter(is_counted).count()
        };
        let done = count(|it| matches!(it, ItemResult::Done | ItemResult::NotUndone(_)));
        let done = done + self.standalone;
        let undone = count(|it| matches!(it, ItemResult::Undone));
        let not_run = count(|it| matches!(it, ItemResult::NotRun)) + self.skipped;
        let failed = outcome.failed.len() + self.failures.len();
        for (line, event, error) in self.errors(outcome) {
            if is_json {
                json::print(&json!({ "event": event, "line": line, "error": error }))?;
                continue;
            }
            let what = if event == "failed" {
                ""
            } else {
                "cannot undo: "
            };
            let error = printable(&error);
            writeln!(io::stderr(), "tapline: line {line}: {what}{error}")?;
        }
        if is_json {
            json::print(&json!({
                "event": "summary", "lines": done + failed + not_run + undone, "done": done,
                "failed": failed, "not_run": not_run, "undone": undone,
            }))?;
        } else if failed > 0 {
            let line = format!("{done} done, {failed} failed, {not_run} not run, {undone} undone");
            writeln!(io::stderr(), "tapline: {line}")?;
        }
        Ok(())
    }

    /// Line, event and text of each error, in the order of the lines.
    fn errors(&self, outcome: &BatchSummary) -> Vec<(usize, &'static str, String)> {
        let line = |item: &usize| self.lines.get(*item).copied().unwrap_or_default();
        let failed = outcome.failed.iter();
        let failed = failed.map(|(item, error)| (line(item), "failed", Failure::from(error).line));
        let failures = self.failures.iter();
        let failures = failures.map(|(line, failure)| (*line, "failed", failure.line.clone()));
        let not_undone = outcome.not_undone.iter();
        let not_undone = not_undone.map(|(item, error)| (line(item), "not_undone", chain(error)));
        let mut errors: Vec<_> = failed.chain(failures).chain(not_undone).collect();
        errors.sort_by_key(|(line, ..)| *line);
        errors
    }
}
