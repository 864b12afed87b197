//! The live screen: a table of the classes and their groups, and a plot of their packet rates.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use tapline::count::Traffic;

use super::figures::rates;
use super::figures::{Figures, Groups};
use crate::screen::{
    self, Charset, Key, Plot, Screen, Scroll, Series, Theme, cut, fitted, show_lines, width,
};
use crate::values::units::{amount, grouped, span};

/// Reports kept per class.
const KEPT: usize = 600;

/// Number of bars of a class.
const MAX_BARS: usize = 120;
const MIN_BARS: usize = 8;

/// Widths of a rate and a sum, and the minimum width of a name.
const RATE: usize = 11;
const SUM: usize = 15;
const MIN_NAME: usize = 8;

/// Maximum width of the column for names.
const MAX_NAME: usize = 40;

/// Lines of the plot.
const MIN_PLOT: usize = 8;
const MAX_PLOT: usize = 15;

/// Maximum classes in the plot.
const MAX_PLOTTED: usize = 6;

/// Columns of the scale of the plot, about.
const SCALE: u16 = 6;

/// The table and its screen.
pub struct Live {
    screen: Screen,
    table: Table,
}

/// What is drawn.
struct Table {
    classes: Vec<ClassHistory>,
    span_ns: u64,
    last: Figures,
    order: Order,
    /// Whether the groups of a class may fill the window, so that others have to be scrolled to.
    has_all_groups: bool,
    has_plot: bool,
    scroll: Scroll,
    theme: Theme,
    charset: Charset,
    has_keys: bool,
}

/// The order of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// As in the arguments.
    List,
    /// Most packets of the last interval first.
    Packets,
    /// Most bytes of the last interval first.
    Bits,
}

impl Order {
    fn next(self) -> Self {
        match self {
            Self::List => Self::Packets,
            Self::Packets => Self::Bits,
            Self::Bits => Self::List,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Packets => "packets",
            Self::Bits => "bits",
        }
    }
}

/// The history of a class.
struct ClassHistory {
    name: String,
    total: Traffic,
    /// Packets per second, the oldest first.
    history: VecDeque<f64>,
}

/// A line of the table.
struct TableLine {
    text: String,
    /// The class whose bars follow; `None` for a group.
    class: Option<usize>,
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
        let bars = (columns - taken - name).saturating_sub(2).min(MAX_BARS);
        Self {
            all: columns,
            name,
            numbers,
            bars: if bars < MIN_BARS { 0 } else { bars },
        }
    }

    /// Columns of the name and the numbers.
    fn text(&self) -> usize {
        self.name + [RATE, RATE, SUM][..self.numbers].iter().sum::<usize>()
    }

    fn line(&self, name: &str, numbers: [&str; 3]) -> String {
        let mut line = fitted(name, self.name);
        for (number, columns) in numbers.iter().zip([RATE, RATE, SUM]).take(self.numbers) {
            // Writing to a String does not fail.
            let _ = write!(line, "{number:>columns$}");
        }
        line.truncate(line.trim_end().len());
        // A sum may outgrow its column.
        cut(&line, self.all)
    }
}

impl Live {
    /// Fills the terminal.
    pub fn open(names: impl Iterator<Item = String>) -> io::Result<Self> {
        let screen = Screen::open()?;
        let mut table = Table::new(names, Theme::of_terminal(), Charset::of_terminal());
        table.has_keys = screen.has_keys();
        Ok(Self { screen, table })
    }

    /// Draws `figures` and the history.
    pub fn draw(&mut self, figures: &Figures) -> io::Result<()> {
        self.table.add(figures);
        self.redraw()
    }

    /// The screen, to wait for its keys.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Handles keys and a new size of the window. Returns whether the count is to end.
    pub fn input(&mut self) -> io::Result<bool> {
        let keys = self.screen.keys()?;
        for &key in &keys {
            match key {
                Key::Char('q' | 'Q') => return Ok(true),
                key => self.table.press(key),
            }
        }
        if !keys.is_empty() || self.screen.is_resized() {
            self.redraw()?;
        }
        Ok(false)
    }

