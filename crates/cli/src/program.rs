//! Filter programs, as --bpf takes them.

use std::path::Path;

use filter::classic::{ParseError, Program};

use crate::failure::{Exit, Failure};

/// Reads a filter program in decimal form.
pub fn read(path: &Path) -> Result<Program, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::job_on(format!("cannot read filter file {name}"), &error))?;
    text.parse().map_err(|error: ParseError| {
        let failure = Failure::job_on(format!("filter file {name} is wrong"), &error);
        Failure::new(Exit::Usage, failure.line)
    })
}
