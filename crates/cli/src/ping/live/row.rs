//! The line of a target.

use std::fmt::Write as _;

use super::recent::KEPT;
use crate::ping::figures::{Figures, Times};
use crate::ping::milliseconds::of_fping;
use crate::screen::{fitted, width};

/// Columns of the numbers, each as wide, and what stands above them.
const NUMBER: usize = 9;
const HEADINGS: [&str; 6] = ["loss", "last ms", "mean", "p50", "p99", "max"];

const LEAST_NAME: usize = 8;
const MOST_NAME: usize = 40;

/// Fewest bars that say anything.
const LEAST_BARS: usize = 8;

/// What there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    all: usize,
    name: usize,
    /// Numbers, as many as fit.
    numbers: usize,
    pub bars: usize,
}

impl Columns {
    /// For a window with room for `all` columns.
    pub fn new(longest_name: usize, all: usize, with_bars: bool) -> Self {
        let numbers = (all.saturating_sub(LEAST_NAME) / NUMBER).min(HEADINGS.len());
        let left = all - numbers * NUMBER;
        let name = longest_name.clamp(LEAST_NAME, MOST_NAME).min(left);
        let bars = (left - name).saturating_sub(2).min(KEPT);
        Self {
            all,
            name,
            numbers,
            bars: if with_bars && bars >= LEAST_BARS {
                bars
            } else {
                0
            },
        }
    }

    pub fn heading(&self) -> String {
        let bars = if self.bars > 0 { "latest" } else { "" };
        self.line("", &HEADINGS.map(str::to_owned), bars)
    }

    /// What is known of a target, and its latest round trip.
    pub fn row(&self, name: &str, figures: &Figures, last_ns: Option<u64>, bars: &str) -> String {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), of_fping);
        let of = |pick: fn(&Times) -> Option<u64>| time(figures.rtt.as_ref().and_then(pick));
        let numbers = [
            loss(figures),
            time(last_ns),
            of(|rtt| Some(rtt.mean_ns)),
            of(|rtt| rtt.p50_ns),
            of(|rtt| rtt.p99_ns),
            of(|rtt| Some(rtt.max_ns)),
        ];
        self.line(name, &numbers, bars)
    }

    fn line(&self, name: &str, numbers: &[String; 6], bars: &str) -> String {
        let mut line = fitted(name, self.name);
        for number in &numbers[..self.numbers] {
            // A String takes whatever is written to it.
            let _ = write!(line, "{number:>NUMBER$}");
        }
        if self.bars > 0 {
            let _ = write!(line, "  {bars}");
        }
        line.truncate(line.trim_end().len());
        // A number may outgrow its column.
        if width(&line) > self.all {
            line = fitted(&line, self.all);
        }
        line
    }
}

/// The share of lost probes: in whole numbers where it is large, and never 0 where some were.
fn loss(figures: &Figures) -> String {
    match figures.loss_percent() {
        None if figures.counts.local_drops > 0 => "not sent".to_owned(),
        None => "-".to_owned(),
        Some(percent) if percent > 0.0 && percent < 0.05 => "<0.1%".to_owned(),
        Some(percent) if percent > 0.0 && percent < 9.95 => format!("{percent:.1}%"),
        Some(percent) if percent > 99.0 && percent < 100.0 => "99%".to_owned(),
        Some(percent) => format!("{percent:.0}%"),
    }
}
