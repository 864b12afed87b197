//! Writes what the benches measured into `docs/benchmarks.md`.
//!
//! `cargo bench -p tapline-lab --bench report` copies `target/bench/*.json` to `docs/benchmarks`, writes the sections of
//! these benches in the document, and their plots to `docs/plots`. Sections of other benches stay as they are.

#![forbid(unsafe_code)]

mod plot;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tapline_lab::benchmarks::{Measurements, update};

fn main() -> ExitCode {
    // `cargo test --benches` starts benches too; they are not tests.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> io::Result<()> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let measured = target.expect("the target folder").join("bench");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let copies = docs.join("benchmarks");
    fs::create_dir_all(&copies)?;
    if measured.is_dir() {
        for path in files(&measured)? {
            let name = path.file_name().expect("a file has a name");
            Measurements::read(&path)?.write(&copies.join(name))?;
        }
    }
    let files = files(&copies)?;
    let measured = files.iter().map(|path| Measurements::read(path));
    let measured = measured.collect::<io::Result<Vec<_>>>()?;
    let document = docs.join("benchmarks.md");
    let text = update(&fs::read_to_string(&document)?, &measured).map_err(io::Error::other)?;
    fs::write(&document, text)?;
    let folder = docs.join("plots");
    fs::create_dir_all(&folder)?;
    for (name, svg) in plot::plots(&measured) {
        fs::write(folder.join(name), svg)?;
    }
    println!(
        "report: {} benches in {}",
        measured.len(),
        document.display()
    );
    Ok(())
}

/// The JSON files of a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    Ok(paths)
}
