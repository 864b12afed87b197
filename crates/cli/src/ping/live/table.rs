//! The table: what is drawn, and its columns.

use std::fmt::Write as _;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use tapline::ping::Prober;

use super::order::Order;
use super::plots::{Plots, Plotted};
use super::recent::{Rates, Recent};
use crate::ping::output::account;
use crate::ping::output::figures::{self, PingFigures, RttFigures};
use crate::ping::output::milliseconds::fping_ms;
use crate::screen::{self, Charset, Key, Scroll, Theme, cut, fitted, show_lines, width};
use crate::values::units::grouped;

/// Maximum ICMP errors that are listed.
const MOST_ERRORS: usize = 3;

/// The state of the table besides the statistics.
#[derive(Debug)]
pub struct Table {
    pub recent: Recent,
    pub rates: Rates,
    pub order: Order,
    pub scroll: Scroll,
    pub plotted: Plotted,
    pub theme: Theme,
    pub charset: Charset,
    /// Whether keys are available.
    pub has_keys: bool,
    /// Why the last probe that was not sent failed.
    pub send_error: Option<String>,
}

impl Table {
    pub fn press(&mut self, key: Key) {
        match key {
            Key::Char('s' | 'S') => self.order = self.order.next(),
            Key::Char('p' | 'P') => self.plotted = self.plotted.next(),
            key => {
                self.scroll.press(key);
            }
        }
    }

    /// Draws everything. `summary` is the elapsed time and the rate.
    pub fn render(&mut self, frame: &mut Frame<'_>, statistics: &Prober, summary: &str) {
        let area = frame.area();
        let room = area.width.into();
        let head = self.head(statistics, summary, room);
        let below = self.below(statistics, room);
        // Besides these, a blank line and the heading.
        let left = usize::from(area.height).saturating_sub(head.len() + below.len() + 2);
        let targets = statistics.targets().indices().count();
        let plot = self.plotted.lines(left, targets);
        let [head_area, table_area, plot_area, below_area] = Layout::vertical([
            Constraint::Length(head.len() as u16 + 1),
            Constraint::Length((left - plot + 1) as u16),
            Constraint::Length(plot as u16),
            Constraint::Length(below.len() as u16),
        ])
        .areas(area);
        show_lines(frame, head_area, head);
        let selected = self.table(frame, table_area, statistics);
        if plot > 0 {
            let plots = Plots {
                plotted: self.plotted,
                selected: selected
                    .as_ref()
                    .map(|(target, name)| (*target, name.as_str())),
                recent: &self.recent,
                rates: &self.rates,
                theme: self.theme,
                charset: self.charset,
            };
            plots.render(frame, plot_area);
        }
        show_lines(frame, below_area, below);
    }

