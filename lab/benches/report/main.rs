//! Writes the figures of the benches into `docs/benchmarks.md` and `README.md`.
//!
//! `cargo bench -p tapline-lab --bench report` copies `target/bench/*.json` to `docs/benchmarks`, writes the sections of
//! these benches in the document, their plots to `docs/plots`, and the table of the README. Sections of other benches stay
//! as they are. It also writes all figures as a page, `target/bench/benchmarks.html`. With `-- --page FILE` it writes only
//! that page, to FILE.

#![forbid(unsafe_code)]

mod charts;
#[allow(
    dead_code,
    unused_imports,
    reason = "the program uses what this page has no use for"
)]
#[path = "../../../crates/cli/src/page/mod.rs"]
mod page;
mod plot;
mod results;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tapline_lab::benchmarks::{Measurements, update, update_readme};

fn main() -> ExitCode {
    // `cargo test --benches` starts benches too; they are not tests.
    if !std::env::args().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    let only_page = std::env::args().skip_while(|word| word != "--page").nth(1);
    let written = match only_page {
        Some(file) => write_page(Path::new(&file)),
        None => report(),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where the benches write their figures.
fn bench_folder() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target.expect("the target folder").join("bench")
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The figures of all benches.
fn measured() -> io::Result<Vec<Measurements>> {
    let files = files(&docs().join("benchmarks"))?;
    files.iter().map(|path| Measurements::read(path)).collect()
}

fn write_page(path: &Path) -> io::Result<()> {
    fs::write(path, results::page(&measured()?))?;
    println!("report: {}", path.display());
    Ok(())
}

fn report() -> io::Result<()> {
    let (folder, docs) = (bench_folder(), docs());
    let copies = docs.join("benchmarks");
    fs::create_dir_all(&copies)?;
    if folder.is_dir() {
        for path in files(&folder)? {
            let name = path.file_name().expect("a file has a name");
            Measurements::read(&path)?.write(&copies.join(name))?;
        }
    }
    let measured = measured()?;
    let document = docs.join("benchmarks.md");
    let text = update(&fs::read_to_string(&document)?, &measured).map_err(io::Error::other)?;
    fs::write(&document, text)?;
    let readme = docs.join("../README.md");
    let text = update_readme(&fs::read_to_string(&readme)?, &measured).map_err(io::Error::other)?;
    fs::write(&readme, text)?;
    let plots = docs.join("plots");
    fs::create_dir_all(&plots)?;
    for (name, svg) in plot::plots(&measured) {
        fs::write(plots.join(name), svg)?;
    }
    fs::create_dir_all(&folder)?;
    write_page(&folder.join("benchmarks.html"))?;
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
