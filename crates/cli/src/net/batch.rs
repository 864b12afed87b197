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
    let mut wrong = None;
    for (number, line) in input.lines().enumerate() {
        let line = line.map_err(cannot)?;
        match prepare(&line, &mut stack) {
            Ok(None) => {}
            Ok(Some(put)) => {
                put(&mut batch);
                lines.push(number + 1);
            }
            Err(failure) => {
                let line = format!("line {} of {name}: {}", number + 1, failure.line);
                wrong = Some(Failure::new(failure.exit, line));
                break;
            }
        }
    }
    let outcome = batch.finish();
    tell(&outcome, &lines, args)?;
    match wrong {
        Some(failure) => Err(failure),
        None if outcome.is_done() => Ok(Exit::Done),
        None => Ok(Exit::Failed),
    }
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
fn tell(outcome: &Outcome, lines: &[usize], args: &BatchArgs) -> io::Result<()> {
    let count = |wanted: fn(&ItemResult<'_>) -> bool| {
        let results = (0..outcome.item_count).filter_map(|item| outcome.result(item));
        results.filter(wanted).count()
    };
    let done = count(|result| matches!(result, ItemResult::Done | ItemResult::NotUndone(_)));
    let undone = count(|result| matches!(result, ItemResult::Undone));
    let not_run = count(|result| matches!(result, ItemResult::NotRun));
    let failures = outcome.failed.iter().map(|failure| ("failed", failure));
    let failures = failures.chain(outcome.not_undone.iter().map(|it| ("not_undone", it)));
    for (event, (item, error)) in failures {
        let (line, words) = (lines.get(*item).copied().unwrap_or_default(), chain(error));
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
            "failed": outcome.failed.len(), "not_run": not_run, "undone": undone,
        }))?;
    } else if !outcome.is_done() {
        writeln!(
            io::stderr(),
            "tapline: {done} done, {} failed, {not_run} not carried out, {undone} taken back",
            outcome.failed.len(),
        )?;
    }
    Ok(())
}