    /// The totals.
    fn head(&self, statistics: &Prober, summary: &str, room: usize) -> Vec<Line<'static>> {
        let PingFigures { counts, rtt } = PingFigures::of_all(statistics);
        let targets = account::targets(statistics, 0);
        let first = cut(&format!("{summary}  {targets}"), room);
        let mut lines = vec![Line::styled(first, self.theme.strong())];
        let more = [account::probes(&counts)].into_iter();
        let more = more.chain(account::extra_answers(&counts));
        let more = more.chain(rtt.map(|rtt| account::round_trips(&rtt)));
        lines.extend(more.map(|line| Line::raw(cut(&line, room))));
        lines
    }

    /// The heading and the rows that fit into `area`. Returns the selected target.
    fn table(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        statistics: &Prober,
    ) -> Option<(u32, String)> {
        let targets = statistics.targets();
        let count = targets.indices().count();
        // If not all fit, the last line is the number of the others.
        let lines = usize::from(area.height).saturating_sub(1);
        let rows = if count <= lines {
            count
        } else {
            lines.saturating_sub(1)
        };
        let window = self.scroll.window(count, rows);
        let shown = self.order.at(statistics, window.clone());
        let names: Vec<String> = (shown.iter())
            .map(|&target| figures::name(targets, target) + &figures::path(targets, target))
            .collect();
        let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let columns = Columns::new(longest, area.width.into(), self.recent.is_kept());
        let mut areas = area.rows();
        if let Some(area) = areas.next() {
            frame.render_widget(Line::styled(columns.heading(), self.theme.dim()), area);
        }
        let place = self.scroll.selected() - window.start.min(self.scroll.selected());
        for (index, (name, &target)) in names.iter().zip(&shown).enumerate() {
            let Some(area) = areas.next() else { break };
            let is_selected = index == place && count > 1 && self.has_keys;
            self.row(
                frame,
                area,
                &columns,
                (target, name),
                statistics,
                is_selected,
            );
        }
        if let (true, Some(area)) = (rows < count, areas.next()) {
            let more = format!("({} more targets)", grouped((count - rows) as u64));
            frame.render_widget(
                Line::styled(cut(&more, area.width.into()), self.theme.dim()),
                area,
            );
        }
        let selected = *shown.get(place)?;
        let name = figures::name(targets, selected) + &figures::path(targets, selected);
        Some((selected, name))
    }

    fn row(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        columns: &Columns,
        (target, name): (u32, &str),
        statistics: &Prober,
        is_selected: bool,
    ) {
        let figures = PingFigures::of_target(statistics, target);
        let last_ns = statistics.rtt(target).map(|rtt| rtt.last_ns);
        let has_address = statistics.targets().address(target).is_some();
        let is_silent = !has_address
            || figures.counts.received == 0
                && figures.counts.sent + figures.counts.local_drops > figures.counts.pending();
        let style = if is_silent {
            self.theme.bad()
        } else {
            Style::new()
        };
        let line = columns.row(name, has_address, &figures, last_ns);
        let fits = width(&line) <= columns.text();
        frame.render_widget(Line::styled(line, style), area);
        if columns.bars > 0 && fits {
            let bars = self.recent.of(target, columns.bars);
            let bars = self.charset.sparkline(bars, self.theme);
            let at = columns.text() as u16 + 2;
            let area = Rect {
                x: area.x + at,
                width: area.width.saturating_sub(at).min(columns.bars as u16),
                ..area
            };
            frame.render_widget(bars, area);
        }
        if is_selected {
            frame.buffer_mut().set_style(area, self.theme.selected());
            let mark = Rect { width: 1, ..area };
            frame.render_widget(Line::raw(">"), mark);
        }
    }

    /// Errors, and the keys.
    fn below(&self, statistics: &Prober, room: usize) -> Vec<Line<'static>> {
        let mut lines = account::error_lines(statistics.errors(), MOST_ERRORS);
        let unsent = statistics.total().local_drops;
        if let Some(error) = &self.send_error {
            lines.push(format!("not sent: {}, latest: {error}", grouped(unsent)));
        }
        lines.extend(screen::last_line());
        let order = self.order.name();
        let keys = if self.has_keys {
            let next = self.order.next().name();
            format!("sorted by {order}; s: by {next}, q: end, p: plot, arrows: scroll and select")
        } else {
            format!("sorted by {order}")
        };
        let keys = Line::styled(cut(&keys, room), self.theme.dim());
        let lines = lines.iter().map(|line| Line::raw(cut(line, room)));
        lines.chain([keys]).collect()
    }
}

/// Width and headings of the numeric columns.
const NUMBER: usize = 9;
const HEADINGS: [&str; 6] = ["loss", "last ms", "mean", "p50", "p99", "max"];

const LEAST_NAME: usize = 8;
const MOST_NAME: usize = 40;

/// Columns of the mark in front of the selected target.
const MARK: usize = 1;

/// Number of bars.
const LEAST_BARS: usize = 8;
const MOST_BARS: usize = 120;

/// The columns that fit.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    all: usize,
    /// Including the mark of the selected target.
    name: usize,
    /// Number of numeric columns.
    numbers: usize,
    pub bars: usize,
}

impl Columns {
    /// For a window that is `all` characters wide.
    pub fn new(longest_name: usize, all: usize, with_bars: bool) -> Self {
        let numbers = (all.saturating_sub(LEAST_NAME + MARK) / NUMBER).min(HEADINGS.len());
        let left = all - numbers * NUMBER;
        let name = (longest_name.clamp(LEAST_NAME, MOST_NAME) + MARK).min(left);
        let bars = (left - name).saturating_sub(2).min(MOST_BARS);
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

    /// Columns of the name and the numbers.
    pub fn text(&self) -> usize {
        self.name + self.numbers * NUMBER
    }

    pub fn heading(&self) -> String {
        let mut line = self.line("", &HEADINGS.map(str::to_owned));
        if self.bars > 0 {
            line.push_str("  latest");
        }
        line
    }

    /// The line of a target.
    pub fn row(
        &self,
        name: &str,
        has_address: bool,
        figures: &PingFigures,
        last_ns: Option<u64>,
    ) -> String {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), fping_ms);
        let of = |pick: fn(&RttFigures) -> Option<u64>| time(figures.rtt.as_ref().and_then(pick));
        let numbers = [
            if has_address {
                loss(figures)
            } else {
                "no addr".to_owned()
            },
            time(last_ns),
            of(|rtt| Some(rtt.mean_ns)),
            of(|rtt| rtt.p50_ns),
            of(|rtt| rtt.p99_ns),
            of(|rtt| Some(rtt.max_ns)),
        ];
        self.line(name, &numbers)
    }

    fn line(&self, name: &str, numbers: &[String; 6]) -> String {
        let mut line = format!(
            "{:MARK$}{}",
            "",
            fitted(name, self.name.saturating_sub(MARK))
        );
        for number in &numbers[..self.numbers] {
            // Writing to a String cannot fail.
            let _ = write!(line, "{number:>NUMBER$}");
        }
        line.truncate(line.trim_end().len());
        // A number may be wider than its column.
        cut(&line, self.all)
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
