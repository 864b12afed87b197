//! Packets and flows to Parquet and Arrow: what the flags ask for, and what was written.

#[cfg(not(feature = "columns"))]
mod absent;
#[cfg(feature = "columns")]
mod present;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::{ColumnFormat, PartitionArgs};
use crate::failure::{Exit, Failure};
use crate::output::is_stdout;
use crate::sandbox::Sandbox;
use crate::units::grouped;

#[cfg(not(feature = "columns"))]
pub use absent::FlowColumns;
#[cfg(feature = "columns")]
pub use present::FlowColumns;

/// Files of partitions are completed after this time.
const INTERVAL: Duration = Duration::from_hours(1);

/// Where columns are to be written, and how.
#[derive(Debug)]
pub struct ColumnOutput {
    #[cfg_attr(not(feature = "columns"), expect(dead_code, reason = "only shown"))]
    format: ColumnFormat,
    path: PathBuf,
    /// Name of the host, and the interval at which files are completed.
    partition: Option<(String, Duration)>,
}

impl ColumnOutput {
    /// Of the flags. Creates the directory of partitions if it is missing.
    pub fn new(
        format: ColumnFormat,
        path: &Path,
        partition: &PartitionArgs,
        rotate_interval: Option<Duration>,
        prints_json: bool,
    ) -> Result<Self, Failure> {
        let usage = |line: &str| Err(Failure::new(Exit::Usage, line));
        if rotate_interval.is_some() && partition.partition.is_none() {
            return usage("--rotate-interval needs --partition for Parquet and Arrow");
        }
        if is_stdout(path) {
            if partition.partition.is_some() {
                return usage("--partition needs a directory (use -w DIR)");
            }
            if prints_json {
                return usage(
                    "cannot write both columns and text to standard output (use -w FILE)",
                );
            }
            if io::stdout().is_terminal() {
                return usage(
                    "cannot write columns to a terminal (use -w FILE, or pipe -w - into a program)",
                );
            }
        }
        let partition = partition.partition.as_ref().map(|host| {
            let this = || {
                rustix::system::uname()
                    .nodename()
                    .to_string_lossy()
                    .into_owned()
            };
            (
                Some(host.clone())
                    .filter(|host| !host.is_empty())
                    .unwrap_or_else(this),
                rotate_interval.unwrap_or(INTERVAL),
            )
        });
        if partition.is_some() {
            create_directory(path)?;
        } else if path.is_dir() {
            let line = format!(
                "{} is a directory (--partition writes below it)",
                path.display()
            );
            return usage(&line);
        }
        Ok(Self {
            format,
            path: path.to_owned(),
            partition,
        })
    }

    /// Leaves the program what it needs to write there.
    pub fn allow(&self, sandbox: Sandbox) -> Sandbox {
        match self.partition {
            Some(_) => sandbox.grow(self.path.clone()),
            None => sandbox.write(Some(&self.path)),
        }
    }

    /// What was written, as text.
    pub fn tell(&self, out: &mut dyn Write, written: &Written, what: &str) -> io::Result<()> {
        let (rows, bytes) = (grouped(written.rows), grouped(written.bytes));
        let place = match (&self.partition, is_stdout(&self.path)) {
            (None, true) => return Ok(()),
            (None, false) => format!("to {}", self.path.display()),
            (Some(_), _) => {
                let files = if written.files == 1 { "file" } else { "files" };
                let count = grouped(written.files);
                format!("to {count} {files} below {}", self.path.display())
            }
        };
        let place = place.replace(char::is_control, "?");
        writeln!(out, "{rows} {what}, {bytes} bytes written {place}")
    }

    /// What was written, for JSON.
    pub fn json(&self, written: &Written) -> Value {
        json!({
            "path": self.path.to_string_lossy(),
            "rows": written.rows,
            "bytes": written.bytes,
            "files": written.files,
        })
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub rows: u64,
    pub bytes: u64,
    pub files: u64,
}

fn create_directory(path: &Path) -> Result<(), Failure> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(cannot_create(path, &error)),
        Ok(()) => Ok(()),
    }
}

fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::job_on(format!("cannot create {}", path.display()), error);
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty() && !parent.exists());
    match parent {
        Some(parent) => Failure::new(
            Exit::Failed,
            format!(
                "{} (create the directory {} first)",
                failure.line,
                parent.display()
            ),
        ),
        None => failure,
    }
}
