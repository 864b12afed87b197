//! An examination for people.

use std::fmt::Write as _;
use std::io::{self, Write};

use tapline::doctor::{Change, ChangeError, Finding, Report, Severity};

use super::fix::Fixed;
use crate::args::DoctorArgs;
use crate::failure::chain;

/// Where lines are broken.
const COLUMNS: usize = 100;
const NAME_COLUMNS: usize = 17;

pub fn report(report: &Report, args: &DoctorArgs) -> io::Result<()> {
    let mut out = String::new();
    let of = args.interface.as_deref().map(|name| format!(" and {name}"));
    line(
        &mut out,
        &format!("This machine{}:", of.unwrap_or_default()),
    );
    let (there, absent): (Vec<_>, Vec<_>) = report
        .abilities
        .iter()
        .partition(|ability| !["none", "off"].contains(&&*ability.value));
    for ability in there {
        named(&mut out, ability.id, &ability.value);
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|ability| ability.id).collect();
        named(&mut out, "none, or off:", &names.join(", "));
    }
    for one in &report.findings {
        finding(&mut out, one, args.fix);
    }
    if !report.unknown.is_empty() {
        line(&mut out, "\nnot looked at:");
        for unknown in &report.unknown {
            named(&mut out, unknown.id, &unknown.why);
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
    wrapped(out, &mark, "  ", &finding.seen);
    wrapped(out, "  ", "  ", &format!("spoils: {}", finding.spoils));
    let by_itself = if finding.fix.is_empty() || is_fixed {
        ""
    } else {
        "   (or --fix)"
    };
    for (number, command) in finding.remedy.iter().enumerate() {
        let mark = if number == 0 { "do:" } else { "   " };
        let by_itself = if number == 0 { by_itself } else { "" };
        if let Some(words) = command.strip_prefix("# ") {
            wrapped(out, &format!("  {mark} "), "      ", words);
            continue;
        }
        // Never broken: it is to be copied.
        line(out, &format!("  {mark} {command}{by_itself}"));
    }
}

/// What follows is another part.
pub fn gap() -> io::Result<()> {
    writeln!(io::stdout())
}

/// Says what became of a change.
pub fn change(change: &Change, state: &str, error: Option<&ChangeError>) -> io::Result<()> {
    let mut out = String::new();
    let why = match error {
        Some(error) => format!(": {}", chain(error)),
        None if state == "left" => {
            ": it was changed since, or its interface is not the same".into()
        }
        None => String::new(),
    };
    wrapped(
        &mut out,
        &format!("{state}: "),
        "  ",
        &format!("{}{why}", change.command()),
    );
    io::stdout().lock().write_all(out.as_bytes())
}

pub fn summary(report: &Report, fixed: &Fixed, args: &DoctorArgs) -> io::Result<()> {
    let mut out = String::new();
    let mut told = format!(
        "{} severe, {} warning, {} info",
        report.count(Severity::Severe),
        report.count(Severity::Warning),
        report.count(Severity::Info),
    );
    if !report.unknown.is_empty() {
        let _ = write!(told, ", {} not looked at", report.unknown.len());
    }
    let changes: usize = report
        .findings
        .iter()
        .map(|finding| finding.fix.len())
        .sum();
    if args.fix {
        let _ = write!(told, "; {} changed", fixed.made.len());
        if fixed.record.is_some() {
            told.push_str(" ('tapline doctor --undo' takes it back)");
        }
    } else if changes > 0 {
        let _ = write!(told, "; --fix would change {changes}");
    } else if args.interface.is_none() {
        told.push_str("; -i IF looks at an interface too");
    }
    out.push('\n');
    line(&mut out, &told);
    io::stdout().lock().write_all(out.as_bytes())
}

pub fn undone(back: usize, left: usize, failed: usize) -> io::Result<()> {
    let mut out = String::new();
    line(
        &mut out,
        &match (back, left, failed) {
            (0, 0, 0) => "nothing to undo in this network namespace".into(),
            (_, 0, 0) => format!("{back} undone"),
            _ => format!("{back} undone, {left} left as somebody set them since, {failed} failed"),
        },
    );
    io::stdout().lock().write_all(out.as_bytes())
}

/// A name and what there is to say of it, in two columns.
fn named(out: &mut String, name: &str, text: &str) {
    let indent = " ".repeat(NAME_COLUMNS + 2);
    wrapped(out, &format!("  {name:<NAME_COLUMNS$}"), &indent, text);
}

/// `text` behind `mark`, in lines of [`COLUMNS`] that begin with `indent` from the second on.
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

/// A line; what an interface calls itself does not reach the terminal as a control character.
fn line(out: &mut String, text: &str) {
    let printable = |c: char| if c.is_control() && c != '\n' { '?' } else { c };
    out.extend(text.trim_end_matches(' ').chars().map(printable));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
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
