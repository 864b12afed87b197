//! Charts, drawn as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

// Each is replaced by a colour of the theme (`style.css`).
pub static INK: RGBColor = RGBColor(1, 1, 1);
pub static GRID: RGBColor = RGBColor(2, 2, 2);
pub static SERIES: [RGBColor; 4] = [
    RGBColor(1, 2, 3),
    RGBColor(2, 3, 4),
    RGBColor(3, 4, 5),
    RGBColor(4, 5, 6),
];

/// Height of letters.
const LETTERS: u32 = 13;

/// A window narrower than this is that of a telephone.
const NARROW: u32 = 600;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// What can be drawn, and its numbers.
pub trait Chart {
    fn height(&self, width: u32) -> u32;
    fn draw(&self, area: &Area<'_>, width: u32) -> DrawResult;
    /// What it shows, for those who do not see it.
    fn description(&self) -> String;
    fn table(&self) -> ChartTable;

    fn svg(&self, width: u32) -> String {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, (width, self.height(width)));
        let area = area.into_drawing_area();
        // Drawing into a String fails for no chart of finite numbers; others are drawn as far as possible.
        let _ = self.draw(&area, width).map(|()| area.present());
        drop(area);
        text
    }
}

/// The numbers of a chart: columns, and whether they are numbers.
pub struct ChartTable {
    pub columns: Vec<(String, bool)>,
    pub rows: Vec<Vec<String>>,
}

/// Curves one above another, over the same axis.
#[derive(Debug)]
pub struct Panels<'a> {
    /// What the axis has, with its unit.
    pub across: &'a str,
    /// The first place on the axis, and the distance between places.
    pub start: f64,
    pub step: f64,
    pub curves: Vec<Panel<'a>>,
}

/// A curve.
#[derive(Debug)]
pub struct Panel<'a> {
    /// What it shows, with the unit.
    pub title: &'a str,
    /// A value for each place.
    pub values: Vec<f64>,
}

const PANEL_HEIGHT: u32 = 110;
const AXIS_HEIGHT: u32 = 46;

impl Chart for Panels<'_> {
    fn height(&self, _: u32) -> u32 {
        self.curves.len() as u32 * PANEL_HEIGHT + AXIS_HEIGHT
    }

    fn draw(&self, area: &Area<'_>, width: u32) -> DrawResult {
        let mut rest = area.clone();
        for (number, panel) in self.curves.iter().enumerate() {
            let is_last = number + 1 == self.curves.len();
            let height = PANEL_HEIGHT + if is_last { AXIS_HEIGHT } else { 0 };
            let (own, below) = rest.split_vertically(height);
            self.draw_panel(panel, number, &own, width, is_last)?;
            rest = below;
        }
        Ok(())
    }

    fn description(&self) -> String {
        let peak = |panel: &Panel<'_>| {
            let most = panel.values.iter().copied().fold(0.0, f64::max);
            format!("{}: at most {}", panel.title, short(most))
        };
        let panels: Vec<_> = self.curves.iter().map(peak).collect();
        format!("{}. Over {}.", panels.join("; "), self.across)
    }

    fn table(&self) -> ChartTable {
        let heads = self
            .curves
            .iter()
            .map(|panel| (panel.title.to_owned(), true));
        let across = std::iter::once((self.across.to_owned(), true));
        let places = self.curves.first().map_or(0, |panel| panel.values.len());
        let row = |place: usize| {
            let values = self.curves.iter().map(|panel| short(panel.values[place]));
            let at = plain(self.start + self.step * place as f64);
            std::iter::once(at).chain(values).collect()
        };
        ChartTable {
            columns: across.chain(heads).collect(),
            rows: (0..places).map(row).collect(),
        }
    }
}

impl Panels<'_> {
    fn draw_panel(
        &self,
        panel: &Panel<'_>,
        number: usize,
        area: &Area<'_>,
        width: u32,
        has_axis: bool,
    ) -> DrawResult {
        let places = panel.values.len().max(1) as f64;
        let end = self.start + self.step * places;
        let most = panel.values.iter().copied().fold(0.0, f64::max);
        let top = if most > 0.0 { most * 1.05 } else { 1.0 };
        let mut builder = ChartBuilder::on(area);
        builder
            .margin_right(12)
            .margin_top(24)
            .y_label_area_size(52);
        builder.x_label_area_size(if has_axis { AXIS_HEIGHT } else { 4 });
        let mut chart = builder.build_cartesian_2d(self.start..end, 0.0..top)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID);
        mesh.axis_style(GRID).label_style(letters(&INK)).y_labels(4);
        let labels = if width < NARROW { 4 } else { 10 };
        mesh.x_labels(if has_axis { labels } else { 0 });
        let formatter = |value: &f64| short(*value);
        mesh.y_label_formatter(&formatter);
        let x_formatter = |value: &f64| plain(*value);
        mesh.x_label_formatter(&x_formatter);
        if has_axis {
            mesh.x_desc(self.across).axis_desc_style(letters(&INK));
        }
        mesh.draw()?;
        let colour = &SERIES[number % SERIES.len()];
        // A step for each place, filled.
        let mut corners = vec![(self.start, 0.0)];
        for (place, &value) in panel.values.iter().enumerate() {
            let left = self.start + self.step * place as f64;
            corners.extend([(left, value), (left + self.step, value)]);
        }
        corners.push((end, 0.0));
        let line = corners[1..corners.len() - 1].to_vec();
        chart.draw_series([Polygon::new(corners, colour.mix(0.25).filled())])?;
        chart.draw_series([PathElement::new(line, colour.stroke_width(1))])?;
        area.draw(&Text::new(panel.title.to_owned(), (8, 6), letters(colour)))?;
        Ok(())
    }
}

