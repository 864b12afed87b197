//! The document of the benches agrees with the files that they wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tapline_lab::benchmarks::{Measurements, update};

#[path = "../benches/report/plot.rs"]
mod plot;

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
