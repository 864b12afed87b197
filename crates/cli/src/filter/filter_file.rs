//! Filters in files: expressions for `-F` and programs for `--bpf`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tapline::filter::MAX_TEXT_BYTES;
use tapline::filter::classic::{ClassicProgram, ParseError};

use crate::failure::{Exit, Failure};

/// Reads a filter expression from a file, or from standard input for `-`.
///
/// As in tcpdump, lines are joined, and `#` starts a comment that ends with the line.
pub fn expression(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let cannot =
        |error: io::Error| Failure::job_on(format!("cannot read filter file {name}"), &error);
    let mut text = String::new();
    // One byte more than the limit is enough to reject the filter for its length.
    let most = MAX_TEXT_BYTES as u64 + 1;
    if path.as_os_str() == "-" {
        io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_string(&mut text))
    }
    .map_err(cannot)?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    Ok(lines.collect::<Vec<_>>().join(" "))
}

/// Reads a filter program in decimal form.
pub fn program(path: &Path) -> Result<ClassicProgram, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::job_on(format!("cannot read filter file {name}"), &error))?;
    text.parse().map_err(|error: ParseError| {
        let failure = Failure::job_on(format!("filter file {name} is invalid"), &error);
        Failure::new(Exit::Usage, failure.line)
    })
}
