//! Writing a page.

use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::output::is_stdout;
use crate::page::Page;
use crate::page_file::{self, PageFile};

/// Writes `page` to a file, or to standard output.
pub fn write(path: &Path, page: Page) -> Result<(), Failure> {
    if !is_stdout(path) {
        return PageFile::create_for(path, "with -o")?.write(page);
    }
    let text = page_file::text(page);
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::stdout(&error))
}
