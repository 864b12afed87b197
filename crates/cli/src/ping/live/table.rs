//! The table: what is drawn, and its columns.

use std::fmt::Write as _;

use tapline::ping::Prober;

use super::order::Order;
use super::recent::{KEPT, Recent};
use crate::paint::Paint;
use crate::ping::output::account;
use crate::ping::output::figures::{self, PingFigures, RttFigures};
use crate::ping::output::milliseconds::fping_ms;
use crate::screen::{Size, Sparks, cut, fitted, width};
use crate::units::grouped;

/// Maximum ICMP errors that are listed.
const MOST_ERRORS: usize = 3;

/// The state of the table besides the statistics.
#[derive(Debug)]
pub struct Table {
    pub recent: Recent,
    pub order: Order,
    pub paint: Paint,
    pub sparks: Sparks,
    /// Whether keys are available.
    pub has_keys: bool,
    /// Why the last probe that was not sent failed.
    pub send_error: Option<String>,
}

impl Table {
    /// The lines for a window of this size. `summary` is the elapsed time and the rate.
    pub fn lines(&self, statistics: &Prober, summary: &str, size: Size) -> Vec<String> {
        let (room, most) = (size.room(), size.lines());
        let mut lines = self.head(statistics, summary, room);
        let below = self.below(statistics, room);
        // A blank line, the heading and, if not all targets fit, a line with the number of others.
        let left = most.saturating_sub(lines.len() + below.len() + 2);
        let targets = statistics.targets().len() as usize;
        let shown = if targets <= left {
            targets
        } else {
            left.saturating_sub(1)
        };
        lines.push(String::new());
        lines.extend(self.table(statistics, shown, room));
        if shown < targets {
            let more = format!("({} more targets)", grouped((targets - shown) as u64));
            lines.push(self.paint.dim(&cut(&more, room)));
        }
        lines.extend(below);
        // A low window shows the top.
        lines.truncate(most);
        lines
    }

    /// The totals.
    fn head(&self, statistics: &Prober, summary: &str, room: usize) -> Vec<String> {
        let PingFigures { counts, rtt } = PingFigures::of_all(statistics);
        let targets = account::targets(statistics, 0);
        let first = cut(&format!("{summary}  {targets}"), room);
        let mut lines = vec![self.paint.strong(&first)];
        lines.push(cut(&account::probes(&counts), room));
        lines.extend(account::extra_answers(&counts).map(|line| cut(&line, room)));
        lines.extend(rtt.map(|rtt| cut(&account::round_trips(&rtt), room)));
        lines
    }

    fn table(&self, statistics: &Prober, rows: usize, room: usize) -> Vec<String> {
        let shown = self.order.first(statistics, rows);
        let targets = statistics.targets();
        let names: Vec<String> = (shown.iter())
            .map(|&target| figures::name(targets, target))
            .collect();
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let columns = Columns::new(longest, room, self.recent.is_kept());
        let heading = self.paint.dim(&columns.heading());
        let row = |(name, &target): (&String, &u32)| {
            let bars = self.sparks.line(self.recent.of(target, columns.bars));
            let figures = PingFigures::of_target(statistics, target);
            let last_ns = statistics.rtt(target).map(|rtt| rtt.last_ns);
            let line = columns.row(name, &figures, last_ns, &bars);
            let is_silent = figures.counts.received == 0
                && figures.counts.sent + figures.counts.local_drops > figures.counts.pending();
            if is_silent {
                self.paint.bad(&line)
            } else {
                line
            }
        };
        let rows = names.iter().zip(&shown).map(row);
        std::iter::once(heading).chain(rows).collect()
    }

    /// Errors, and the keys.
    fn below(&self, statistics: &Prober, room: usize) -> Vec<String> {
        let mut lines = account::error_lines(statistics.errors(), MOST_ERRORS);
        let unsent = statistics.total().local_drops;
        if let Some(error) = &self.send_error {
            lines.push(format!("not sent: {}, latest: {error}", grouped(unsent)));
        }
        let order = self.order.name();
        let keys = if self.has_keys {
            let next = self.order.next().name();
            format!("sorted by {order}; s: by {next}, q: end")
        } else {
            format!("sorted by {order}")
        };
        let keys = self.paint.dim(&cut(&keys, room));
        let lines = lines.iter().map(|line| cut(line, room));
        lines.chain([keys]).collect()
    }
}

/// Width and headings of the numeric columns.
const NUMBER: usize = 9;
const HEADINGS: [&str; 6] = ["loss", "last ms", "mean", "p50", "p99", "max"];

const LEAST_NAME: usize = 8;
const MOST_NAME: usize = 40;

/// Minimum number of useful bars.
const LEAST_BARS: usize = 8;

/// The columns that fit.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    all: usize,
    name: usize,
    /// Number of numeric columns.
    numbers: usize,
    pub bars: usize,
}

impl Columns {
    /// For a window that is `all` characters wide.
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

    /// The line of a target.
    pub fn row(
        &self,
        name: &str,
        figures: &PingFigures,
        last_ns: Option<u64>,
        bars: &str,
    ) -> String {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), fping_ms);
        let of = |pick: fn(&RttFigures) -> Option<u64>| time(figures.rtt.as_ref().and_then(pick));
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
            // Writing to a String cannot fail.
            let _ = write!(line, "{number:>NUMBER$}");
        }
        if self.bars > 0 {
            let _ = write!(line, "  {bars}");
        }
        line.truncate(line.trim_end().len());
        // A number may be wider than its column.
        if width(&line) > self.all {
            line = fitted(&line, self.all);
        }
        line
    }
}

/// The loss percentage: whole numbers if it is large, and never 0 if a probe was lost.
fn loss(figures: &PingFigures) -> String {
    match figures.loss_percent() {
        None if figures.counts.local_drops > 0 => "not sent".to_owned(),
        None => "-".to_owned(),
        Some(percent) if percent > 0.0 && percent < 0.05 => "<0.1%".to_owned(),
        Some(percent) if percent > 0.0 && percent < 9.95 => format!("{percent:.1}%"),
        Some(percent) if percent > 99.0 && percent < 100.0 => "99%".to_owned(),
        Some(percent) => format!("{percent:.0}%"),
    }
}
