//! The screen while packets are measured.

use std::io;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use tapline::Stopper;
use tapline::latency::Delays;

use super::bars::bars;
use super::delays::{quantiles, time};
use crate::screen::{
    Charset, Key, MISSING, Plot, Screen, Scroll, Series, Theme, cut, show_lines, width,
};
use crate::values::units::grouped;

/// Intervals of which the percentiles are kept.
const KEPT: usize = 600;

/// Lines of the plot at least and at most.
const MIN_PLOT: usize = 8;
const MAX_PLOT: usize = 15;

/// Columns of the scale of the plot, about.
const SCALE: u16 = 9;

const KEYS: &str = "q: end, p: plot, arrows: scroll";

/// The percentiles and the histogram of all packets so far, and how two percentiles developed.
pub struct Live {
    screen: Option<Screen>,
    stopper: Stopper,
    view: View,
}

struct View {
    delays: Delays,
    scroll: Scroll,
    has_plot: bool,
    has_keys: bool,
    /// The median and the 99th percentile of all packets so far, at the end of each interval.
    history: [Series; 2],
    theme: Theme,
    charset: Charset,
}

impl Live {
    /// `stopper` ends the measurement.
    pub fn new(stopper: Stopper) -> Self {
        Self {
            screen: None,
            stopper,
            view: View::new(Theme::of_terminal(), Charset::of_terminal()),
        }
    }

    /// Fills the terminal, at the first call, and shows `delays`.
    pub fn draw(&mut self, delays: &Delays) -> io::Result<()> {
        if self.screen.is_none() {
            let screen = Screen::open()?;
            self.view.has_keys = screen.has_keys();
            self.screen = Some(screen);
        }
        self.view.add(delays);
        self.redraw()
    }

    /// Handles keys and a new size of the window.
    pub fn input(&mut self) -> io::Result<()> {
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        let keys = screen.keys()?;
        let is_due = !keys.is_empty() || screen.is_resized();
        for key in keys {
            match key {
                Key::Char('q' | 'Q') => self.stopper.stop(),
                Key::Char('p' | 'P') => self.view.has_plot = !self.view.has_plot,
                key => {
                    self.view.scroll.press_text(key);
                }
            }
        }
        if is_due { self.redraw() } else { Ok(()) }
    }

    fn redraw(&mut self) -> io::Result<()> {
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        screen.draw(|frame| self.view.render(frame))
    }
}

impl View {
    fn new(theme: Theme, charset: Charset) -> Self {
        Self {
            delays: Delays::default(),
            scroll: Scroll::default(),
            has_plot: true,
            has_keys: false,
            history: ["p50", "p99"].map(|name| Series {
                name: name.to_owned(),
                values: Vec::new(),
            }),
            theme,
            charset,
        }
    }

    fn add(&mut self, delays: &Delays) {
        self.delays = delays.clone();
        for (series, share) in self.history.iter_mut().zip([0.5, 0.99]) {
            if series.values.len() == KEPT {
                series.values.remove(0);
            }
            let delay = delays.quantile(share);
            series.values.push(delay.map_or(MISSING, |ns| ns as f64));
        }
    }

    fn render(&mut self, frame: &mut Frame<'_>) {
        let mut area = frame.area();
        let room = usize::from(area.width);
        if self.has_keys && area.height > 1 {
            let [above, keys] = area.layout(&Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(1),
            ]));
            let text = Line::styled(cut(KEYS, room), self.theme.dim());
            frame.render_widget(text, keys);
            area = above;
        }
        let lines = lines(&self.delays, room);
        let most = usize::from(area.height);
        let left = most.saturating_sub(lines.len() + 1);
        if self.has_plot && left >= MIN_PLOT {
            let height = left.min(MAX_PLOT) as u16;
            let plot = Rect {
                y: area.bottom() - height,
                height,
                ..area
            };
            self.plot(frame, plot);
        }
        let rows = if lines.len() <= most {
            lines.len()
        } else {
            most.saturating_sub(1)
        };
        let window = self.scroll.window(lines.len(), rows);
        let left_out = lines.len() - rows;
        let shown = lines[window].iter().map(|line| Line::raw(cut(line, room)));
        let more = format!("({left_out} more lines than the window has)");
        let more = (left_out > 0).then(|| Line::raw(cut(&more, room)));
        show_lines(frame, area, shown.chain(more));
    }

    fn plot(&self, frame: &mut Frame<'_>, area: Rect) {
        let span = usize::from(area.width.saturating_sub(SCALE)).min(KEPT);
        let plot = Plot {
            title: "percentiles so far".into(),
            series: &self.history,
            span,
            ends: [format!("{span} s ago"), "now".to_owned()],
            scale: |ns| time(nanoseconds(ns)),
        };
        plot.render(frame, area, self.theme, self.charset);
    }
}

#[expect(clippy::cast_sign_loss, reason = "delays are not negative")]
fn nanoseconds(ns: f64) -> u64 {
    ns as u64
}

/// The number of packets, the percentiles and the histogram, in `room` columns.
fn lines(delays: &Delays, room: usize) -> Vec<String> {
    let packets = format!("{} packets", grouped(delays.histogram.count()));
    let mut lines = vec![packets];
    for part in quantiles(delays) {
        match lines.last_mut() {
            Some(line) if width(line) + 2 + width(&part) <= room => {
                line.push_str("  ");
                line.push_str(&part);
            }
            _ => lines.push(part),
        }
    }
    lines.extend(bars(delays, room));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::testing::drawn;

    fn shown(view: &mut View, columns: u16, rows: u16) -> String {
        drawn(columns, rows, |frame| view.render(frame))
    }

    #[test]
    fn what_is_drawn_fits_into_the_window() {
        let mut delays = Delays::default();
        for doubling in 4..30 {
            delays.record(0, 1 << doubling);
        }
        let mut view = View::new(Theme::plain(), Charset::Unicode);
        view.add(&delays);
        view.has_keys = true;
        for (columns, rows) in [(200, 60), (100, 24), (80, 24), (40, 10), (12, 5), (1, 1)] {
            shown(&mut view, columns, rows);
        }
        let all = shown(&mut view, 99, 60);
        assert!(all.starts_with("26 packets  min 16 ns  p50 "), "{all}");
        assert_eq!(all.matches('#').count() / 40, 26);
        assert!(all.contains("\npercentiles so far  p50  p99\n") && all.ends_with(KEYS));
        view.has_keys = false;
        let some = shown(&mut view, 59, 10);
        assert!(
            some.ends_with("\n(19 more lines than the window has)"),
            "{some}"
        );
        assert!(!some.contains("1.07 s"));
        view.scroll.press_text(Key::End);
        assert!(shown(&mut view, 59, 10).contains("1.07 s"));
    }
}
