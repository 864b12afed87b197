//! Writing a page.

use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::output::is_stdout;
use crate::output::page_file::{self, PageFile};
use crate::page::Page;

/// Where a page goes. It is opened before the packets are read: no time is spent on a page that cannot be written.
pub enum PageOutput {
    Stdout,
    File(PageFile),
}

impl PageOutput {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        PageFile::create_for(path, "with -o").map(Self::File)
    }

    pub fn write(self, page: Page) -> Result<(), Failure> {
        match self {
            Self::File(file) => file.write(page),
            Self::Stdout => {
                let text = page_file::text(page);
                let mut out = io::stdout().lock();
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                written.map_err(|error| Failure::stdout(&error))
            }
        }
    }
}
