//! Former settings of the host, recorded in files until they are restored.
//!
//! Each job that uses a setting holds a shared lock on its file, which the kernel releases when the process ends, however
//! it ends. So a record that nobody has locked was left behind.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::output::OpenOutput;

/// Longest record, bytes. A longer file is not one of ours. The longest has the indirection table of a device twice.
const BYTES_MAX: u64 = 256 << 10;

/// The command that restores what the records say.
pub const UNDO: &str = "tapline doctor --undo";

/// A file or folder of records cannot be read or written.
#[derive(Debug)]
pub struct RecordError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl RecordError {
    /// Whether the record is not there any more.
    pub fn is_gone(&self) -> bool {
        self.source.kind() == ErrorKind::NotFound
    }
}

/// The record of one setting, shared with the other jobs that use it.
#[derive(Debug)]
pub struct RecordFile {
    pub path: PathBuf,
    file: File,
}

impl RecordFile {
    /// Opens the record, and creates it if it is missing.
    pub fn create(path: PathBuf) -> Result<Self, RecordError> {
        let file = OpenOutput::create().read().open(&path);
        let file = file.map_err(failed(&path))?;
        Ok(Self { path, file })
    }

    /// Opens a record that is there.
    fn open(path: PathBuf) -> Result<Self, RecordError> {
        let file = OpenOutput::existing().read().open(&path);
        let file = file.map_err(failed(&path))?;
        Ok(Self { path, file })
    }

    /// Opens a record that was left behind, and has it alone. `None` if somebody uses it. One of another boot, or of
    /// another kind, is removed: `None`, too.
    pub fn open_left_behind<C: Recorded>(path: PathBuf) -> Result<Option<(Self, C)>, RecordError> {
        let mut record = Self::open(path)?;
        if !record.try_lock()? {
            return Ok(None);
        }
        let content: Option<C> = record.read();
        let Some(content) = content.filter(|content| content.boot_id() == boot_id()) else {
            record.remove()?;
            return Ok(None);
        };
        Ok(Some((record, content)))
    }

    /// Whether this is the only user of the record. It has it alone then.
    pub fn try_lock(&self) -> Result<bool, RecordError> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(failed(&self.path)(error.into())),
        }
    }

    /// Uses the record, together with others. Call it with the guard: nobody can have it alone then.
    pub fn share(&self) -> Result<(), RecordError> {
        flock(&self.file, FlockOperation::NonBlockingLockShared)
            .map_err(|error| failed(&self.path)(error.into()))
    }

    /// The content; `None` if there is none of this kind. The rest of a longer record may follow if
    /// a process was killed while it wrote: it is ignored.
    pub fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        let mut bytes = Vec::new();
        self.file.rewind().ok()?;
        let mut bounded = (&mut self.file).take(BYTES_MAX);
        bounded.read_to_end(&mut bytes).ok()?;
        let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter();
        values.next()?.ok()
    }

    /// Replaces the content. A process that is killed meanwhile leaves the content before or this one, if this one has at most
    /// 4096 bytes. Of a longer one, it may leave a part.
    pub fn write<T: Serialize>(&mut self, content: &T) -> Result<(), RecordError> {
        let mut write = || {
            let text = serde_json::to_string(content)?;
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())?;
            // Last, so that the file is never empty.
            self.file.set_len(text.len() as u64)?;
            self.file.sync_data()
        };
        write().map_err(failed(&self.path))
    }

    /// Removes the record, if it is there.
    pub fn remove(&self) -> Result<(), RecordError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&self.path)(error)),
            _ => Ok(()),
        }
    }
}

/// What a record says about a former setting.
pub trait Recorded: DeserializeOwned {
    /// The boot in which the record was made.
    fn boot_id(&self) -> &str;
}

/// Calls `undo` with each record in `folder` whose name begins with `prefix`, the greatest names first, under the lock
/// `guard_name`. A record that it fails for, and which has not gone meanwhile, is what `failed` makes of the error.
pub fn undo_each<T>(
    folder: &Path,
    prefix: &str,
    guard_name: &str,
    undo: impl Fn(PathBuf) -> Result<Option<T>, RecordError>,
    failed: impl Fn(RecordError) -> T,
) -> Result<Vec<T>, RecordError> {
    // Without records no lock is created.
    if records(folder, prefix)?.is_empty() {
        return Ok(Vec::new());
    }
    let _guard = guard(folder, guard_name)?;
    let mut paths = records(folder, prefix)?;
    paths.sort_unstable_by(|a, b| b.cmp(a));
    let mut found = Vec::new();
    for path in paths {
        match undo(path) {
            Ok(undone) => found.extend(undone),
            Err(error) if error.is_gone() => {}
            Err(error) => found.push(failed(error)),
        }
    }
    Ok(found)
}

/// The folder of the records: that of the control sockets.
pub fn folder() -> Result<PathBuf, RecordError> {
    crate::control::directory().map_err(|_| RecordError {
        path: PathBuf::from("$XDG_RUNTIME_DIR"),
        source: ErrorKind::NotFound.into(),
    })
}

/// Creates the folder if it is missing.
pub fn create_folder(folder: &Path) -> Result<(), RecordError> {
    let mut directory = DirBuilder::new();
    let made = directory.recursive(true).mode(0o755).create(folder);
    made.map_err(failed(folder))
}

/// Paths of the records in `folder` whose names begin with `prefix`.
pub fn records(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, RecordError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        // A capture may be named like a record: its socket and lock are none.
        let is_job = (path.extension()).is_some_and(|ends| ends == "sock" || ends == "lock");
        if !is_job && name.is_some_and(|name| name.starts_with(prefix)) {
            found.push(path);
        }
    }
    Ok(found)
}

/// The number in the name of a record, after `prefix`.
pub fn number(path: &Path, prefix: &str) -> Option<u32> {
    let name = path.file_stem()?.to_str()?;
    name.strip_prefix(prefix)?.parse().ok()
}

/// Waits for the lock `name` that guards the records. Who has it makes a few system calls and no more.
pub fn guard(folder: &Path, name: &str) -> Result<File, RecordError> {
    let path = folder.join(name);
    let file = OpenOutput::create().open(&path).map_err(failed(&path))?;
    flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(&path)(error.into()))?;
    Ok(file)
}

/// Identifies this boot of the host: settings of another boot are gone.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

fn failed(path: &Path) -> impl Fn(io::Error) -> RecordError {
    let path = path.to_owned();
    move |source| RecordError {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_longer_content_before_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        let mut record = RecordFile::create(path.clone()).unwrap();
        assert_eq!(record.read::<Vec<u32>>(), None);
        record.write(&[1000, 2000]).unwrap();
        record.write(&[3]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[3]");
        // As a kill between the two steps of that leaves it.
        fs::write(&path, "[3]0,2000]").unwrap();
        assert_eq!(record.read::<Vec<u32>>(), Some(vec![3]));
        fs::write(&path, "[3").unwrap();
        assert_eq!(record.read::<Vec<u32>>(), None);
        // The rest of a longer content may begin within a character.
        fs::write(&path, b"[3]\xa9\"]").unwrap();
        assert_eq!(record.read::<Vec<u32>>(), Some(vec![3]));
    }
}
