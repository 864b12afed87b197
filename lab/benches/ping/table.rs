//! Rows of medians.

use crate::harness::Spread;

/// `median (least–most)` of what was measured, or a dash.
pub fn cell(values: &[f64], decimals: usize) -> String {
    let spread = Spread::of(values.iter().copied());
    spread.map_or_else(|| "-".into(), |spread| spread.show(1.0, decimals))
}

pub fn heading(title: &str, columns: &[&str]) {
    println!("\n**{title}**\n\n| {} |", columns.join(" | "));
    println!("|---|{}", "--:|".repeat(columns.len() - 1));
}

pub fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// Whether a figure is at most what it may be.
pub fn at_most(what: &str, values: &[f64], limit: f64) {
    let Some(spread) = Spread::of(values.iter().copied()) else {
        return println!("- {what}: not measured");
    };
    verdict(
        what,
        spread.median,
        limit,
        spread.median <= limit,
        "at most",
    );
}

/// Whether a figure is at least what it is to be.
pub fn at_least(what: &str, values: &[f64], limit: f64) {
    let Some(spread) = Spread::of(values.iter().copied()) else {
        return println!("- {what}: not measured");
    };
    verdict(
        what,
        spread.median,
        limit,
        spread.median >= limit,
        "at least",
    );
}

fn verdict(what: &str, value: f64, limit: f64, holds: bool, bound: &str) {
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    println!("- {what}: {value:.2}, {bound} {limit:.2}: {verdict}");
}
