//! The progress of an upload in parts, in a hidden file beside the one that is uploaded: another run continues it.
//!
//! The first line has the upload, each further one a part that the service has. A line that is not whole, as after a crash, is
//! the end. An upload goes on without a journal that cannot be written: on a full disk, uploads are what makes room.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tapline::file::output::OpenOutput;

const SUFFIX: &str = ".upload";

/// Larger ones are not read: an upload has at most 10 000 parts.
const MOST_BYTES: u64 = 16 << 20;

/// The upload of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// What the service calls it.
    pub id: String,
    pub bytes: u64,
    pub part_bytes: u64,
}

/// An upload, and its parts in their order.
#[derive(Debug)]
pub struct Journal {
    /// `None` once it could not be written.
    file: Option<File>,
    pub upload: Upload,
    pub parts: Vec<String>,
}

/// The journal of a file.
pub fn path(of: &Path) -> PathBuf {
    let name = of.file_name().unwrap_or_default().to_string_lossy();
    of.with_file_name(format!(".{name}{SUFFIX}"))
}

/// Removes the journal of a file, if there is one.
pub fn remove(of: &Path) {
    let _ = fs::remove_file(path(of));
}

/// The file of a journal; `None` if the name is another one.
pub fn file_of(journal: &Path) -> Option<PathBuf> {
    let name = journal.file_name()?.to_str()?;
    let name = name.strip_prefix('.')?.strip_suffix(SUFFIX)?;
    Some(journal.with_file_name(name))
}

impl Journal {
    /// Begins the journal of an upload.
    pub fn create(of: &Path, upload: Upload) -> Self {
        let mut journal = Self {
            file: OpenOutput::create().truncate().open(&path(of)).ok(),
            parts: Vec::new(),
            upload,
        };
        let upload = journal.upload.clone();
        journal.write(&upload);
        journal
    }

    /// Whether another run can continue the upload.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Continues the upload of a file of `bytes`; `None` if there is none, or the file is another one.
    pub fn resume(of: &Path, bytes: u64) -> io::Result<Option<Self>> {
        let path = path(of);
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !about.is_file() || about.len() > MOST_BYTES {
            return Ok(None);
        }
        let text = fs::read(&path)?;
        let Some((upload, parts, whole)) = parse(&text) else {
            return Ok(None);
        };
        if upload.bytes != bytes || upload.part_bytes == 0 {
            return Ok(None);
        }
        let file = File::options().append(true).open(&path)?;
        file.set_len(whole as u64)?;
        Ok(Some(Self {
            file: Some(file),
            upload,
            parts,
        }))
    }

    /// Adds the next part.
    pub fn add(&mut self, part: &str) {
        self.write(&part);
        self.parts.push(part.to_owned());
    }

    fn write(&mut self, line: &impl Serialize) {
        let Some(file) = &mut self.file else {
            return;
        };
        let written = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .and_then(|mut text| {
                text.push(b'\n');
                file.write_all(&text)
            });
        if written.is_err() {
            self.file = None;
        }
    }
}

/// The upload, its parts, and the length of the lines that are whole.
fn parse(text: &[u8]) -> Option<(Upload, Vec<String>, usize)> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let first = lines.next()?.strip_suffix(b"\n")?;
    let upload: Upload = serde_json::from_slice(first).ok()?;
    let mut whole = first.len() + 1;
    let mut parts = Vec::new();
    for line in lines {
        let part = line.strip_suffix(b"\n").map(serde_json::from_slice);
        let Some(Ok(part)) = part else {
            break;
        };
        parts.push(part);
        whole += line.len();
    }
    Some((upload, parts, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_of_a_journal_is_one_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.parquet");
        let upload = Upload {
            id: "one\"\n".into(),
            bytes: 20,
            part_bytes: 8,
        };
        let mut journal = Journal::create(&file, upload.clone());
        journal.add("\"first\"");
        journal.add("second");
        let whole = fs::read(path(&file)).expect("the journal");
        let lines = |end: usize| whole[..end].split(|byte| *byte == b'\n').count() - 1;
        for end in 0..=whole.len() {
            fs::write(path(&file), &whole[..end]).expect("written");
            let resumed = Journal::resume(&file, 20).expect("read");
            assert_eq!(resumed.is_some(), lines(end) > 0);
            let Some(mut resumed) = resumed else {
                continue;
            };
            assert_eq!(resumed.upload, upload);
            assert_eq!(resumed.parts, ["\"first\"", "second"][..lines(end) - 1]);
            // It goes on behind what was whole.
            resumed.add("third");
            let parts = resumed.parts;
            let again = Journal::resume(&file, 20)
                .expect("read")
                .expect("a journal");
            assert_eq!(again.parts, parts);
        }
        assert!(Journal::resume(&file, 21).expect("read").is_none());
        assert_eq!(file_of(&path(&file)), Some(file));
    }

    #[test]
    fn what_is_no_journal_is_none() {
        for text in ["", "\n", "{}\n", "{\"id\":\"\"}\n", "null\n", "\0\0\0\0"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
