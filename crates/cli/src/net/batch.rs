//! `tapline batch`: many commands, few system calls, an answer for each.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

use netlink::{ItemResult, OnError, Outcome};
use serde_json::json;

use super::door::{Noun, Put};
use super::job::Stack;
use super::verb;
use crate::args::BatchArgs;
use crate::failure::{Exit, Failure, chain};
use crate::json;
use crate::output::is_stdout;

/// Longest line; a command is far shorter.
const MOST_LINE_BYTES: usize = 64 * 1024;

/// Runs `tapline batch`.
pub fn run(args: &BatchArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let cannot = |error: io::Error| Failure::job_on(format!("cannot read {name}"), &error);
    let input: Box<dyn BufRead> = if is_stdout(&args.file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(&args.file).map_err(cannot)?))
    };
    let on_error = match (args.force, args.undo) {
        (true, _) => OnError::Continue,
        (_, true) => OnError::Undo,
        _ => OnError::Stop,
    };
    let mut stack = Stack::open(args.netns.as_deref())?;
    let mut carrier = Stack::open(args.netns.as_deref())?;
    let mut batch = carrier.netlink.batch(on_error);
    // The number of the line that each item stands in.
    let mut lines = Vec::new();
    let mut unread = Unread::default();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line.map_err(cannot)?;
        if batch.has_stopped() || !unread.lines.is_empty() && on_error != OnError::Continue {
            unread.skipped += usize::from(!is_empty(&line));
            continue;
        }
        let put = prepare(&line, &mut stack).or_else(|_| {
            // It may speak of what a line before it makes.
            batch.flush();
            prepare(&line, &mut stack)
        });
        match put {
            Ok(None) => {}
            Ok(Some(put)) => {
                put(&mut batch);
                lines.push(number);
            }
            Err(_) if batch.has_stopped() => unread.skipped += 1,
            Err(failure) => unread.lines.push((number, failure)),
        }
    }
    let outcome = if unread.lines.is_empty() {
        batch.finish()
    } else {
        batch.abandon()
    };
    tell(&outcome, &lines, &unread, args)?;
    let exit = unread.lines.first().map(|(_, failure)| failure.exit);
    Ok(exit.unwrap_or(if outcome.is_done() {
        Exit::Done
    } else {
        Exit::Failed
    }))
}

/// The lines that were not carried out for what they are, or for what stands before them.
#[derive(Default)]
struct Unread {
    /// Those that say nothing that can be done, with their numbers.
    lines: Vec<(usize, Failure)>,
    /// How many were left out behind a failure.
    skipped: usize,
}

fn is_empty(line: &str) -> bool {
    line.split('#').next().unwrap_or_default().trim().is_empty()
}

/// What a line puts into the batch; nothing, if it is empty.
fn prepare(line: &str, stack: &mut Stack) -> Result<Option<Put>, Failure> {
    if line.len() > MOST_LINE_BYTES {
        return Err(Failure::new(Exit::Usage, "the line is too long"));
    }
    let line = line.split('#').next().unwrap_or_default();
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let Some((first, rest)) = words.split_first() else {
        return Ok(None);
    };
    let noun = Noun::named(first)
        .ok_or_else(|| Failure::new(Exit::Usage, format!("{first:?} is no object to configure")))?;
    let (verb, words) = verb::split(rest)?;
    noun.door().prepare(stack, verb, words).map(Some)
}

/// Tells of each line that failed, and how many did not.
fn tell(outcome: &Outcome, lines: &[usize], unread: &Unread, args: &BatchArgs) -> io::Result<()> {
    let count = |wanted: fn(&ItemResult<'_>) -> bool| {
        let results = (0..outcome.item_count).filter_map(|item| outcome.result(item));
        results.filter(wanted).count()
    };
    let done = count(|result| matches!(result, ItemResult::Done | ItemResult::NotUndone(_)));
    let undone = count(|result| matches!(result, ItemResult::Undone));
    let not_run = count(|result| matches!(result, ItemResult::NotRun)) + unread.skipped;
    let place = |item: &usize| lines.get(*item).copied().unwrap_or_default();
    let failures = outcome.failed.iter();
    let failures = failures.map(|(item, error)| ("failed", place(item), chain(error)));
    let unread_lines = unread.lines.iter();
    let unread_lines = unread_lines.map(|(line, failure)| ("failed", *line, failure.line.clone()));
    let not_undone = outcome.not_undone.iter();
    let not_undone = not_undone.map(|(item, error)| ("not_undone", place(item), chain(error)));
    let failed = outcome.failed.len() + unread.lines.len();
    for (event, line, words) in failures.chain(unread_lines).chain(not_undone) {
        if args.json {
            json::print(&json!({ "event": event, "line": line, "error": words }))?;
        } else {
            let what = if event == "failed" {
                ""
            } else {
                "cannot be taken back: "
            };
            writeln!(io::stderr(), "tapline: line {line}: {what}{words}")?;
        }
    }
    if args.json {
        json::print(&json!({
            "event": "summary", "lines": outcome.item_count, "done": done,
            "failed": failed, "not_run": not_run, "undone": undone,
        }))?;
    } else if failed > 0 {
        writeln!(
            io::stderr(),
            "tapline: {done} done, {failed} failed, {not_run} not carried out, {undone} taken back",
        )?;
    }
    Ok(())
}
