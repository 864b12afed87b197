use std::fs::File;
use std::io::{self, Read, Write};

use netlink::{Batch, Family, ItemResult, OnError, Outcome};
use serde_json::json;

use super::apart::{Apart, is_apart, noun};
use super::line::{Line, Lines, Unreadable};
use super::renamed::Renamed;
use crate::args::BatchArgs;
use crate::failure::{Exit, Failure, chain};
use crate::json;
use crate::net::door::Put;
use crate::net::job::Stack;
use crate::net::verb::{self, Act};
use crate::output::is_stdout;

/// Runs `tapline batch`.
pub fn run(args: &BatchArgs) -> Result<Exit, Failure> {
    let name = args.file.display();
    let cannot = |error: io::Error| Failure::job_on(format!("cannot read {name}"), &error);
    let input: Box<dyn Read> = if is_stdout(&args.file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(cannot)?)
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
    let mut apart = 0;
    let mut renamed = Renamed::default();
    let mut input = Lines::new(input);
    loop {
        if input.may_wait() {
            // Who types the lines sees what each does.
            batch.flush();
        }
        let line = match input.next() {
            None => break,
            Some(Ok(line)) => line,
            Some(Err(error)) => {
                unread.lines.push((input.number(), cannot(error)));
                break;
            }
        };
        if batch.has_stopped() || !unread.lines.is_empty() && on_error != OnError::Continue {
            unread.skipped += usize::from(!line.is_empty());
            continue;
        }
        if renamed.concerns(&line) {
            // A name means what the lines before it have made of it.
            batch.flush();
            stack.names.forget();
            renamed = Renamed::default();
        }
        let prepared = prepare(&line, args, &mut stack, &mut batch).or_else(|_| {
            // It may speak of what a line before it makes.
            batch.flush();
            prepare(&line, args, &mut stack, &mut batch)
        });
        renamed.note(&line);
        match prepared {
            Ok(Prepared::Nothing) => {}
            Ok(Prepared::Items(put)) => {
                let items = put(&mut batch);
                lines.extend(std::iter::repeat_n(line.number, items));
            }
            Ok(Prepared::Apart(command)) => {
                batch.flush();
                if batch.has_stopped() {
                    unread.skipped += 1;
                    continue;
                }
                match command.run(&mut stack) {
                    Ok(()) => apart += 1,
                    Err(failure) => unread.lines.push((line.number, failure)),
                }
            }
            Err(_) if batch.has_stopped() => unread.skipped += 1,
            Err(failure) => unread.lines.push((line.number, failure)),
        }
    }
    let mut outcome = if unread.lines.is_empty() {
        batch.finish()
    } else {
        batch.abandon()
    };
    for (_, error) in outcome.failed.iter_mut().chain(&mut outcome.not_undone) {
        error.name_link(&mut stack.names);
    }
    tell(&outcome, &lines, &unread, apart, args)?;
    let exit = unread.lines.first().map(|(_, failure)| failure.exit);
    Ok(exit.unwrap_or_else(|| exit_of(&outcome)))
}

/// What the kernel refuses for want of a privilege is told as by a single command; all else is a failure.
fn exit_of(outcome: &Outcome) -> Exit {
    let mut failures = outcome.failed.iter().map(|(_, error)| Failure::from(error));
    if outcome.is_done() {
        Exit::Done
    } else if failures.any(|failure| failure.exit == Exit::Privilege) {
        Exit::Privilege
    } else {
        Exit::Failed
    }
}

/// The lines that were not carried out for what they are, or for what stands before them.
#[derive(Default)]
struct Unread {
    /// Those that say nothing that can be done, or were carried out by themselves without success, with their
    /// numbers.
    lines: Vec<(usize, Failure)>,
    /// How many were left out behind a failure.
    skipped: usize,
}

/// What a line is.
enum Prepared {
    /// Empty.
    Nothing,
    /// What a batch holds.
    Items(Put),
    /// What is carried out by itself.
    Apart(Apart),
}

fn prepare(
    line: &Line,
    args: &BatchArgs,
    stack: &mut Stack,
    batch: &mut Batch<'_>,
) -> Result<Prepared, Failure> {
    let words = line.words().map_err(|unreadable| {
        let line = match unreadable {
            Unreadable::Long => "the line is too long",
            Unreadable::Quote => "a quote does not end",
            Unreadable::Bytes => "it is not text (UTF-8)",
        };
        Failure::new(Exit::Usage, line)
    })?;
    let (family, said) = match words.split_first() {
        None => return Ok(Prepared::Nothing),
        Some((first, rest)) if first == "-4" => (Some(Family::V4), rest),
        Some((first, rest)) if first == "-6" => (Some(Family::V6), rest),
        Some(_) => (args.show.family(), &words[..]),
    };
    if said.first().is_some_and(|word| word.starts_with('-')) {
        return Apart::read(&words, line.number, args).map(Prepared::Apart);
    }
    let noun = noun(said)?;
    let door = noun.door();
    let (act, rest) = verb::split(door.verbs(), &said[1..])?;
    if is_apart(noun, act) {
        return Apart::read(&words, line.number, args).map(Prepared::Apart);
    }
    if act == Act::Flush {
        // What it removes may be what a line before it makes.
        batch.flush();
    }
    door.prepare(stack, act, family, rest).map(Prepared::Items)
}

/// Tells of each line that failed, and how many did not.
fn tell(
    outcome: &Outcome,
    lines: &[usize],
    unread: &Unread,
    apart: usize,
    args: &BatchArgs,
) -> io::Result<()> {
    let count = |wanted: fn(&ItemResult<'_>) -> bool| {
        let results = (0..outcome.item_count).filter_map(|item| outcome.result(item));
        results.filter(wanted).count()
    };
    let done = count(|result| matches!(result, ItemResult::Done | ItemResult::NotUndone(_)));
    let undone = count(|result| matches!(result, ItemResult::Undone));
    let not_run = count(|result| matches!(result, ItemResult::NotRun)) + unread.skipped;
    let place = |item: &usize| lines.get(*item).copied().unwrap_or_default();
    let failures = outcome.failed.iter();
    let failures = failures.map(|(item, error)| ("failed", place(item), Failure::from(error).line));
    let unread_lines = unread.lines.iter();
    let unread_lines = unread_lines.map(|(line, failure)| ("failed", *line, failure.line.clone()));
    let not_undone = outcome.not_undone.iter();
    let not_undone = not_undone.map(|(item, error)| ("not_undone", place(item), chain(error)));
    let done = done + apart;
    let failed = outcome.failed.len() + unread.lines.len();
    let mut told: Vec<_> = failures.chain(unread_lines).chain(not_undone).collect();
    told.sort_by_key(|(_, line, _)| *line);
    for (event, line, words) in told {
        if args.show.json {
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
    if args.show.json {
        json::print(&json!({
            "event": "summary", "lines": done + failed + not_run + undone, "done": done,
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
