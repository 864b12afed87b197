//! `docs/benchmarks.md` and the table of the README agree with the files that the benches wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tapline_lab::benchmarks::{Measurements, update, update_readme};

#[path = "../benches/report/charts.rs"]
mod charts;
#[allow(
    dead_code,
    unused_imports,
    reason = "the program uses what this page has no use for"
)]
#[path = "../../crates/cli/src/page/mod.rs"]
mod page;
#[path = "../benches/report/plot.rs"]
mod plot;
#[path = "../benches/report/results.rs"]
mod results;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// Name and contents of the files in a folder.
fn files(folder: &str) -> BTreeMap<String, String> {
    let folder = docs().join(folder);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let text = fs::read_to_string(entry.path()).expect("text");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    entries.map(read).collect()
}

fn measured() -> Vec<Measurements> {
    let files = files("benchmarks");
    assert!(!files.is_empty(), "figures of at least one bench");
    let read = |(name, text): (&String, &String)| {
        let measured: Measurements = serde_json::from_str(text).expect(name);
        assert_eq!(*name, format!("{}.json", measured.bench));
        measured
    };
    files.iter().map(read).collect()
}

#[test]
fn the_document_has_the_measured_figures() {
    let document = fs::read_to_string(docs().join("benchmarks.md")).expect("the document");
    let updated = update(&document, &measured()).expect("a section for each bench");
    assert!(
        updated == document,
        "docs/benchmarks.md differs from docs/benchmarks: cargo bench -p tapline-lab --bench report"
    );
}

/// The first row by hand, so that the program that writes the table is not compared with itself alone.
#[test]
fn the_table_of_the_readme_has_the_measured_figures() {
    let readme = fs::read_to_string(docs().join("../README.md")).expect("the README");
    let updated = update_readme(&readme, &measured()).expect("a table");
    assert!(
        updated == readme,
        "README.md differs from docs/benchmarks: cargo bench -p tapline-lab --bench report"
    );
    let capture = &files("benchmarks")["capture.json"];
    let capture: serde_json::Value = serde_json::from_str(capture).expect("JSON");
    let tables = capture["runs"].as_array().expect("runs");
    let mut tables = tables
        .iter()
        .flat_map(|run| run["tables"].as_array().expect("tables"));
    let table = tables
        .find(|table| table["title"] == "to /dev/null")
        .expect("a table");
    let rows = table["rows"].as_array().expect("rows");
    let median = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).expect(name);
        row["cells"][0]["median"].as_f64().expect("a number")
    };
    let others = ["tcpdump", "dumpcap", "netsniff-ng", "xdpdump"].map(median);
    let best = others.into_iter().fold(f64::INFINITY, f64::min);
    let start = format!(
        "CPU per packet | {:.0} ns | {best:.0} ns (",
        median("tapline")
    );
    assert!(readme.contains(&start), "{start}");
}

#[test]
fn figures_that_are_missing_leave_the_readme_as_it_is() {
    let readme = fs::read_to_string(docs().join("../README.md")).expect("the README");
    let error = update_readme(&readme, &[]).expect_err("no figures");
    assert_eq!(error, "the bench capture has no table to /dev/null");
    let error = update_readme("no markers", &measured()).expect_err("no table");
    assert!(error.starts_with("no table between"), "{error}");
}

#[test]
fn the_plots_are_those_of_the_figures() {
    let plots: BTreeMap<_, _> = plot::plots(&measured()).into_iter().collect();
    assert!(!plots.is_empty(), "at least one plot");
    let committed = files("plots");
    let names = |plots: &BTreeMap<String, String>| plots.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&plots));
    for (name, plot) in &plots {
        assert!(
            committed[name] == *plot,
            "docs/plots/{name} differs from its figures"
        );
    }
}

#[test]
fn the_page_has_every_figure_and_nothing_from_elsewhere() {
    let measured = measured();
    let page = results::page(&measured);
    let escaped = |text: &str| {
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        text.replace('"', "&quot;").replace('\'', "&#39;")
    };
    let mut count = 0;
    for run in measured.iter().flat_map(|bench| &bench.runs) {
        for text in run
            .notes
            .iter()
            .chain(&run.verdicts)
            .chain([&run.machine, &run.command])
        {
            assert!(page.contains(&escaped(text)), "{text}");
        }
        for table in &run.tables {
            count += 1;
            assert!(page.contains(&format!("<h3>{}</h3>", escaped(&table.title))));
            for row in &table.rows {
                let mut line = format!("<td>{}</td>", escaped(&row.name));
                if row.name.chars().count() > 60 {
                    line = line.replace("<td>", "<td class=\"long\">");
                }
                for (column, cell) in table.columns.iter().zip(&row.cells) {
                    let cell = column.text(cell.as_ref());
                    let cell = escaped(&cell);
                    line.extend(["<td class=\"number\">", &cell, "</td>"]);
                }
                assert!(page.contains(&line), "{line}");
            }
        }
    }
    assert_eq!(page.matches("<figure>").count(), count);
    assert!(page.contains("Content-Security-Policy"));
    for foreign in ["<script", "http:", "https:", "src=", "NaN"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}
