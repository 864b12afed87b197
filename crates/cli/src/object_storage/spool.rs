//! The directory in which files wait for their upload.
//!
//! Below it is a directory for each bucket, in which the objects have the names of their keys: `s3/BUCKET/KEY`. Hidden names are
//! files that are written (`.part`), the progress of uploads (`.upload`), and the lock of the run that uses the bucket.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use tapline::file::output::OpenOutput;

use super::journal;
use super::queue::Waiting;
use super::url::ObjectUrl;
use crate::failure::{Exit, Failure};

const LOCK: &str = ".lock";

/// Directories inside each other, at most: a key has as many parts.
const DEPTH: usize = 64;

/// The objects of a bucket that wait. No other run uses them.
#[derive(Debug)]
pub struct Spool {
    /// Where the bucket's objects are.
    pub root: PathBuf,
    _lock: File,
}

/// What an earlier run left.
#[derive(Debug, Default)]
pub struct Found {
    /// Complete files, the oldest first.
    pub files: Vec<Waiting>,
    /// Files that were not complete, and were removed.
    pub half_written: u64,
}

impl Spool {
    /// Opens the spool of a bucket below `spool`, and makes it if it is missing.
    pub fn open(spool: &Path, url: &ObjectUrl) -> Result<(Self, Found), Failure> {
        let root = spool.join(url.spooled());
        let failed = |error: &io::Error| {
            let what = format!("cannot use the spool {}", root.display());
            let failure = Failure::job_on(what, error);
            Failure::new(
                Exit::Failed,
                failure.line + " (--spool DIR chooses another one)",
            )
        };
        create_owned(spool, &url.spooled()).map_err(|error| failed(&error))?;
        let lock = lock(&root.join(LOCK)).map_err(|error| failed(&error))?;
        let mut found = Found::default();
        let mut times = Vec::new();
        look(&root, DEPTH, &mut |path, about| {
            found.look_at(path, about, &mut times)
        })
        .map_err(|error| failed(&error))?;
        times.sort_by(|one, other| (one.0, &one.1.path).cmp(&(other.0, &other.1.path)));
        found.files = times.into_iter().map(|(_, file)| file).collect();
        Ok((Self { root, _lock: lock }, found))
    }

    /// The local place of a key.
    pub fn place(&self, key: &str) -> PathBuf {
        if key.is_empty() {
            self.root.clone()
        } else {
            self.root.join(key)
        }
    }

    /// The key of a file.
    pub fn key(&self, path: &Path) -> Option<String> {
        let key = path.strip_prefix(&self.root).ok()?;
        key.to_str().map(str::to_owned)
    }

    /// Removes the directories above files that have gone, as far as they are empty and not above `kept` or it. Only the thread
    /// that creates directories may do so.
    pub fn prune(&self, gone: &[PathBuf], kept: &Path) {
        for path in gone {
            let above = path.ancestors().skip(1);
            let unused = above.take_while(|directory| {
                directory.starts_with(&self.root)
                    && *directory != self.root
                    && !kept.starts_with(directory)
            });
            for directory in unused {
                match fs::remove_dir(directory) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                    _ => {}
                }
            }
        }
    }
}

/// Removes a file that is no longer needed, with the progress of its upload.
pub fn remove(path: &Path) {
    // What cannot be removed is uploaded again by the next run, under the same key.
    let _ = fs::remove_file(path);
    journal::remove(path);
}

/// Creates a directory for its owner alone, with those above it.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Creates `place` below the spool. Directories through which another user could choose what is uploaded are refused: his own,
/// and links, which he may have put into a spool that others can write to.
fn create_owned(spool: &Path, place: &Path) -> io::Result<()> {
    create(spool)?;
    let refused = |text| Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    let user = geteuid().as_raw();
    let is_trusted = |about: &Metadata| [0, user].contains(&about.uid());
    let about = fs::metadata(spool)?;
    let is_shared = about.mode() & 0o1002 == 0o002;
    if !is_trusted(&about) || is_shared {
        return refused("other users can write to it");
    }
    let mut path = spool.to_owned();
    for name in place {
        path.push(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let about = fs::symlink_metadata(&path)?;
        if !about.is_dir() {
            return refused("it is not a directory, or it is a link");
        }
        if !is_trusted(&about) {
            return refused("it belongs to another user");
        }
    }
    Ok(())
}

/// Locks the spool until the file is closed.
fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOutput::create().open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another tapline uses it",
        )),
        Err(error) => Err(error.into()),
    }
}

/// Visits the regular files below a directory, then removes it if it is empty and has one above.
fn look(
    directory: &Path,
    depth: usize,
    visit: &mut dyn FnMut(PathBuf, &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(());
    };
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        // Links are not followed.
        let about = fs::symlink_metadata(&path)?;
        if about.is_dir() {
            look(&path, depth, visit)?;
            // It fails unless it is empty.
            let _ = fs::remove_dir(&path);
        } else if about.is_file() {
            visit(path, &about)?;
        }
    }
    Ok(())
}