/// Numbers by class, as bars.
#[derive(Debug)]
pub struct Bars<'a> {
    /// What the classes are.
    pub across: &'a str,
    /// What is counted.
    pub up: &'a str,
    /// Name and number of each class.
    pub classes: Vec<(String, f64)>,
}

impl Chart for Bars<'_> {
    fn height(&self, _: u32) -> u32 {
        220
    }

    fn draw(&self, area: &Area<'_>, width: u32) -> DrawResult {
        // Few bars are not wider than many.
        let count = self.classes.len().max(8);
        let most = self.classes.iter().map(|class| class.1).fold(0.0, f64::max);
        let top = if most > 0.0 { most * 1.05 } else { 1.0 };
        let mut builder = ChartBuilder::on(area);
        builder.margin_right(12).margin_top(24);
        builder.y_label_area_size(52).x_label_area_size(44);
        let mut chart = builder.build_cartesian_2d(0.0..count as f64, 0.0..top)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT);
        mesh.bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(letters(&INK))
            .y_labels(5);
        let formatter = |value: &f64| short(*value);
        mesh.y_label_formatter(&formatter).draw()?;
        let bars = self.classes.iter().enumerate().map(|(place, class)| {
            let place = place as f64;
            let corners = [(place + 0.1, 0.0), (place + 0.9, class.1)];
            Rectangle::new(corners, SERIES[0].filled())
        });
        chart.draw_series(bars)?;
        area.draw(&Text::new(self.up.to_owned(), (8, 6), letters(&SERIES[0])))?;
        let longest = self
            .classes
            .iter()
            .map(|class| class.0.chars().count())
            .max();
        let room = (width - 64) as usize / count;
        let each = (longest.unwrap_or(1) * 8).div_ceil(room.max(1)).max(1);
        let below = letters(&INK).pos(Pos::new(HPos::Center, VPos::Top));
        for (place, class) in self.classes.iter().enumerate().step_by(each) {
            let (x, y) = chart.backend_coord(&(place as f64 + 0.5, 0.0));
            area.draw(&Text::new(class.0.clone(), (x, y + 6), below.clone()))?;
        }
        let middle = ((width / 2).cast_signed(), 202);
        area.draw(&Text::new(self.across.to_owned(), middle, below))?;
        Ok(())
    }

    fn description(&self) -> String {
        let most = self.classes.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let most = most.map_or(String::new(), |(name, value)| {
            format!(" Most: {} at {name}.", short(*value))
        });
        format!("{} by {}.{most}", self.up, self.across)
    }

    fn table(&self) -> ChartTable {
        let row = |(name, value): &(String, f64)| vec![name.clone(), plain(*value)];
        ChartTable {
            columns: vec![(self.across.to_owned(), false), (self.up.to_owned(), true)],
            rows: self.classes.iter().map(row).collect(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the style borrows it")]
pub fn letters(colour: &'static RGBColor) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", LETTERS).into_font()).color(colour)
}

/// A number with about three digits and a decimal prefix.
pub fn short(value: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let size = value.abs();
    match prefixes.iter().find(|(unit, _)| size >= 0.9995 * unit) {
        Some((unit, prefix)) => format!("{} {prefix}", digits(value / unit)),
        None => digits(value),
    }
}

fn digits(value: f64) -> String {
    let places = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        // What rounds to 1 is shown as 1.
        0.9995.. => 2,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number without a prefix, and without digits that say nothing.
fn plain(value: f64) -> String {
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1.5, "1.5"),
            (999.6, "1 k"),
            (12_345.0, "12.3 k"),
            (2.5e9, "2.5 G"),
            (-4.0, "-4"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(plain(0.000_001), "0.000001");
        assert_eq!(plain(120.0), "120");
    }

    #[test]
    fn every_chart_is_drawn_at_every_width() {
        for values in [vec![], vec![0.0], vec![1.0, 0.0, 1e15]] {
            let named = |value: &f64| ("1 µs".to_owned(), *value);
            let bars = Bars {
                across: "time",
                up: "answers",
                classes: values.iter().map(named).collect(),
            };
            let panels = Panels {
                across: "seconds",
                start: 0.0,
                step: 0.5,
                curves: vec![Panel {
                    title: "packets",
                    values: values.clone(),
                }],
            };
            for width in [360, 1040] {
                for svg in [bars.svg(width), panels.svg(width)] {
                    assert!(
                        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
                        "{svg}"
                    );
                    assert!(!svg.contains("NaN"), "{svg}");
                }
            }
        }
    }
}
