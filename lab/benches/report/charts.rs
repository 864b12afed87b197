//! Charts of figures with their spread: bars with the range of all rounds, and curves over numbers.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tapline_lab::benchmarks::{Cell, Column, Figures, Spread};

use super::page::chart::{Area, Chart, ChartTable, DrawResult, GRID, INK, SERIES, letters, short};

/// Distance of the drawing from the edges.
const MARGIN: i32 = 8;

/// Height of a bar with its name.
const BAR_HEIGHT: u32 = 34;

/// Height of the plot of curves, and of a line of its legend.
const PLOT_HEIGHT: u32 = 300;
const LEGEND_HEIGHT: u32 = 18;

/// Width of a letter on average.
const LETTER: usize = 7;

/// A figure of each subject: the median as a bar, the range as a line over it.
pub struct Ranges<'a> {
    column: &'a Column,
    rows: Vec<(&'a str, &'a Cell)>,
}

impl<'a> Ranges<'a> {
    /// The first column of a table that has figures. `None` if there is no column.
    pub fn of(table: &'a Figures) -> Option<Self> {
        table
            .columns
            .iter()
            .enumerate()
            .find_map(|(index, column)| {
                let cell = |row: &'a tapline_lab::benchmarks::Row| {
                    let cell = row.cells.get(index)?.as_ref()?;
                    Some((row.name.as_str(), cell))
                };
                let rows: Vec<_> = table.rows.iter().filter_map(cell).collect();
                (!rows.is_empty()).then_some(Self { column, rows })
            })
    }

    /// What the bars show.
    pub fn head(&self) -> &str {
        &self.column.head
    }

    fn text(&self, cell: &Cell) -> String {
        self.column.text(Some(cell))
    }
}

