//! A plot of values over time.

use ratatui::Frame;
use ratatui::layout::{Alignment, Position, Rect};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};

use super::{Charset, MISSING, Theme};

/// Fewer columns or lines show nothing.
const LEAST_COLUMNS: u16 = 30;
const LEAST_LINES: u16 = 6;

/// A line of the plot.
pub struct Series {
    pub name: String,
    /// Oldest first; [`MISSING`] values get a mark at the bottom.
    pub values: Vec<f64>,
}

/// Values over time, the latest on the right.
pub struct Plot<'a> {
    pub title: String,
    pub series: &'a [Series],
    /// The number of values that the width stands for.
    pub span: usize,
    /// What the left and the right end are called.
    pub ends: [String; 2],
    /// Prints a value for the scale.
    pub scale: fn(f64) -> String,
}

impl Plot<'_> {
    /// Draws the plot. A small area stays empty.
    pub fn render(&self, frame: &mut Frame<'_>, area: Rect, theme: Theme, charset: Charset) {
        if area.width < LEAST_COLUMNS || area.height < LEAST_LINES {
            return;
        }
        let [title, below] = [
            Rect { height: 1, ..area },
            Rect {
                y: area.y + 1,
                height: area.height - 1,
                ..area
            },
        ];
        frame.render_widget(self.heading(theme), title);
        let values = self.series.iter().flat_map(|series| &series.values);
        let most = values.copied().filter(|value| value.is_finite());
        let most = most.fold(0.0, f64::max);
        let top = if most > 0.0 { most } else { 1.0 };
        let span = self.span.max(2) as f64;
        let points: Vec<Points> = (self.series.iter())
            .map(|series| Points::new(&series.values, self.span))
            .collect();
        let mut lines = Vec::new();
        for (index, points) in points.iter().enumerate() {
            let style = theme.series(index);
            for part in &points.parts {
                let line = Dataset::default().data(part).style(style);
                lines.push(line.marker(charset.dots()).graph_type(GraphType::Line));
            }
            let missing = Marker::Custom(charset.missing());
            let marks = Dataset::default().data(&points.missing).marker(missing);
            lines.push(marks.style(theme.bad()));
        }
        let scale =
            [0.0, top / 2.0, top].map(|value| Span::styled((self.scale)(value), theme.dim()));
        let ends = self
            .ends
            .iter()
            .map(|end| Span::styled(end.clone(), theme.dim()));
        // The first label stands on the right of the corner, so that only the scale takes columns.
        let time = Axis::default().bounds([1.0 - span, 0.0]).labels(ends);
        let values = Axis::default().bounds([0.0, top * 1.02]).labels(scale);
        let chart = Chart::new(lines)
            .x_axis(time.labels_alignment(Alignment::Right))
            .y_axis(values.labels_alignment(Alignment::Right))
            .legend_position(None);
        frame.render_widget(chart, below);
        if charset == Charset::Ascii {
            replace_axes(frame, below);
        }
    }

    /// The title, and the names of the lines in their colours.
    fn heading(&self, theme: Theme) -> Line<'_> {
        let mut spans = vec![Span::styled(self.title.as_str(), theme.strong())];
        if self.series.len() > 1 {
            for (index, series) in self.series.iter().enumerate() {
                spans.push(Span::raw("  "));
                spans.push(Span::styled(series.name.as_str(), theme.series(index)));
            }
        }
        Line::from(spans)
    }
}

/// The points of a line: its parts between missing values, and these.
struct Points {
    parts: Vec<Vec<(f64, f64)>>,
    missing: Vec<(f64, f64)>,
}

impl Points {
    fn new(values: &[f64], span: usize) -> Self {
        let shown = &values[values.len().saturating_sub(span)..];
        let place = |index: usize| 1.0 - (shown.len() - index) as f64;
        let mut points = Self {
            parts: vec![Vec::new()],
            missing: Vec::new(),
        };
        for (index, &value) in shown.iter().enumerate() {
            if value == MISSING {
                points.missing.push((place(index), 0.0));
                points.parts.push(Vec::new());
            } else if let Some(part) = points.parts.last_mut() {
                part.push((place(index), value));
            }
        }
        points.parts.retain(|part| !part.is_empty());
        points
    }
}

/// Axes in ASCII: the widget has only box-drawing characters.
fn replace_axes(frame: &mut Frame<'_>, area: Rect) {
    let buffer = frame.buffer_mut();
    for (column, row) in area
        .rows()
        .flat_map(|row| (row.x..row.right()).map(move |x| (x, row.y)))
    {
        let Some(cell) = buffer.cell_mut(Position::new(column, row)) else {
            continue;
        };
        let replaced = match cell.symbol() {
            "│" => "|",
            "─" => "-",
            "└" => "+",
            _ => continue,
        };
        cell.set_symbol(replaced);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::drawn;
    use super::*;

    fn plotted(values: &[f64], columns: u16, rows: u16, charset: Charset) -> String {
        let series = [Series {
            name: "a".into(),
            values: values.to_vec(),
        }];
        let plot = Plot {
            title: "values".into(),
            series: &series,
            span: 20,
            ends: ["old".into(), "new".into()],
            scale: |value| format!("{value:.0}"),
        };
        drawn(columns, rows, |frame| {
            plot.render(frame, frame.area(), Theme::plain(), charset);
        })
    }

    #[test]
    fn the_latest_value_is_on_the_right_and_missing_ones_have_a_mark() {
        let values = [8.0, 8.0, MISSING, 4.0, 8.0];
        assert_eq!(
            plotted(&values, 40, 8, Charset::Ascii),
            "\
values
8|                             ***     *
 |                                    *
4|                                   *
 |
0|                                 x
 +--------------------------------------
 old                                 new"
        );
        let unicode = plotted(&values, 40, 8, Charset::Unicode);
        assert!(unicode.contains('×') && unicode.contains("0│") && !unicode.contains('*'));
    }

    #[test]
    fn a_small_area_and_no_values_draw_no_line() {
        assert_eq!(plotted(&[1.0], 20, 8, Charset::Ascii), "");
        assert_eq!(plotted(&[1.0], 40, 5, Charset::Ascii), "");
        assert!(!plotted(&[], 40, 8, Charset::Ascii).contains('*'));
    }
}
