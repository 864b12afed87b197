//! Packets and flows to Parquet and Arrow: what the flags ask for, and what was written.

#[cfg(not(feature = "columns"))]
mod disabled;
#[cfg(feature = "columns")]
mod enabled;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::{ColumnFormat, PartitionArgs, SandboxArgs, SpoolArgs};
use crate::failure::{Exit, Failure};
use crate::metrics::Counters;
use crate::object_storage::{Account, ObjectUrl, UploadOptions, Uploads, WhenFull, is_url};
use crate::output::is_stdout;
use crate::sandbox::Sandbox;
use crate::screen::printable;
use crate::values::units::counted;

#[cfg(not(feature = "columns"))]
pub use disabled::FlowColumns;
#[cfg(feature = "columns")]
pub use enabled::FlowColumns;

/// Files of partitions are completed after this time.
const INTERVAL: Duration = Duration::from_hours(1);

/// Files that wait for their upload have at most this size together.
const SPOOL_BYTES: u64 = 1 << 30;

/// How long a job waits for a service that takes nothing.
const SPOOL_WAIT: Duration = Duration::from_mins(1);

/// What the flags ask for.
#[derive(Debug)]
pub struct ColumnFlags<'a> {
    pub format: ColumnFormat,
    pub path: &'a Path,
    pub partition: &'a PartitionArgs,
    pub rotate_interval: Option<Duration>,
    pub spool: &'a SpoolArgs,
    /// Packets of a capture do not wait, those of files do.
    pub when_full: WhenFull,
    pub prints_json: bool,
}

impl ColumnFlags<'_> {
    fn refuse_misplaced(&self) -> Result<(), Failure> {
        let usage = |line: &str| Err(Failure::new(Exit::Usage, line));
        let is_partitioned = self.partition.partition.is_some();
        if self.rotate_interval.is_some() && !is_partitioned {
            return usage("--rotate-interval needs --partition for Parquet and Arrow");
        }
        if let Some(flag) = self.spool.given().filter(|_| !is_url(self.path)) {
            return usage(&format!("{flag} is for s3://, gs:// and az://"));
        }
        if !is_stdout(self.path) {
            return Ok(());
        }
        if is_partitioned {
            return usage("--partition needs a directory (use -w DIR)");
        }
        if self.prints_json {
            return usage("cannot write both columns and text to standard output (use -w FILE)");
        }
        if io::stdout().is_terminal() {
            return usage(
                "cannot write columns to a terminal (use -w FILE, or pipe -w - into a program)",
            );
        }
        Ok(())
    }

    /// Where the objects go, if they do.
    fn objects(&self) -> Result<Option<Objects>, Failure> {
        let Some(url) = ObjectUrl::parse(self.path) else {
            return Ok(None);
        };
        let refused = |line: &str| {
            let line = format!("cannot write to object storage: {line}");
            Failure::new(Exit::Usage, line)
        };
        let url = url.map_err(refused)?;
        let has_partitions = self.partition.partition.is_some();
        if url.key.is_empty() && !has_partitions {
            return Err(refused("the key is missing (or use --partition)"));
        }
        let options = UploadOptions {
            spool: self.spool.spool.clone(),
            limit_bytes: self.spool.spool_limit.map_or(SPOOL_BYTES, NonZeroU64::get),
            wait: self.spool.spool_wait.unwrap_or(SPOOL_WAIT),
            when_full: self.when_full,
            has_partitions,
        };
        Ok(Some(Objects {
            url,
            options,
            uploads: None,
            account: None,
        }))
    }
}

/// Where columns are to be written, and how.
pub struct ColumnOutput {
    #[cfg_attr(not(feature = "columns"), expect(dead_code, reason = "only shown"))]
    format: ColumnFormat,
    path: PathBuf,
    /// Name of the host, and the interval at which files are completed.
    partition: Option<(String, Duration)>,
    objects: Option<Objects>,
}

/// An output on object storage.
struct Objects {
    url: ObjectUrl,
    options: UploadOptions,
    /// Once they are started.
    uploads: Option<Uploads>,
    /// Of the end.
    account: Option<Account>,
}

