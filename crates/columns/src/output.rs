//! Files that appear under their names when they are complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};
use store::output::OpenOutput;

/// An output that counts its bytes.
#[derive(Debug)]
pub struct Output {
    file: File,
    temporary: Option<TemporaryFile>,
    bytes: u64,
}

/// The hidden file that is renamed to `target` when it is complete. Removed if it is dropped before it is complete.
#[derive(Debug)]
struct TemporaryFile {
    path: PathBuf,
    target: PathBuf,
    directory: File,
    is_complete: bool,
}

impl Output {
    /// A descriptor that is open.
    pub fn descriptor(file: File) -> Self {
        Self {
            file,
            temporary: None,
            bytes: 0,
        }
    }

    /// The file `target`, replaced when this is complete. What is there and is no file, such as a pipe, a device or a link, is written to.
    pub fn create(target: &Path) -> io::Result<Self> {
        let is_other = fs::symlink_metadata(target).is_ok_and(|about| !about.is_file());
        if is_other {
            let opened = OpenOutput::create().truncate().open(target)?;
            return Ok(Self::descriptor(opened));
        }
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut number = [0; 8];
        getrandom(&mut number, GetRandomFlags::empty())?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{:016x}.part", u64::from_ne_bytes(number)));
        let path = directory.join(temporary);
        // First: behind the file, a failure would leave it.
        let directory = File::open(directory)?;
        let file = OpenOutput::create().open(&path)?;
        Ok(Self {
            file,
            bytes: 0,
            temporary: Some(TemporaryFile {
                path,
                target: target.to_owned(),
                directory,
                is_complete: false,
            }),
        })
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts the file on the disk and gives it its name.
    pub fn complete(mut self) -> io::Result<()> {
        if let Some(temporary) = &mut self.temporary {
            self.file.sync_all()?;
            fs::rename(&temporary.path, &temporary.target)?;
            temporary.is_complete = true;
            temporary.directory.sync_all()?;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_complete {
            // What cannot be removed stays under its hidden name, which no engine reads.
            let _ = fs::remove_file(&self.path);
        }
    }
}
