//! What became of the files that are uploaded.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::url::ObjectUrl;
use crate::values::units::counted;

/// Files, and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub files: u64,
    pub bytes: u64,
}

#[cfg(feature = "objects")]
impl Files {
    pub fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }

    pub fn remove(&mut self, bytes: u64) {
        self.files = self.files.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Files {
    fn text(self) -> String {
        let (files, bytes) = (counted(self.files, "file"), counted(self.bytes, "byte"));
        format!("{files}, {bytes}")
    }
}

/// Every file that was complete is uploaded, waits or was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Complete files that an earlier run left in the spool.
    pub found: Files,
    /// Files that an earlier run left half-written. They are removed.
    pub half_written: u64,
    pub uploaded: Files,
    pub waiting: Files,
    /// They had no room in the spool.
    pub given_up: Files,
    /// Rows of files that were given up. `None` if one is of an earlier run.
    pub given_up_rows: Option<u64>,
    /// Attempts that failed.
    pub failures: u64,
}

impl Account {
    pub fn print_to(&self, out: &mut dyn Write, url: &ObjectUrl, row: &str) -> io::Result<()> {
        write!(out, "{} uploaded to {url}", self.uploaded.text())?;
        if self.found.files > 0 {
            write!(out, " ({} of an earlier run)", self.found.text())?;
        }
        if self.waiting.files > 0 {
            write!(out, "; {} wait in the spool", self.waiting.text())?;
        }
        if self.given_up.files > 0 {
            let rows = self.given_up_rows.map_or_else(
                || format!("an unknown number of {row}s"),
                |rows| counted(rows, row),
            );
            write!(out, "; {} with {rows} given up", self.given_up.text())?;
        }
        writeln!(out)
    }

    pub fn json(&self) -> Value {
        json!({
            "found_files": self.found.files,
            "found_bytes": self.found.bytes,
            "half_written_files": self.half_written,
            "uploaded_files": self.uploaded.files,
            "uploaded_bytes": self.uploaded.bytes,
            "waiting_files": self.waiting.files,
            "waiting_bytes": self.waiting.bytes,
            "given_up_files": self.given_up.files,
            "given_up_bytes": self.given_up.bytes,
            "given_up_rows": self.given_up_rows,
            "failures": self.failures,
        })
    }
}
