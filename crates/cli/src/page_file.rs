//! Opens the output file of an HTML report.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use tapline::file::output::OpenOutput;

use crate::failure::{Exit, Failure};
use crate::page::Page;

/// The flag of jobs that write a page at their end.
const REPORT: &str = "for --report";

/// An open file for a page. `--report` opens it before the job starts: nothing is measured for a page that cannot be written,
/// and the sandbox may then forbid opening files. Until the page is written, the file keeps its old content.
pub struct PageFile {
    path: PathBuf,
    file: File,
    /// What chooses the file, for errors.
    flag: &'static str,
    /// The time of the start, in words: the file of the time zone is also read before.
    pub start: String,
}

impl PageFile {
    /// The file of `--report`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Self::create_for(path, REPORT)
    }

    /// A file that `flag` chooses.
    pub fn create_for(path: &Path, flag: &'static str) -> Result<Self, Failure> {
        let opened = OpenOutput::create().open(path);
        let file = opened.map_err(|error| failed(path, flag, &error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            flag,
            start: Zoned::now().strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
        })
    }

    pub fn write(mut self, page: Page) -> Result<(), Failure> {
        // Pipes and devices have no length.
        let emptied = match self.file.set_len(0) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            emptied => emptied,
        };
        let written = emptied.and_then(|()| self.file.write_all(text(page).as_bytes()));
        written.map_err(|error| {
            // A reader could take half a page for a whole one. Pipes and devices cannot be truncated.
            let _ = self.file.set_len(0);
            failed(&self.path, self.flag, &error)
        })
    }
}

/// The whole page, which ends with the version of the program.
pub fn text(page: Page) -> String {
    page.finish(&format!(
        "Written by tapline {}.",
        env!("CARGO_PKG_VERSION")
    ))
}

fn failed(path: &Path, flag: &str, error: &io::Error) -> Failure {
    let failure = Failure::job_on(
        format!("cannot write the page to {}", path.display()),
        error,
    );
    let create = match error.kind() {
        io::ErrorKind::NotFound => "create its directory first, or ",
        _ => "",
    };
    let advice = format!(" ({create}choose another file {flag})");
    Failure::new(Exit::Failed, failure.line + &advice)
}