impl ColumnOutput {
    /// Of the flags. Creates the directory of partitions if it is missing.
    pub fn new(flags: &ColumnFlags<'_>) -> Result<Self, Failure> {
        flags.refuse_misplaced()?;
        let path = flags.path;
        let partition = flags.partition.partition.as_ref().map(|host| {
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
                flags.rotate_interval.unwrap_or(INTERVAL),
            )
        });
        let objects = flags.objects()?;
        if objects.is_some() {
            // Its directory is in the spool.
        } else if partition.is_some() {
            create_directory(path)?;
        } else if path.is_dir() {
            let line = format!(
                "{} is a directory (--partition writes below it)",
                path.display()
            );
            return Err(Failure::new(Exit::Usage, line));
        }
        Ok(Self {
            format: flags.format,
            path: path.to_owned(),
            partition,
            objects,
        })
    }

    /// Starts the thread that uploads, if there is anything to upload. As the user that the program has then, and before it
    /// restricts itself.
    pub fn start(&mut self, sandbox: SandboxArgs) -> Result<(), Failure> {
        if let Some(objects) = &mut self.objects {
            let (url, options) = (objects.url.clone(), objects.options.clone());
            objects.uploads = Some(Uploads::start(url, options, sandbox)?);
        }
        Ok(())
    }

    fn uploads(&self) -> Option<&Uploads> {
        self.objects.as_ref()?.uploads.as_ref()
    }

    /// Waits for the uploads at the end of the job, unless it has `failed`. Returns the failure to report behind the account:
    /// that of the job, or that not all files are uploaded.
    pub fn finish(&mut self, failed: Option<Failure>) -> Option<Failure> {
        let Some(uploads) = self.uploads() else {
            return failed;
        };
        let (account, failure) = match failed {
            Some(failure) => (uploads.stop(), Some(failure)),
            None => uploads.finish(),
        };
        if let Some(objects) = &mut self.objects {
            objects.account = Some(account);
        }
        failure
    }

    /// Where files are uploaded to, and where they wait for it, for the start event.
    pub fn uploads_json(&self) -> Value {
        self.objects.as_ref().map_or(Value::Null, |objects| {
            let spool = objects.uploads.as_ref().map(Uploads::root);
            json!({
                "url": objects.url.to_string(),
                "spool": spool.map(|root| root.to_string_lossy().into_owned()),
            })
        })
    }

    /// The same as a line.
    pub fn print_uploads(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some((objects, uploads)) = self.objects.as_ref().zip(self.uploads()) else {
            return Ok(());
        };
        let line = format!(
            "uploads to {}, files wait in {}",
            objects.url,
            uploads.root().display()
        );
        writeln!(out, "{}", printable(&line))
    }

    /// Reads the counters of the uploads, for Prometheus.
    pub fn counters(&self) -> Option<Counters> {
        self.uploads().map(Uploads::counters)
    }

    /// Leaves the program what it needs to write there.
    pub fn allow(&self, sandbox: Sandbox) -> Sandbox {
        match (self.uploads(), &self.partition) {
            (Some(uploads), _) => uploads.allow(sandbox),
            (None, Some(_)) => sandbox.grow(self.path.clone()),
            (None, None) => sandbox.write(Some(&self.path)),
        }
    }

    /// What was written, as text. `row` is what a row is.
    pub fn print_to(&self, out: &mut dyn Write, written: &Written, row: &str) -> io::Result<()> {
        let rows = counted(written.rows, row);
        let bytes = counted(written.bytes, "byte");
        let place = match (&self.partition, is_stdout(&self.path)) {
            (None, true) => return Ok(()),
            (None, false) => format!("to {}", self.path.display()),
            (Some(_), _) => {
                let files = counted(written.files, "file");
                format!("to {files} below {}", self.path.display())
            }
        };
        let place = printable(&place);
        writeln!(out, "{rows}, {bytes} written {place}")?;
        match &self.objects {
            Some(Objects {
                url,
                account: Some(account),
                ..
            }) => account.print_to(out, url, row),
            _ => Ok(()),
        }
    }

    /// What was written, for JSON.
    pub fn json(&self, written: &Written) -> Value {
        json!({
            "path": self.path.to_string_lossy(),
            "rows": written.rows,
            "bytes": written.bytes,
            "files": written.files,
            "uploads": self.objects.as_ref().and_then(|objects| Some(objects.account?.json())),
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
