//! The comparison as a table.

use std::fmt::Write as _;

use super::compare::{Comparison, Row};
use super::hosts::{LEFT, RIGHT};
use crate::paint::Paint;
use crate::units::grouped;

const NAME: usize = 16;
const PACKETS: usize = 9;
const BYTES: usize = 13;

/// Lines of the table, with a heading.
pub fn lines(comparison: &Comparison<'_>, paint: Paint) -> String {
    let mut text = String::new();
    let heading = format!(
        "  {:<20}{:>rest$}{:>BYTES$}  {:>PACKETS$}{:>BYTES$}",
        format!("by {LEFT}'s counters"),
        "sent",
        "bytes",
        "stored",
        "bytes",
        rest = NAME + PACKETS - 20,
    );
    // Writing to a String does not fail.
    let _ = writeln!(text, "{}", paint.dim(&heading));
    for row in comparison.kinds() {
        line(&mut text, &row, paint);
    }
    let _ = writeln!(text, "{}", paint.dim(&format!("  by {RIGHT}'s counters")));
    for row in comparison.directions() {
        line(&mut text, &row, paint);
    }
    text
}

fn line(text: &mut String, row: &Row, paint: Paint) {
    let verdict = row.verdict.words();
    let verdict = if row.verdict.is_good() {
        paint.good(verdict)
    } else {
        paint.bad(verdict)
    };
    let _ = writeln!(
        text,
        "  {:<NAME$}{:>PACKETS$}{:>BYTES$}  {:>PACKETS$}{:>BYTES$}  {verdict}",
        row.name,
        grouped(row.sent.packets),
        grouped(row.sent.bytes),
        grouped(row.stored.packets),
        grouped(row.stored.bytes),
    );
}
