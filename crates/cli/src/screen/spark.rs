//! Sparklines.

use ratatui::style::Style;
use ratatui::symbols::{Marker, bar};
use ratatui::widgets::Sparkline;

use super::Theme;

/// Bars of ASCII characters.
const ASCII: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "%",
    three_quarters: "*",
    five_eighths: "+",
    half: "=",
    three_eighths: "-",
    one_quarter: ":",
    one_eighth: ".",
    empty: " ",
};

/// Height of the longest bar. One of height 1 is visible.
const FULL: u64 = 8;

/// A missing value, drawn with its own mark.
pub const MISSING: f64 = f64::INFINITY;

/// The characters of bars and plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Unicode,
    Ascii,
}

impl Charset {
    /// Selected by the locale.
    pub fn of_terminal() -> Self {
        // As in setlocale(3), the first that is set applies.
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let mut set = names.iter().filter_map(std::env::var_os);
        let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Self::Unicode
        } else {
            Self::Ascii
        }
    }

    /// The mark of a missing value.
    pub fn missing(self) -> char {
        match self {
            Self::Unicode => '×',
            Self::Ascii => 'x',
        }
    }

    /// The dots of a plot.
    pub fn dots(self) -> Marker {
        match self {
            Self::Unicode => Marker::Braille,
            Self::Ascii => Marker::Custom('*'),
        }
    }

    /// One bar per value, scaled to the largest. A value above 0 is visible.
    #[expect(clippy::cast_sign_loss, reason = "heights are not negative")]
    pub fn sparkline(
        self,
        values: impl Iterator<Item = f64> + Clone,
        theme: Theme,
    ) -> Sparkline<'static> {
        let there = values.clone().filter(|value| value.is_finite());
        let most = there.fold(0.0, f64::max);
        let height = |value: f64| {
            if value <= 0.0 {
                0
            } else {
                ((value / most * FULL as f64).ceil() as u64).max(1)
            }
        };
        let heights = values.map(|value| value.is_finite().then(|| height(value)));
        let set = match self {
            Self::Unicode => bar::NINE_LEVELS,
            Self::Ascii => ASCII,
        };
        Sparkline::default()
            .data(heights.collect::<Vec<_>>())
            .max(FULL)
            .bar_set(set)
            .style(Style::new())
            .absent_value_symbol(self.missing().to_string())
            .absent_value_style(theme.bad())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::drawn;
    use super::*;

    fn bars(values: &[f64], charset: Charset) -> String {
        let sparkline = charset.sparkline(values.iter().copied(), Theme::plain());
        drawn(values.len().max(1) as u16, 1, |frame| {
            frame.render_widget(sparkline, frame.area());
        })
    }

    #[test]
    fn the_largest_is_full_and_the_smallest_is_visible() {
        let unicode = Charset::Unicode;
        assert_eq!(bars(&[0.0, 1.0, 4.0, 8.0], unicode), " ▁▄█");
        assert_eq!(bars(&[0.0, 1e-9, 1e9], unicode), " ▁█");
        assert_eq!(bars(&[5.0, 5.0], Charset::Ascii), "##");
        assert_eq!(bars(&[0.0, 0.0], unicode), "");
        assert_eq!(bars(&[], unicode), "");
    }

    #[test]
    fn missing_values_have_a_mark() {
        let values = [1.0, MISSING, 2.0];
        assert_eq!(bars(&values, Charset::Unicode), "▄×█");
        assert_eq!(bars(&values, Charset::Ascii), "=x#");
        assert_eq!(bars(&[MISSING], Charset::Ascii), "x");
    }
}