    /// Draws the last figures again.
    pub fn redraw(&mut self) -> io::Result<()> {
        self.screen.draw(|frame| self.table.render(frame))
    }
}

impl Table {
    fn new(names: impl Iterator<Item = String>, theme: Theme, charset: Charset) -> Self {
        let class = |name| ClassHistory {
            name,
            total: Traffic::default(),
            history: VecDeque::with_capacity(KEPT),
        };
        Self {
            classes: names.map(class).collect(),
            span_ns: 0,
            last: Figures::default(),
            order: Order::List,
            has_all_groups: false,
            has_plot: true,
            scroll: Scroll::default(),
            theme,
            charset,
            has_keys: false,
        }
    }

    fn press(&mut self, key: Key) {
        match key {
            Key::Char('s' | 'S') => self.order = self.order.next(),
            Key::Char('a' | 'A') => self.has_all_groups = !self.has_all_groups,
            Key::Char('p' | 'P') => self.has_plot = !self.has_plot,
            key => {
                self.scroll.press_text(key);
            }
        }
    }

    fn add(&mut self, figures: &Figures) {
        self.last = figures.clone();
        self.span_ns += figures.span_ns;
        if figures.span_ns == 0 {
            return;
        }
        for (class, now) in self.classes.iter_mut().zip(&figures.classes) {
            class.total += now.traffic;
            if class.history.len() == KEPT {
                class.history.pop_front();
            }
            let seconds = figures.span_ns as f64 / 1e9;
            class
                .history
                .push_back(now.traffic.packets as f64 / seconds);
        }
    }

    /// The heading, the lines, the plot, the last message and the keys.
    fn render(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let columns = Columns::new(self.longest_name(), area.width.into());
        let below = self.below(area.width.into());
        let left = usize::from(area.height).saturating_sub(1 + below.len());
        let lines = self.lines(&columns, left);
        let room = left.saturating_sub(lines.len());
        let plot = if self.has_plot && room > MIN_PLOT {
            (room - 1).min(MAX_PLOT)
        } else {
            0
        };
        let rows = if lines.len() <= left {
            lines.len()
        } else {
            left.saturating_sub(1)
        };
        let window = self.scroll.window(lines.len(), rows);
        let mut areas = area.rows();
        let mut next = || areas.next().unwrap_or_default();
        let elapsed = span(Duration::from_nanos(self.span_ns));
        let heading = columns.line(&elapsed, ["packets/s", "bits/s", "packets"]);
        frame.render_widget(Line::styled(heading, self.theme.dim()), next());
        for line in &lines[window] {
            self.row(frame, next(), &columns, line);
        }
        if rows < lines.len() {
            let more = format!("({} more lines)", lines.len() - rows);
            frame.render_widget(Line::raw(cut(&more, area.width.into())), next());
        }
        let bottom = Rect {
            y: area.bottom().saturating_sub(below.len() as u16),
            height: (below.len() as u16).min(area.height.saturating_sub(1)),
            ..area
        };
        show_lines(frame, bottom, below);
        if plot > 0 {
            let area = Rect {
                y: bottom.y - plot as u16,
                height: plot as u16,
                ..area
            };
            self.plot(frame, area);
        }
    }

    fn row(&self, frame: &mut Frame<'_>, area: Rect, columns: &Columns, line: &TableLine) {
        let style = if line.class.is_some() {
            Style::new()
        } else {
            self.theme.dim()
        };
        let fits = width(&line.text) <= columns.text();
        frame.render_widget(Line::styled(line.text.as_str(), style), area);
        let Some(class) = line.class.filter(|_| columns.bars > 0 && fits) else {
            return;
        };
        let history = &self.classes[class].history;
        let values = history.iter().rev().take(columns.bars).rev().copied();
        let at = columns.text() as u16 + 2;
        let area = Rect {
            x: area.x + at,
            width: area.width.saturating_sub(at).min(columns.bars as u16),
            ..area
        };
        frame.render_widget(self.charset.sparkline(values, self.theme), area);
    }

