//! Prints an examination as text.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write};

use tapline::doctor::{Finding, Report, Severity};

use super::record::FixResult;
use crate::args::DoctorArgs;
use crate::failure::chain;
use crate::page::is_unprintable;

/// Lines wrap at this column.
const COLUMNS: usize = 100;
const NAME_COLUMNS: usize = 17;

pub fn report(report: &Report, args: &DoctorArgs) -> io::Result<()> {
    let mut out = String::new();
    let interface = args.interface.as_deref();
    let interface = interface.map_or_else(String::new, |name| format!(" and {name}"));
    line(&mut out, &format!("This host{interface}:"));
    let (present, absent): (Vec<_>, Vec<_>) = report
        .abilities
        .iter()
        .partition(|ability| !["none", "off"].contains(&&*ability.value));
    for ability in present {
        row(&mut out, ability.id, &ability.value);
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|ability| ability.id).collect();
        row(&mut out, "none, or off:", &names.join(", "));
    }
    for one in &report.findings {
        finding(&mut out, one, args.fix);
    }
    if !report.unknown.is_empty() {
        line(&mut out, "\nnot checked:");
        for unknown in &report.unknown {
            row(&mut out, unknown.id, &unknown.why);
        }
    }
    io::stdout().lock().write_all(out.as_bytes())
}

fn finding(out: &mut String, finding: &Finding, is_fixed: bool) {
    let severity = match finding.severity {
        Severity::Severe => "SEVERE",
        Severity::Warning => "WARNING",
        Severity::Info => "info",
    };
    out.push('\n');
    let mark = format!("{severity} {}: ", finding.id);
    wrapped(out, &mark, "  ", &finding.observed);
    wrapped(out, "  ", "  ", &format!("effect: {}", finding.effect));
    let hint = if finding.changes.is_empty() || is_fixed {
        ""
    } else {
        "   (or --fix)"
    };
    for (number, command) in finding.remedy.iter().enumerate() {
        let (mark, hint) = if number == 0 {
            ("fix:", hint)
        } else {
            ("    ", "")
        };
        if let Some(advice) = command.strip_prefix("# ") {
            wrapped(out, &format!("  {mark} "), "       ", advice);
        } else {
            // Commands are not wrapped, so that they can be copied.
            line(out, &format!("  {mark} {command}{hint}"));
        }
    }
}

pub fn blank_line() -> io::Result<()> {
    writeln!(io::stdout())
}

/// Prints what happened to a change.
pub fn change(command: &str, state: &str, error: Option<&(dyn Error + 'static)>) -> io::Result<()> {
    let mut out = String::new();
    let why = match error {
        Some(error) => format!(": {}", chain(error)),
        None if state == "left" => ": its value or its interface has changed since".into(),
        None => String::new(),
    };
    wrapped(
        &mut out,
        &format!("{state}: "),
        "  ",
        &format!("{command}{why}"),
    );
    io::stdout().lock().write_all(out.as_bytes())
}

pub fn summary(report: &Report, result: &FixResult, args: &DoctorArgs) -> io::Result<()> {
    let mut out = String::new();
    let mut text = format!(
        "{} severe, {} warning, {} info",
        report.count(Severity::Severe),
        report.count(Severity::Warning),
        report.count(Severity::Info),
    );
    if !report.unknown.is_empty() {
        let _ = write!(text, ", {} not checked", report.unknown.len());
    }
    let changes: usize = report
        .findings
        .iter()
        .map(|finding| finding.changes.len())
        .sum();
    if args.fix {
        let _ = write!(text, "; {} changed", result.made.len());
        if result.record.is_some() {
            text.push_str(" ('tapline doctor --undo' undoes it)");
        }
    } else if changes > 0 {
        let _ = write!(text, "; --fix would change {changes}");
    } else if args.interface.is_none() {
        text.push_str("; use -i IF to check an interface too");
    }
    out.push('\n');
    line(&mut out, &text);
    io::stdout().lock().write_all(out.as_bytes())
}

pub fn undone(restored: usize, left: usize, failed: usize) -> io::Result<()> {
    let mut out = String::new();
    line(
        &mut out,
        &match (restored, left, failed) {
            (0, 0, 0) => "nothing to undo in this network namespace".into(),
            (_, 0, 0) => format!("{restored} undone"),
            _ => format!(
                "{restored} undone, {left} left because they have changed since, {failed} failed"
            ),
        },
    );
    io::stdout().lock().write_all(out.as_bytes())
}

/// A name and its text, in two columns.
fn row(out: &mut String, name: &str, text: &str) {
    let indent = " ".repeat(NAME_COLUMNS + 2);
    wrapped(out, &format!("  {name:<NAME_COLUMNS$}"), &indent, text);
}

/// Writes `mark` and `text`, wrapped at [`COLUMNS`]; the second and later lines start with `indent`.
fn wrapped(out: &mut String, mark: &str, indent: &str, text: &str) {
    let mut current = mark.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        let is_full = current.chars().count() + 1 + word.chars().count() > COLUMNS;
        if is_full && !is_empty {
            line(out, &current);
            indent.clone_into(&mut current);
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    line(out, &current);
}

/// Writes a line. Interface names may contain control characters, which must not reach the terminal.
fn line(out: &mut String, text: &str) {
    let printable = |c: char| {
        if is_unprintable(c) && c != '\n' {
            '?'
        } else {
            c
        }
    };
    out.extend(text.trim_end_matches(' ').chars().map(printable));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrap_between_words() {
        let mut out = String::new();
        wrapped(&mut out, "mark: ", "  ", &"word ".repeat(40));
        assert!(out.lines().all(|line| line.len() <= COLUMNS), "{out}");
        assert_eq!(out.split_whitespace().count(), 41);
        assert!(out.lines().skip(1).all(|line| line.starts_with("  word")));
        let mut out = String::new();
        wrapped(&mut out, "", "", "a\u{1b}b");
        assert_eq!(out, "a?b\n");
    }
}
