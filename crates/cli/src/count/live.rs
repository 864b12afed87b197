//! The live table on a terminal.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use tapline::count::Traffic;

use super::figures::rates;
use super::figures::{Figures, Groups};
use crate::paint::Paint;
use crate::screen::{Canvas, Size, Sparks, fitted, width};
use crate::units::{grouped, span};

/// Number of bars of a class.
const BARS: usize = 30;

/// Minimum number of bars.
const MIN_BARS: usize = 8;

/// Widths of a rate and a sum, and the minimum width of a name.
const RATE: usize = 11;
const SUM: usize = 15;
const MIN_NAME: usize = 8;

/// Maximum width of the column for names.
const MAX_NAME: usize = 40;

/// The table and its canvas.
pub struct Live {
    classes: Vec<ClassHistory>,
    span_ns: u64,
    last: Figures,
    paint: Paint,
    sparks: Sparks,
    canvas: Canvas,
}

/// The history of a class.
struct ClassHistory {
    name: String,
    total: Traffic,
    /// Packets per second, the oldest first.
    history: VecDeque<f64>,
}

/// The columns that fit in the window.
struct Columns {
    all: usize,
    name: usize,
    /// How many of packets per second, bits per second and the sum fit.
    numbers: usize,
    bars: usize,
}

impl Columns {
    fn new(longest_name: usize, columns: usize) -> Self {
        let widths = [RATE, RATE, SUM];
        let mut left = columns.saturating_sub(MIN_NAME);
        let mut numbers = 0;
        for width in widths {
            if left < width {
                break;
            }
            left -= width;
            numbers += 1;
        }
        let taken: usize = widths[..numbers].iter().sum();
        let name = longest_name.clamp(MIN_NAME, MAX_NAME).min(columns - taken);
        let bars = (columns - taken - name).saturating_sub(2).min(BARS);
        Self {
            all: columns,
            name,
            numbers,
            bars: if bars < MIN_BARS { 0 } else { bars },
        }
    }

    fn line(&self, name: &str, numbers: [&str; 3], bars: &str) -> String {
        let mut line = fitted(name, self.name);
        for (number, columns) in numbers.iter().zip([RATE, RATE, SUM]).take(self.numbers) {
            // Writing to a String does not fail.
            let _ = write!(line, "{number:>columns$}");
        }
        if self.bars > 0 {
            let _ = write!(line, "  {bars}");
        }
        line.truncate(line.trim_end().len());
        // A sum may outgrow its column.
        if width(&line) > self.all {
            line = fitted(&line, self.all);
        }
        line
    }
}

impl Live {
    pub fn new(names: impl Iterator<Item = String>, paint: Paint, sparks: Sparks) -> Self {
        let class = |name| ClassHistory {
            name,
            total: Traffic::default(),
            history: VecDeque::with_capacity(BARS),
        };
        Self {
            classes: names.map(class).collect(),
            span_ns: 0,
            last: Figures::default(),
            paint,
            sparks,
            canvas: Canvas::default(),
        }
    }

    /// Draws `figures` and the history.
    pub fn draw(&mut self, figures: &Figures) -> io::Result<()> {
        self.add(figures);
        self.last = figures.clone();
        self.draw_last()
    }

    /// Prints a message above the table.
    pub fn aside(&mut self, say: impl FnOnce()) -> io::Result<()> {
        self.end()?;
        say();
        self.draw_last()
    }

    fn draw_last(&mut self) -> io::Result<()> {
        let size = Size::of_window();
        let lines = self.lines(&self.last, size);
        self.canvas.draw(&lines, size)
    }

    /// Erases the table.
    pub fn end(&mut self) -> io::Result<()> {
        self.canvas.end()
    }

    fn add(&mut self, figures: &Figures) {
        self.span_ns += figures.span_ns;
        if figures.span_ns == 0 {
            return;
        }
        for (class, now) in self.classes.iter_mut().zip(&figures.classes) {
            class.total += now.traffic;
            if class.history.len() == BARS {
                class.history.pop_front();
            }
            let seconds = figures.span_ns as f64 / 1e9;
            class
                .history
                .push_back(now.traffic.packets as f64 / seconds);
        }
    }

    /// The table, cut to the window: groups are omitted before classes.
    fn lines(&self, figures: &Figures, size: Size) -> Vec<String> {
        let room = size.room();
        let columns = Columns::new(self.longest_name(figures), room);
        let most = size.lines();
        let groups = |index| groups_of(figures, index).count();
        let all = 1
            + (0..self.classes.len())
                .map(|index| 1 + groups(index))
                .sum::<usize>();
        let most_groups = if all <= most {
            usize::MAX
        } else {
            // Without the heading, the classes, and the last line.
            let left = most.saturating_sub(2 + self.classes.len());
            left / self.classes.len().max(1)
        };
        let elapsed = span(Duration::from_nanos(self.span_ns));
        let heading = columns.line(&elapsed, ["packets/s", "bits/s", "packets"], "");
        let mut lines = vec![self.paint.dim(&heading)];
        for (index, class) in self.classes.iter().enumerate() {
            let now = figures
                .classes
                .get(index)
                .map_or(Traffic::default(), |c| c.traffic);
            let [pps, bps] = rates(now, figures.span_ns);
            let values = class.history.iter().rev().take(columns.bars).rev().copied();
            let bars = self.sparks.line(values);
            let total = grouped(class.total.packets);
            lines.push(columns.line(&class.name, [&pps, &bps, &total], &bars));
            for (key, traffic) in groups_of(figures, index).take(most_groups) {
                let [pps, bps] = rates(traffic, figures.span_ns);
                let line = columns.line(&format!("  {key}"), [&pps, &bps, ""], "");
                lines.push(self.paint.dim(&line));
            }
        }
        if all > most {
            lines.truncate(most - 1);
            let more = format!("({} more lines)", all - lines.len());
            lines.push(fitted(&more, room));
        }
        lines
    }

    fn longest_name(&self, figures: &Figures) -> usize {
        let names = self.classes.iter().map(|class| width(&class.name));
        let keys = (0..self.classes.len()).flat_map(|index| groups_of(figures, index));
        let keys = keys.map(|(key, _)| width(&key) + 2);
        names.chain(keys).max().unwrap_or(0)
    }
}

/// The groups of a class.
fn groups_of(figures: &Figures, class: usize) -> impl Iterator<Item = (String, Traffic)> {
    let class = figures.classes.get(class);
    let groups = class.and_then(|class| class.groups.as_ref());
    groups.into_iter().flat_map(Groups::lines)
}

#[cfg(test)]
mod tests;
