//! The output file of an HTML report, which is replaced when the page is complete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use jiff::Zoned;
use rustix::fs::fgetxattr_query;
use tapline::file::output::OpenOutput;
use tempfile::{Builder, NamedTempFile};

use crate::failure::{Exit, Failure};
use crate::page::Page;

/// The flag of jobs that write a page at their end.
const REPORT: &str = "for --report";

/// An open file for a page. `--report` opens it before the job starts: nothing is measured for a page that cannot be written,
/// and the sandbox may then forbid opening files. Until the page is complete, the file keeps its old content.
pub struct PageFile {
    path: PathBuf,
    file: File,
    replacement: Option<Replacement>,
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
            replacement: Replacement::of(path, &file),
            file,
            flag,
            start: Zoned::now().strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
        })
    }

    pub fn write(mut self, page: Page) -> Result<(), Failure> {
        let text = text(page);
        let replaced = match self.replacement.take() {
            Some(replacement) => replacement.complete(&text),
            None => Ok(false),
        };
        let written = match replaced {
            Ok(false) => self.write_in_place(&text),
            replaced => replaced.map(|_| ()),
        };
        written.map_err(|error| failed(&self.path, self.flag, &error))
    }

    fn write_in_place(&mut self, text: &str) -> io::Result<()> {
        // Pipes and devices have no length.
        let emptied = match self.file.set_len(0) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            emptied => emptied,
        };
        let written = emptied.and_then(|()| self.file.write_all(text.as_bytes()));
        if written.is_err() {
            // A reader could take half a page for a whole one. Pipes and devices cannot be truncated.
            let _ = self.file.set_len(0);
        }
        written
    }
}

/// Where the kernel keeps the access control list of a file (xattr(7)).
const ACCESS_LIST: &str = "system.posix_acl_access";

/// A hidden file that is renamed to `target` when the page in it is complete. Removed if it is dropped before.
struct Replacement {
    file: NamedTempFile,
    target: PathBuf,
}

impl Replacement {
    /// For `file` at `path`, with its owner and permissions. `None` for files that are written in place: pipes, devices, files with
    /// further names, with an access control list or with an owner that a new file cannot have, and files in directories in which
    /// none can be created.
    fn of(path: &Path, file: &File) -> Option<Self> {
        let about = file.metadata().ok()?;
        if !about.is_file() || about.nlink() != 1 {
            return None;
        }
        // Its mode shows the mask of the list as the permissions of the group, which may have fewer.
        if fgetxattr_query(file, ACCESS_LIST).is_ok() {
            return None;
        }
        // Where a link leads.
        let target = path.canonicalize().ok()?;
        let found = target.symlink_metadata().ok()?;
        if (found.dev(), found.ino()) != (about.dev(), about.ino()) {
            return None;
        }
        let mut prefix = OsString::from(".");
        prefix.push(target.file_name()?);
        prefix.push(".");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part");
        let file = builder.tempfile_in(target.parent()?).ok()?;
        fchown(file.as_file(), Some(about.uid()), Some(about.gid())).ok()?;
        file.as_file().set_permissions(about.permissions()).ok()?;
        Some(Self { file, target })
    }

    /// Returns false if no other file can have the name, for example because the file is a mount point.
    fn complete(mut self, text: &str) -> io::Result<bool> {
        self.file.as_file_mut().write_all(text.as_bytes())?;
        Ok(self.file.persist(&self.target).is_ok())
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