impl Found {
    fn look_at(
        &mut self,
        path: PathBuf,
        about: &Metadata,
        times: &mut Vec<((i64, i64), Waiting)>,
    ) -> io::Result<()> {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !name.starts_with('.') {
            let file = Waiting {
                bytes: about.len(),
                rows: None,
                path,
            };
            times.push(((about.mtime(), about.mtime_nsec()), file));
        } else if name.strip_suffix(".part").is_some() {
            fs::remove_file(&path)?;
            self.half_written += 1;
        } else if journal::file_of(&path).is_some_and(|file| !file.exists()) {
            fs::remove_file(&path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn url() -> ObjectUrl {
        let url = ObjectUrl::parse(Path::new("s3://logs/table")).expect("a URL");
        url.expect("a bucket")
    }

    /// Opens a spool after `prepare`, which gets its directory. Returns why it is refused.
    fn refusal(prepare: impl FnOnce(&Path)) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = folder.path().join("spool");
        create(&spool).expect("a folder");
        prepare(&spool);
        let error = Spool::open(&spool, &url()).expect_err("it is refused");
        error.line
    }

    #[test]
    fn a_spool_in_which_others_choose_the_files_is_refused() {
        let private = tempfile::tempdir().expect("a folder");
        fs::write(private.path().join("id_rsa"), "a key").expect("a file");
        let link = |from: &Path| symlink(private.path(), from).expect("a link");
        for place in ["s3", "s3/logs"] {
            let line = refusal(|spool| {
                let place = spool.join(place);
                create(place.parent().expect("one above")).expect("a folder");
                link(&place);
            });
            assert!(
                line.contains("it is not a directory, or it is a link"),
                "{line}"
            );
        }
        // Nothing was created behind the link.
        assert_eq!(fs::read_dir(private.path()).expect("a folder").count(), 1);
        let nobody = Some(65534);
        for place in ["", "s3", "s3/logs"] {
            let line = refusal(|spool| {
                let place = spool.join(place);
                create(&place).expect("a folder");
                chown(place, nobody, nobody).expect("another owner");
            });
            assert!(
                line.contains("it belongs to another user")
                    || line.contains("other users can write to it"),
                "{line}"
            );
        }
        let writable = |mode| {
            move |spool: &Path| {
                fs::set_permissions(spool, Permissions::from_mode(mode)).expect("a mode");
            }
        };
        let line = refusal(writable(0o777));
        assert!(line.contains("other users can write to it"), "{line}");
        // As /tmp, and a link that the user names himself.
        let folder = tempfile::tempdir().expect("a folder");
        writable(0o1777)(folder.path());
        Spool::open(folder.path(), &url()).expect("a spool");
        let named = private.path().join("spool");
        symlink(folder.path(), &named).expect("a link");
        Spool::open(&named, &url()).expect("a spool");
    }

    #[test]
    fn what_an_earlier_run_left_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let (spool, found) = Spool::open(folder.path(), &url()).expect("a spool");
        assert!(found.files.is_empty());
        let hour = spool.place("table/date=2026-11-28/hour=16");
        create(&hour).expect("a folder");
        create(&spool.place("table/date=2026-11-27/hour=16")).expect("a folder");
        for name in [
            "b.parquet",
            ".c.parquet.0123.part",
            ".b.parquet.upload",
            ".d.parquet.upload",
        ] {
            fs::write(hour.join(name), name).expect("a file");
        }
        let long_ago = UNIX_EPOCH + Duration::from_secs(1);
        let older = File::options().append(true).open(hour.join("b.parquet"));
        let older = older.expect("the file");
        older.set_modified(long_ago).expect("a time");
        let whole = spool.place("a.parquet");
        fs::write(&whole, "a").expect("a file");
        let error = Spool::open(folder.path(), &url()).expect_err("in use");
        assert!(error.line.contains("another tapline uses it"), "{error:?}");
        drop(spool);
        let (spool, found) = Spool::open(folder.path(), &url()).expect("a spool");
        let keys: Vec<_> = found
            .files
            .iter()
            .filter_map(|file| spool.key(&file.path))
            .collect();
        assert_eq!(
            keys,
            ["table/date=2026-11-28/hour=16/b.parquet", "a.parquet"]
        );
        assert_eq!(found.half_written, 1);
        let mut left: Vec<_> = fs::read_dir(&hour)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, [".b.parquet.upload", "b.parquet"]);
        assert!(!spool.place("table/date=2026-11-27").exists());
        for file in &found.files {
            remove(&file.path);
        }
        let gone: Vec<_> = found.files.into_iter().map(|file| file.path).collect();
        let table = spool.place("table");
        spool.prune(&gone, &table);
        assert!(table.exists() && !hour.exists());
        spool.prune(&gone, &spool.root);
        assert!(!table.exists() && spool.root.exists());
    }
}