    fn plot(&self, frame: &mut Frame<'_>, area: Rect) {
        let series = self.classes.iter().take(MAX_PLOTTED).map(|class| Series {
            name: class.name.clone(),
            values: class.history.iter().copied().collect(),
        });
        let span = usize::from(area.width.saturating_sub(SCALE)).min(KEPT);
        let plot = Plot {
            title: "packets per second".into(),
            series: &series.collect::<Vec<_>>(),
            span,
            ends: [format!("{span} intervals ago"), "now".to_owned()],
            scale: |rate| amount(rate).trim_end().to_owned(),
        };
        plot.render(frame, area, self.theme, self.charset);
    }

    /// The last message, and the keys.
    fn below(&self, room: usize) -> Vec<Line<'static>> {
        let message = screen::last_line().map(|line| Line::raw(cut(&line, room)));
        let mut keys = None;
        if self.has_keys {
            let order = self.order.name();
            let next = self.order.next().name();
            let text = format!(
                "sorted by {order}; s: by {next}, q: end, p: plot, a: all groups, arrows: scroll"
            );
            keys = Some(Line::styled(cut(&text, room), self.theme.dim()));
        }
        message.into_iter().chain(keys).collect()
    }

    /// The lines of all classes. If they do not fit into `most`, groups are omitted before classes.
    fn lines(&self, columns: &Columns, most: usize) -> Vec<TableLine> {
        let groups = |index| groups_of(&self.last, index).count();
        let all = (0..self.classes.len()).map(|index| 1 + groups(index));
        let most_groups = if self.has_all_groups || all.sum::<usize>() <= most {
            usize::MAX
        } else {
            // Without the classes and the last line.
            let left = most.saturating_sub(1 + self.classes.len());
            left / self.classes.len().max(1)
        };
        let mut lines = Vec::new();
        let mut omitted = 0;
        for index in self.sorted() {
            let class = &self.classes[index];
            let [pps, bps] = rates(self.traffic(index), self.last.span_ns);
            let total = grouped(class.total.packets);
            lines.push(TableLine {
                text: columns.line(&class.name, [&pps, &bps, &total]),
                class: Some(index),
            });
            for (place, (key, traffic)) in groups_of(&self.last, index).enumerate() {
                if place >= most_groups {
                    omitted += 1;
                    continue;
                }
                let [pps, bps] = rates(traffic, self.last.span_ns);
                lines.push(TableLine {
                    text: columns.line(&format!("  {key}"), [&pps, &bps, ""]),
                    class: None,
                });
            }
        }
        if omitted > 0 && lines.len() < most {
            let text = cut(&format!("({omitted} more lines)"), columns.all);
            lines.push(TableLine { text, class: None });
        }
        lines
    }

    /// The classes in the selected order.
    fn sorted(&self) -> Vec<usize> {
        let mut classes: Vec<usize> = (0..self.classes.len()).collect();
        match self.order {
            Order::List => {}
            Order::Packets => {
                classes.sort_by_key(|&class| std::cmp::Reverse(self.traffic(class).packets));
            }
            Order::Bits => {
                classes.sort_by_key(|&class| std::cmp::Reverse(self.traffic(class).bytes));
            }
        }
        classes
    }

    /// The packets of a class in the last interval.
    fn traffic(&self, class: usize) -> Traffic {
        let class = self.last.classes.get(class);
        class.map_or(Traffic::default(), |class| class.traffic)
    }

    fn longest_name(&self) -> usize {
        let names = self.classes.iter().map(|class| width(&class.name));
        let keys = (0..self.classes.len()).flat_map(|index| groups_of(&self.last, index));
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
