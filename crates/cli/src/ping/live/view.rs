//! What is drawn.

use tapline::probe::Prober;

use super::order::Order;
use super::recent::Recent;
use super::row::Columns;
use crate::paint::Paint;
use crate::ping::figures::{self, Figures};
use crate::ping::{sidelines, totals};
use crate::screen::{Size, Sparks, fitted, width};
use crate::units::grouped;

/// ICMP errors that are named.
const MOST_ERRORS: usize = 3;

/// What a drawing is made of, beside what the prober knows.
#[derive(Debug)]
pub struct View {
    pub recent: Recent,
    pub order: Order,
    pub paint: Paint,
    pub sparks: Sparks,
    /// Whether keys are read.
    pub has_keys: bool,
    /// Why this host did not send the last probe that it did not.
    pub refusal: Option<String>,
}

impl View {
    /// The lines for a window of this size; `summary` says how long and how fast.
    pub fn lines(&self, prober: &Prober, summary: &str, size: Size) -> Vec<String> {
        let (room, most) = (size.room(), size.lines());
        let mut lines = self.head(prober, summary, room);
        let below = self.below(prober, room);
        // The blank line, the heading and, if not all targets fit, the line that says so.
        let left = most.saturating_sub(lines.len() + below.len() + 2);
        let targets = prober.targets().len() as usize;
        let shown = if targets <= left {
            targets
        } else {
            left.saturating_sub(1)
        };
        lines.push(String::new());
        lines.extend(self.table(prober, shown, room));
        if shown < targets {
            let more = format!("({} more targets)", grouped((targets - shown) as u64));
            lines.push(self.paint.dim(&cut(&more, room)));
        }
        lines.extend(below);
        // A low window has the beginning.
        lines.truncate(most);
        lines
    }

    /// What is known of all targets.
    fn head(&self, prober: &Prober, summary: &str, room: usize) -> Vec<String> {
        let Figures { counts, rtt } = Figures::of_all(prober);
        let targets = totals::targets(prober, 0);
        let first = cut(&format!("{summary}  {targets}"), room);
        let mut lines = vec![self.paint.strong(&first)];
        lines.push(cut(&totals::account(&counts), room));
        lines.extend(totals::besides(&counts).map(|line| cut(&line, room)));
        lines.extend(rtt.map(|rtt| cut(&totals::times(&rtt), room)));
        lines
    }

    fn table(&self, prober: &Prober, rows: usize, room: usize) -> Vec<String> {
        let shown = self.order.first(prober, rows);
        let targets = prober.targets();
        let names: Vec<String> = (shown.iter())
            .map(|&target| figures::name(targets, target))
            .collect();
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let columns = Columns::new(longest, room, self.recent.is_kept());
        let heading = self.paint.dim(&columns.heading());
        let row = |(name, &target): (&String, &u32)| {
            let bars = self.sparks.line(self.recent.of(target, columns.bars));
            let figures = Figures::of_target(prober, target);
            let last_ns = prober.rtt(target).map(|rtt| rtt.last_ns);
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

    /// Errors, and what keys do.
    fn below(&self, prober: &Prober, room: usize) -> Vec<String> {
        let mut lines = sidelines::error_lines(prober.errors(), MOST_ERRORS);
        let unsent = prober.total().local_drops;
        if let Some(refusal) = &self.refusal {
            lines.push(format!("not sent: {}, at last: {refusal}", grouped(unsent)));
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

/// `line`, or its beginning where there is no room.
fn cut(line: &str, room: usize) -> String {
    if width(line) > room {
        fitted(line, room)
    } else {
        line.to_owned()
    }
}
