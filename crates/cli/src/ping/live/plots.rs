//! The plots below the table.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::recent::{Rates, Recent};
use crate::ping::output::milliseconds::fping_ms;
use crate::screen::{Charset, Plot, Series, Theme};
use crate::values::units::amount;

/// In a window of this width both plots are side by side.
const BOTH: u16 = 120;

/// Lines of a plot at least and at most.
const LEAST_LINES: usize = 8;
const MOST_LINES: usize = 15;

/// Columns of the scale of a plot, about.
const SCALE: u16 = 9;

/// What is plotted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plotted {
    /// Round trips if all targets fit above the plot, otherwise nothing.
    Auto,
    RoundTrips,
    Rates,
    Nothing,
}

impl Plotted {
    pub fn next(self) -> Self {
        match self {
            Self::Auto | Self::RoundTrips => Self::Rates,
            Self::Rates => Self::Nothing,
            Self::Nothing => Self::RoundTrips,
        }
    }

    /// Lines of the plot if `left` are left for it and for the lines of `targets` targets.
    pub fn lines(self, left: usize, targets: usize) -> usize {
        let room = left.saturating_sub(targets);
        match self {
            Self::Nothing => 0,
            Self::Auto if room < LEAST_LINES => 0,
            _ if left < LEAST_LINES + 3 => 0,
            _ => room.clamp(LEAST_LINES, MOST_LINES),
        }
    }
}

/// The plots' data.
pub struct Plots<'a> {
    pub plotted: Plotted,
    /// The selected target and its name.
    pub selected: Option<(u32, &'a str)>,
    pub recent: &'a Recent,
    pub rates: &'a Rates,
    pub theme: Theme,
    pub charset: Charset,
}

impl Plots<'_> {
    pub fn render(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.width >= BOTH {
            let halves = Layout::horizontal([Constraint::Fill(1); 2]).spacing(2);
            let [left, right] = halves.areas(area);
            self.round_trips(frame, left);
            self.rates(frame, right);
        } else if self.plotted == Plotted::Rates {
            self.rates(frame, area);
        } else {
            self.round_trips(frame, area);
        }
    }

    fn round_trips(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some((target, name)) = self.selected else {
            return;
        };
        let span = usize::from(area.width.saturating_sub(SCALE)).min(self.recent.depth());
        let series = [Series {
            name: String::new(),
            values: self.recent.of(target, span).collect(),
        }];
        let plot = Plot {
            title: format!("round trips to {name}, ms"),
            series: &series,
            span,
            ends: [format!("{span} probes ago"), "now".to_owned()],
            scale: |ns| fping_ms(nanoseconds(ns)),
        };
        plot.render(frame, area, self.theme, self.charset);
    }

    fn rates(&self, frame: &mut Frame<'_>, area: Rect) {
        let span = usize::from(area.width.saturating_sub(SCALE));
        let series = [("sent", 0), ("received", 1)].map(|(name, index)| Series {
            name: name.to_owned(),
            values: self.rates.of(index).collect(),
        });
        let plot = Plot {
            title: "probes per second".to_owned(),
            series: &series,
            span,
            ends: [format!("{span} s ago"), "now".to_owned()],
            scale: |rate| amount(rate).trim_end().to_owned(),
        };
        plot.render(frame, area, self.theme, self.charset);
    }
}

#[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
fn nanoseconds(ns: f64) -> u64 {
    ns as u64
}
