//! The file of a page that a job writes at its end.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use tapline::file::output::OpenOutput;

use crate::failure::{Exit, Failure};
use crate::page::Page;

/// A page of `--report`. Its file is opened before the job starts: nothing is measured for a page that cannot be written,
/// and a sandbox that forbids to open files is no obstacle.
pub struct PageFile {
    path: PathBuf,
    file: File,
    /// The time of the start, in words: the file of the time zone is also read before.
    pub start: String,
}

impl PageFile {
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let opened = OpenOutput::create().truncate().open(path);
        let file = opened.map_err(|error| failed(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            start: Zoned::now().strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
        })
    }

    /// Writes the page, which then ends with the version of the program.
    pub fn write(mut self, page: Page) -> Result<(), Failure> {
        let text = page.finish(&format!(
            "Written by tapline {}.",
            env!("CARGO_PKG_VERSION")
        ));
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::job_on(
        format!("cannot write the page to {}", path.display()),
        error,
    );
    let advice = match error.kind() {
        io::ErrorKind::NotFound => {
            " (create its directory first, or choose another file for --report)"
        }
        _ => " (choose another file for --report)",
    };
    Failure::new(Exit::Failed, failure.line + advice)
}
