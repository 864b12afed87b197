//! Writing a page.

use std::io::{self, Write};
use std::path::Path;

use tapline::file::output::OpenOutput;

use crate::failure::{Exit, Failure};
use crate::output::is_stdout;

/// Writes `page` to a file, or to standard output.
pub fn write(path: &Path, page: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        let mut out = io::stdout().lock();
        let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
        return written.map_err(|error| Failure::stdout(&error));
    }
    let output = OpenOutput::create().truncate();
    let result = output
        .open(path)
        .and_then(|mut file| file.write_all(page.as_bytes()));
    result.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => {
                " (create its directory first, or choose another file with -o)"
            }
            _ => " (choose another file with -o)",
        };
        let failure = Failure::job_on(
            format!("cannot write the page to {}", path.display()),
            &error,
        );
        Failure::new(Exit::Failed, failure.line + advice)
    })
}