impl Chart for Ranges<'_> {
    fn height(&self, _: u32) -> u32 {
        self.rows.len() as u32 * BAR_HEIGHT + MARGIN.unsigned_abs()
    }

    fn draw(&self, area: &Area<'_>, width: u32) -> DrawResult {
        let right = width.cast_signed() - MARGIN;
        let most = self.rows.iter().map(|(_, cell)| cell.spread.most);
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let letters_of_row = (right - MARGIN).unsigned_abs() as usize / LETTER;
        let room = f64::from(right - MARGIN);
        // What is below zero has no bar.
        let x = |value: f64| MARGIN + (room * (value / most).clamp(0.0, 1.0)).round() as i32;
        for ((name, cell), top) in self.rows.iter().zip((0..).step_by(BAR_HEIGHT as usize)) {
            let text = self.text(cell);
            let letters_of_name = letters_of_row.saturating_sub(text.chars().count() + 2);
            let at_right = letters(&INK).pos(Pos::new(HPos::Right, VPos::Top));
            area.draw(&Text::new(
                shortened(name, letters_of_name),
                (MARGIN, top),
                letters(&INK),
            ))?;
            area.draw(&Text::new(text, (right, top), at_right))?;
            let Spread {
                median,
                least,
                most,
            } = cell.spread;
            let (bar, range) = (top + 18, top + 23);
            let corners = [(MARGIN, bar), (x(median), bar + 10)];
            area.draw(&Rectangle::new(corners, SERIES[0].mix(0.6).filled()))?;
            for line in [
                [(x(least), range), (x(most), range)],
                [(x(least), bar), (x(least), bar + 10)],
                [(x(most), bar), (x(most), bar + 10)],
            ] {
                area.draw(&PathElement::new(line, INK.stroke_width(1)))?;
            }
        }
        Ok(())
    }

    fn description(&self) -> String {
        let row = |(name, cell): &(&str, &Cell)| format!("{name}: {}", self.text(cell));
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        format!(
            "{}, median and range of all rounds. {}.",
            self.column.head,
            rows.join("; ")
        )
    }

    fn table(&self) -> ChartTable {
        let columns = [
            ("subject", false),
            ("median", true),
            ("least", true),
            ("most", true),
            ("rounds", true),
        ];
        let row = |(name, cell): &(&str, &Cell)| {
            let number =
                |value: f64| format!("{:.*}", self.column.decimals, value / self.column.unit);
            let spread = [cell.spread.median, cell.spread.least, cell.spread.most].map(number);
            let rounds = cell.rounds.len().to_string();
            [&[(*name).to_owned()], &spread[..], &[rounds]].concat()
        };
        ChartTable {
            columns: columns
                .map(|(name, is_number)| (name.to_owned(), is_number))
                .into(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// Subjects over a number, which the heads of the columns begin with: medians as curves, with the range at each point.
pub struct Curves<'a> {
    table: &'a Figures,
    axes: &'a [String; 2],
    lines: Vec<(&'a str, Vec<Point>)>,
}

/// A figure at a number.
#[derive(Clone, Copy, Debug)]
struct Point {
    across: f64,
    /// In the unit of the column.
    spread: Spread,
}

impl<'a> Curves<'a> {
    /// `None` if the table has no plot, or no figures for it.
    pub fn of(table: &'a Figures) -> Option<Self> {
        let axes = table.plot.as_ref()?;
        let lines = table.rows.iter().map(|row| {
            let points = table.columns.iter().zip(&row.cells);
            let point = |(column, cell): (&Column, &Option<Cell>)| {
                let spread = cell.as_ref()?.spread;
                let across = column.head.split(' ').next()?.parse().ok()?;
                let [median, least, most] =
                    [spread.median, spread.least, spread.most].map(|value| value / column.unit);
                Some(Point {
                    across,
                    spread: Spread {
                        median,
                        least,
                        most,
                    },
                })
            };
            (
                row.name.as_str(),
                points.filter_map(point).collect::<Vec<_>>(),
            )
        });
        let lines: Vec<_> = lines.filter(|(_, points)| !points.is_empty()).collect();
        (!lines.is_empty()).then_some(Self { table, axes, lines })
    }
}

impl Chart for Curves<'_> {
    fn height(&self, _: u32) -> u32 {
        PLOT_HEIGHT + (self.lines.len() as u32 + 1) * LEGEND_HEIGHT
    }

    fn draw(&self, area: &Area<'_>, width: u32) -> DrawResult {
        let (plot, legend) = area.split_vertically(PLOT_HEIGHT);
        let all = self.lines.iter().flat_map(|(_, points)| points);
        let most = all.fold((1.0, f64::MIN_POSITIVE), |most: (f64, f64), point| {
            (most.0.max(point.across), most.1.max(point.spread.most))
        });
        let mut builder = ChartBuilder::on(&plot);
        builder.margin_right(12).margin_top(24);
        builder.y_label_area_size(52).x_label_area_size(44);
        let mut chart = builder.build_cartesian_2d(0.0..most.0 * 1.05, 0.0..most.1 * 1.05)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().light_line_style(TRANSPARENT);
        mesh.bold_line_style(GRID)
            .axis_style(GRID)
            .label_style(letters(&INK));
        mesh.y_labels(5).x_labels(if width < 600 { 4 } else { 10 });
        let formatter = |value: &f64| short(*value);
        mesh.x_label_formatter(&formatter)
            .y_label_formatter(&formatter);
        mesh.x_desc(self.axes[0].as_str())
            .axis_desc_style(letters(&INK))
            .draw()?;
        plot.draw(&Text::new(self.axes[1].clone(), (MARGIN, 6), letters(&INK)))?;
        for (number, (name, points)) in self.lines.iter().enumerate() {
            let colour = &SERIES[number % SERIES.len()];
            let medians = points
                .iter()
                .map(|point| (point.across, point.spread.median));
            chart.draw_series([PathElement::new(
                medians.collect::<Vec<_>>(),
                colour.stroke_width(2),
            )])?;
            for point in points {
                let range = [
                    (point.across, point.spread.least),
                    (point.across, point.spread.most),
                ];
                chart.draw_series([PathElement::new(range.to_vec(), colour.stroke_width(1))])?;
            }
            // Numbers tell more than four curves apart.
            let label = (number + 1).to_string();
            if let Some(last) = points.last() {
                let (x, y) = chart.backend_coord(&(last.across, last.spread.median));
                let beside = letters(colour).pos(Pos::new(HPos::Left, VPos::Center));
                plot.draw(&Text::new(label.clone(), (x + 3, y), beside))?;
            }
            let top = (number as u32 * LEGEND_HEIGHT).cast_signed();
            let name = shortened(name, width as usize / LETTER - 6);
            legend.draw(&Text::new(
                format!("{label}  {name}"),
                (MARGIN, top),
                letters(colour),
            ))?;
        }
        Ok(())
    }

    fn description(&self) -> String {
        let line = |(name, points): &(&str, Vec<Point>)| {
            let last = points[points.len() - 1];
            format!(
                "{name}: {} at {}",
                short(last.spread.median),
                short(last.across)
            )
        };
        let lines: Vec<_> = self.lines.iter().map(line).collect();
        let [across, up] = self.axes;
        format!(
            "{up} over {across}, median and range of all rounds. {}.",
            lines.join("; ")
        )
    }

    fn table(&self) -> ChartTable {
        let heads = self
            .table
            .columns
            .iter()
            .map(|column| (column.head.clone(), true));
        ChartTable {
            columns: std::iter::once((self.axes[0].clone(), false))
                .chain(heads)
                .collect(),
            rows: rows(self.table),
        }
    }
}

/// The rows of a table as text: the subject, then its figures.
pub fn rows(table: &Figures) -> Vec<Vec<String>> {
    let row = |row: &tapline_lab::benchmarks::Row| {
        let cells = table.columns.iter().zip(&row.cells);
        let cells = cells.map(|(column, cell)| column.text(cell.as_ref()));
        std::iter::once(row.name.clone()).chain(cells).collect()
    };
    table.rows.iter().map(row).collect()
}

/// At most `most` letters of a text.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}
