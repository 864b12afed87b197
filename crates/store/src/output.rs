//! Opens files for output, so that no other user decides what is written to.
//!
//! In a directory where others may create entries, such as /tmp, a name may exist before it is created: as a link that leads
//! elsewhere, or as a file or pipe that its owner reads. There, links and files are used only if they belong to root, to the
//! user of this process or, as root, to the user who called sudo(8). It does not depend on the sysctls `fs.protected_*`, which
//! are often off.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, ftruncate,
    openat, readlinkat, statat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;

/// Links in a path, at most; the kernel's limit.
const LINKS_MAX: usize = 40;

/// Attempts to create a file that others create and remove meanwhile.
const ATTEMPTS: usize = 100;

/// Users of which a user namespace knows nothing appear as this one: the default of `kernel.overflowuid`.
const UNMAPPED: u32 = 65534;

/// How a file is opened for output.
#[derive(Clone, Copy, Debug)]
pub struct OpenOutput {
    flags: OFlags,
    creates: bool,
    truncates: bool,
    mode: Mode,
}

/// Why a name is not written to.
#[derive(Clone, Copy, Debug)]
struct Refused {
    what: &'static str,
    owner: u32,
}

impl OpenOutput {
    /// Opens a file that exists, for writing.
    pub fn existing() -> Self {
        Self {
            flags: OFlags::WRONLY | OFlags::CLOEXEC,
            creates: false,
            truncates: false,
            mode: Mode::RUSR | Mode::WUSR,
        }
    }

    /// Creates a file for its owner alone, or opens one that exists.
    pub fn create() -> Self {
        Self {
            creates: true,
            ..Self::existing()
        }
    }

    /// Empties a file that exists.
    #[must_use]
    pub fn truncate(mut self) -> Self {
        self.truncates = true;
        self
    }

    /// Reads, too.
    #[must_use]
    pub fn read(mut self) -> Self {
        self.flags.remove(OFlags::WRONLY);
        self.flags.insert(OFlags::RDWR);
        self
    }

    /// Lets every user read a file that is created, as far as the umask does.
    #[must_use]
    pub fn for_all(mut self) -> Self {
        self.mode |= Mode::RGRP | Mode::ROTH;
        self
    }

    /// Lets the group of a file that is created read it, as far as the umask does.
    #[must_use]
    pub fn for_group(mut self) -> Self {
        self.mode |= Mode::RGRP;
        self
    }

    /// Opens `path`. A pipe without a reader is waited for.
    ///
    /// # Errors
    /// Those of open(2); `PermissionDenied` with a text if a link or file belongs to another user, in a directory where others
    /// may create entries.
    pub fn open(self, path: &Path) -> io::Result<File> {
        // What is still to be walked, the next name last.
        let mut rest = Vec::new();
        let mut directory = enter(path.as_os_str(), None, &mut rest)?;
        let (mut links, mut attempts) = (0, 0);
        while let Some(name) = rest.pop() {
            let creates = self.creates && rest.is_empty();
            if creates {
                let flags = self.flags | OFlags::CREATE | OFlags::EXCL;
                match retry_on_intr(|| openat(&directory, &name, flags, self.mode)) {
                    Err(Errno::EXIST) => {}
                    made => return Ok(made?.into()),
                }
            }
            let found = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) if creates && attempts < ATTEMPTS => {
                    attempts += 1;
                    rest.push(name);
                    continue;
                }
                found => found?,
            };
            let is_link = FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
            if is_link && !is_of_kernel(&directory)? {
                check(&directory, &found)?;
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                let target = readlinkat(&directory, &name, Vec::new())?;
                let target = OsStr::from_bytes(target.as_bytes());
                directory = enter(target, Some(directory), &mut rest)?;
            } else if !rest.is_empty() {
                directory = open_directory(&directory, &name, is_link)?;
            } else if is_link {
                // The kernel's own, to an open file: it has no other name.
                let opened = retry_on_intr(|| openat(&directory, &name, self.flags, Mode::empty()));
                return self.emptied(opened?);
            } else {
                // A pipe of another user would be waited for.
                check(&directory, &found)?;
                let flags = self.flags | OFlags::NOFOLLOW;
                let opened = retry_on_intr(|| openat(&directory, &name, flags, Mode::empty()))?;
                // It may be another file now.
                check(&directory, &fstat(&opened)?)?;
                return self.emptied(opened);
            }
        }
        // The path is empty, or ends with a slash or a link to a directory.
        Err(if path.as_os_str().is_empty() {
            Errno::NOENT
        } else {
            Errno::ISDIR
        }
        .into())
    }

    fn emptied(self, file: OwnedFd) -> io::Result<File> {
        let file = File::from(file);
        // Pipes and devices have no length.
        if self.truncates && file.metadata()?.is_file() {
            retry_on_intr(|| ftruncate(&file, 0))?;
        }
        Ok(file)
    }
}

/// Puts the names of `path` before the `rest`, and returns the directory that they begin in: `here`, if the path is relative.
fn enter(path: &OsStr, here: Option<OwnedFd>, rest: &mut Vec<OsString>) -> io::Result<OwnedFd> {
    // A slash at the end leaves no file to open.
    if path.as_bytes().ends_with(b"/") && rest.is_empty() {
        return Err(Errno::ISDIR.into());
    }
    let path = Path::new(path);
    let names = path.components().rev();
    let names = names.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    rest.extend(names.map(|part| part.as_os_str().to_owned()));
    match here {
        _ if path.is_absolute() => open_directory(CWD, OsStr::new("/"), false),
        Some(here) => Ok(here),
        None => open_directory(CWD, OsStr::new("."), false),
    }
}

fn open_directory(within: impl AsFd, name: &OsStr, follow: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    Ok(retry_on_intr(|| {
        openat(&within, name, flags, Mode::empty())
    })?)
}

/// Whether the links in a directory are the kernel's: to what processes have open.
fn is_of_kernel(directory: &OwnedFd) -> io::Result<bool> {
    Ok(fstatfs(directory)?.f_type == PROC_SUPER_MAGIC)
}

/// Fails if another user may have made what was found in a directory.
fn check(directory: &OwnedFd, found: &Stat) -> io::Result<()> {
    let about = fstat(directory)?;
    let others = Mode::WGRP | Mode::WOTH;
    let is_shared = Mode::from_raw_mode(about.st_mode).intersects(others);
    if !is_shared && is_trusted(about.st_uid) {
        return Ok(());
    }
    let kind = FileType::from_raw_mode(found.st_mode);
    let what = match kind {
        _ if is_trusted(found.st_uid) => {
            // Another user could give a file of root a second name there.
            if kind == FileType::RegularFile && found.st_nlink > 1 {
                "a second name of a file"
            } else {
                return Ok(());
            }
        }
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        _ => "a file",
    };
    let owner = found.st_uid;
    let refused = Refused { what, owner };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, refused))
}

/// Whether a user decides here anyway: root, the user of this process, and the one who called sudo(8).
fn is_trusted(user: u32) -> bool {
    let this = geteuid().as_raw();
    let caller = || {
        let caller = std::env::var("SUDO_UID").ok()?;
        caller.parse::<u32>().ok()
    };
    user == 0
        || user == this
        || this == 0 && caller() == Some(user)
        || user == UNMAPPED && is_in_user_namespace()
}

/// Whether root itself may be a user without a number here.
fn is_in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.is_empty() && !map.split_whitespace().eq(["0", "0", "4294967295"])
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, owner } = self;
        write!(
            f,
            "it is {what} of user {owner}, in a directory where others can write (remove it, or choose another directory)"
        )
    }
}

impl std::error::Error for Refused {}
