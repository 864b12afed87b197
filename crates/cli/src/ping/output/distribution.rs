//! The histogram of round trips, as text and JSON.

use std::io::{self, Write};

use serde_json::Value;
use tapline::ping::Histogram;

use crate::values::units::grouped;

/// Length of the longest bar.
const WIDTH: usize = 40;
/// Bounds per power of ten.
const STEPS: [u64; 3] = [1, 2, 5];

/// A bar for each bucket from 1 µs, with bounds at 1, 2 and 5.
pub fn text(out: &mut impl Write, histogram: &Histogram) -> io::Result<()> {
    let rows = rows(histogram);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most > 0 {
        writeln!(out, "round trips up to:")?;
    }
    for (bound_ns, count) in rows {
        let bar = (count as usize * WIDTH).div_ceil(most as usize);
        let share = count as f64 * 100.0 / histogram.count() as f64;
        let bar = "#".repeat(bar);
        writeln!(
            out,
            "{:>8} {bar:WIDTH$} {:>6.2}% {:>9}",
            shown(bound_ns),
            share,
            grouped(count)
        )?;
    }
    Ok(())
}

/// Counts by upper bound, from the first to the last that is not zero.
fn rows(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut rows = Vec::new();
    let mut before = 0;
    let decades = (3..14).map(|power| 10_u64.pow(power));
    let bounds = decades.flat_map(|decade| STEPS.map(|step| step * decade));
    for bound_ns in bounds {
        let count = histogram.at_most(bound_ns) - before;
        if before + count > 0 && before < histogram.count() {
            rows.push((bound_ns, count));
        }
        before += count;
    }
    rows
}

fn shown(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{} us", ns / 1000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

/// All buckets that are not empty.
pub fn json(histogram: &Histogram) -> Value {
    let bucket = |(low_ns, high_ns, count)| serde_json::json!({ "low_ns": low_ns, "high_ns": high_ns, "count": count });
    histogram.buckets().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_trip_is_in_one_row() {
        let mut histogram = Histogram::default();
        assert!(rows(&histogram).is_empty());
        for ns in [500, 1_500, 1_600, 40_000, 40_000, 7_000_000_000_000] {
            histogram.record(ns);
        }
        let rows = rows(&histogram);
        assert_eq!(rows[0], (1000, 1));
        assert_eq!(rows[1], (2000, 2));
        assert!(rows.contains(&(50_000, 2)));
        assert_eq!(rows.iter().map(|(_, count)| count).sum::<u64>(), 6);
        let mut out = Vec::new();
        text(&mut out, &histogram).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        assert!(
            text.lines()
                .any(|line| line.trim_start().starts_with("50 us ####"))
        );
    }
}
