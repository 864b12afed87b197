//! The page of the results: every table, with a chart of its figures.

use tapline_lab::benchmarks::{Figures, Measurements, Run};

use super::charts::{Curves, Ranges, rows};
use super::page::{Column, Page, Table};

/// The page of all benches.
pub fn page(measured: &[Measurements]) -> String {
    let mut page = Page::new("Benchmarks of tapline");
    let runs = measured.iter().flat_map(|bench| &bench.runs);
    let dates = runs.map(|run| run.date.as_str());
    page.section("All benches");
    page.paragraph(
        "Figures are medians; the range in parentheses, and the thin line over a bar or a curve, is the least and the most of all rounds. \
         The figures of a run rise and fall together with the load of the machine: compare ratios, not absolute values.",
    );
    page.facts([
        ("benches", measured.len().to_string()),
        ("tables", tables(measured).count().to_string()),
        (
            "first run",
            dates.clone().min().unwrap_or("none").to_owned(),
        ),
        ("last run", dates.max().unwrap_or("none").to_owned()),
    ]);
    targets(&mut page, measured);
    for bench in measured {
        page.section(&bench.bench);
        for run in &bench.runs {
            of_run(&mut page, run);
        }
    }
    page.finish("Written by make bench from the figures in docs/benchmarks.")
}

fn tables(measured: &[Measurements]) -> impl Iterator<Item = &Figures> {
    let runs = measured.iter().flat_map(|bench| &bench.runs);
    runs.flat_map(|run| &run.tables)
}

/// All targets, those that do not hold first.
fn targets(page: &mut Page, measured: &[Measurements]) {
    let of_bench = |bench: &Measurements| {
        let verdicts = bench.runs.iter().flat_map(|run| run.verdicts.clone());
        let row = |verdict: String| vec![bench.bench.clone(), verdict];
        verdicts.map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = measured.iter().flat_map(of_bench).collect();
    let holds = |row: &Vec<String>| row[1].ends_with(": holds");
    let missed = rows.iter().filter(|row| !holds(row)).count();
    rows.sort_by_key(holds);
    page.heading("Targets");
    if missed > 0 {
        page.warning(&format!("{missed} of {} targets do not hold.", rows.len()));
    }
    page.table(&Table {
        caption: "Targets of all benches: the figure, its bound and whether it holds",
        columns: vec![Column::Text("bench"), Column::Text("target")],
        rows,
    });
}

fn of_run(page: &mut Page, run: &Run) {
    page.facts([
        ("machine", run.machine.clone()),
        ("date", run.date.clone()),
        ("rounds", run.rounds.to_string()),
        ("took", format!("{} s", run.seconds)),
    ]);
    page.paragraph(&run.command);
    for table in &run.tables {
        of_table(page, table);
    }
    if !run.notes.is_empty() {
        page.heading("Method and commands");
    }
    for note in &run.notes {
        page.paragraph(note);
    }
}

fn of_table(page: &mut Page, table: &Figures) {
    page.heading(&table.title);
    if let Some(curves) = Curves::of(table) {
        page.chart(&table.title, &curves);
    } else if let Some(ranges) = Ranges::of(table) {
        page.chart(&format!("{}: {}", table.title, ranges.head()), &ranges);
    }
    let heads = table
        .columns
        .iter()
        .map(|column| Column::Number(&column.head));
    page.table(&Table {
        caption: &table.title,
        columns: std::iter::once(Column::Text("")).chain(heads).collect(),
        rows: rows(table),
    });
}
