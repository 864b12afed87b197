//! Plots of tables whose columns are numbers, as SVG.

use plotters::prelude::*;
use tapline_lab::benchmarks::{Figures, Measurements, picture};

const SIZE: (u32, u32) = (800, 450);

/// All plots: file name and SVG.
pub fn plots(measured: &[Measurements]) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    for Measurements { bench, runs } in measured {
        for table in runs.iter().flat_map(|run| &run.tables) {
            if let Some(axes) = &table.plot {
                plots.push((picture(bench, table), svg(table, axes)));
            }
        }
    }
    plots
}

/// One line per row: its medians.
fn svg(table: &Figures, axes: &[String; 2]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    draw(table, axes, &mut text).unwrap_or_else(|error| panic!("{}: {error}", table.title));
    text
}

fn draw(
    table: &Figures,
    [across, up]: &[String; 2],
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.name.as_str(), points(table, &row.cells)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = lines.iter().flat_map(|(_, points)| points);
    let most = all.fold((1.0, f64::MIN_POSITIVE), |most: (f64, f64), point| {
        (most.0.max(point.0), most.1.max(point.1))
    });

    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (title, _) = table.title.split_once(',').unwrap_or((&table.title, ""));
    let mut builder = ChartBuilder::on(&area);
    builder.margin(12).caption(title, ("sans-serif", 18));
    builder.x_label_area_size(44).y_label_area_size(68);
    // Room for the names at the right.
    let mut chart = builder.build_cartesian_2d(0.0..most.0 * 1.45, 0.0..most.1 * 1.08)?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(across.as_str()).y_desc(up.as_str());
    mesh.disable_x_mesh().draw()?;
    for (number, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(number);
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
        let series = chart.draw_series(line)?;
        series.label(*name).legend(move |(x, y)| {
            PathElement::new(
                [(x, y), (x + 16, y)],
                Palette99::pick(number).stroke_width(2),
            )
        });
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight);
    labels.background_style(WHITE.mix(0.8)).draw()?;
    area.present()?;
    Ok(())
}

/// The numbers in the heads of the columns, and the medians.
fn points(table: &Figures, cells: &[Option<tapline_lab::benchmarks::Cell>]) -> Vec<(f64, f64)> {
    let columns = table.columns.iter().zip(cells);
    let point = |(column, cell): (&tapline_lab::benchmarks::Column, &Option<_>)| {
        let cell: &tapline_lab::benchmarks::Cell = cell.as_ref()?;
        let number = column.head.split(' ').next()?.parse().ok()?;
        Some((number, cell.spread.median / column.unit))
    };
    columns.filter_map(point).collect()
}
