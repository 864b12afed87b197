//! The former setting of an interface, recorded in a file until it is restored.
//!
//! Each capture that uses the interface holds a shared lock on the file, which the kernel releases when the process
//! ends, however it ends. So a record that nobody has locked was left behind.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::device::StampDevice;
use super::error::StampError;
use super::setting::HardwareStamping;
use crate::doctor::shell_quote;

/// Longest record, bytes. A longer file is not one of ours.
const BYTES_MAX: u64 = 4096;

/// The lock that guards the others, held for a few system calls.
const GUARD: &str = "hwtstamp.lock";

/// What a file holds.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Content {
    /// Identifies this boot of the host: settings of another boot are gone.
    boot_id: String,
    link: String,
    index: u32,
    former: [i32; 3],
    made: [i32; 3],
}

/// The record of one interface, shared with the other captures that use it.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    path: PathBuf,
    file: File,
}

/// How the setting of an interface was dealt with that a killed capture left behind.
#[derive(Debug)]
#[non_exhaustive]
pub struct LeftBehind {
    /// Name of the interface.
    pub link: String,
    /// The setting before the capture.
    pub former: HardwareStamping,
    /// What was done.
    pub restored: Restored,
}

/// What was done with a setting that was left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum Restored {
    /// The former setting is in effect again.
    Done,
    /// Somebody has changed it since, or the interface is another one.
    Left,
    /// It could not be restored; the record stays.
    Failed(StampError),
}

impl LeftBehind {
    /// The shell command that restores the former setting, of linuxptp.
    pub fn command(&self) -> String {
        let HardwareStamping {
            transmit, receive, ..
        } = self.former;
        let link = shell_quote(&self.link);
        format!("hwstamp_ctl -i {link} -t {transmit} -r {receive}")
    }
}

impl Record {
    /// Makes the setting of `device` what `wanted` makes of it, and records what it was. `None` if it is that already
    /// and no capture has made it so: nothing is to be restored then.
    pub fn begin(
        device: &mut StampDevice,
        wanted: impl Fn(HardwareStamping) -> HardwareStamping,
    ) -> Result<Option<Self>, StampError> {
        let folder = folder()?;
        let mut directory = DirBuilder::new();
        let made = directory.recursive(true).mode(0o755).create(&folder);
        made.map_err(failed(&folder))?;
        let name = format!(
            "hwtstamp-{}-{}.json",
            device.namespace_cookie(),
            device.index()
        );
        let path = folder.join(name);
        let _guard = guard(&folder)?;
        let present = device.present()?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(&path).map_err(failed(&path))?;
        let mut record = Self { folder, path, file };
        let is_only_user = record.try_lock().map_err(failed(&record.path))?;
        match record.change(device, present, wanted(present)) {
            Ok(true) => {}
            other => {
                if is_only_user {
                    let _ = fs::remove_file(&record.path);
                }
                return other.map(|_| None);
            }
        }
        // Nobody can have an exclusive lock while the guard is held.
        flock(&record.file, FlockOperation::NonBlockingLockShared)
            .map_err(|error| failed(&record.path)(error.into()))?;
        Ok(Some(record))
    }

    /// Records the change from `present` to `wanted`, and makes it. Returns whether there is a former setting to restore.
    fn change(
        &mut self,
        device: &mut StampDevice,
        present: HardwareStamping,
        wanted: HardwareStamping,
    ) -> Result<bool, StampError> {
        let known = self.read().filter(|content| content.is_of(device));
        let former = match known {
            // What it was before the first of several captures, or before one that was killed.
            Some(content) if setting(content.made) == present => setting(content.former),
            _ => present,
        };
        let mut content = Content {
            boot_id: boot_id(),
            link: device.name(),
            index: device.index(),
            former: numbers(former),
            made: numbers(wanted),
        };
        // Recorded before it is made, so that a kill in between leaves nothing unrecorded.
        self.write(&content).map_err(failed(&self.path))?;
        if wanted != present {
            let granted = device.set(wanted)?;
            if granted != wanted {
                content.made = numbers(granted);
                self.write(&content).map_err(failed(&self.path))?;
            }
        }
        Ok(former != present || wanted != present)
    }

    /// Ends the use of the interface by this capture. The last one restores the former setting.
    pub fn end(mut self, device: &mut StampDevice) -> Result<(), StampError> {
        let _guard = guard(&self.folder)?;
        if self.try_lock().map_err(failed(&self.path))? {
            self.restore(device)?;
        }
        Ok(())
    }

    /// Restores the former setting, unless it was changed since, and removes the record.
    fn restore(&mut self, device: &mut StampDevice) -> Result<bool, StampError> {
        let content = self.read().filter(|content| content.is_of(device));
        let mut is_restored = false;
        if let Some(content) = content
            && device.present()? == setting(content.made)
        {
            device.set(setting(content.former))?;
            is_restored = true;
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&self.path)(error)),
            _ => Ok(is_restored),
        }
    }

    /// Whether this is the only user of the record. It has it alone then.
    fn try_lock(&self) -> io::Result<bool> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&mut self) -> Option<Content> {
        let mut text = String::new();
        self.file.rewind().ok()?;
        let mut bounded = (&mut self.file).take(BYTES_MAX);
        bounded.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&mut self, content: &Content) -> io::Result<()> {
        let text = serde_json::to_string(content)?;
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

impl Content {
    fn is_of(&self, device: &StampDevice) -> bool {
        self.boot_id == boot_id() && self.link == device.name() && self.index == device.index()
    }
}

/// Restores the settings of interfaces in the calling thread's network namespace that captures left behind when they
/// were killed. Interfaces that a capture is using stay as they are.
///
/// # Errors
/// [`StampError::Record`] if the folder of the records cannot be read.
/// # Privileges
/// `CAP_NET_ADMIN` in the user namespace that owns the network namespace, if there is anything to restore.
pub fn undo_left_behind() -> Result<Vec<LeftBehind>, StampError> {
    let folder = folder()?;
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(&folder)(error)),
    };
    let cookie = crate::doctor::namespace_cookie().unwrap_or(0);
    let prefix = format!("hwtstamp-{cookie}-");
    let mut found = Vec::new();
    let _guard = guard(&folder)?;
    for entry in entries {
        let path = entry.map_err(failed(&folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with(&prefix)) {
            found.extend(undo(&folder, path)?);
        }
    }
    Ok(found)
}

/// Restores what the record at `path` says; `None` if a capture is using it, or if it is not a record of this boot.
fn undo(folder: &Path, path: PathBuf) -> Result<Option<LeftBehind>, StampError> {
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let mut record = Record {
        file: file.map_err(failed(&path))?,
        folder: folder.to_owned(),
        path,
    };
    if !record.try_lock().map_err(failed(&record.path))? {
        return Ok(None);
    }
    let content = record.read().filter(|content| content.boot_id == boot_id());
    let Some(content) = content else {
        fs::remove_file(&record.path).map_err(failed(&record.path))?;
        return Ok(None);
    };
    let restored = StampDevice::open(&content.link).and_then(|mut device| {
        let is_restored = record.restore(&mut device)?;
        Ok(is_restored)
    });
    Ok(Some(LeftBehind {
        link: content.link,
        former: setting(content.former),
        restored: match restored {
            Ok(true) => Restored::Done,
            Ok(false) => Restored::Left,
            Err(StampError::Link(error)) if error.errno() == Some(libc::ENODEV) => {
                fs::remove_file(&record.path).map_err(failed(&record.path))?;
                Restored::Left
            }
            Err(error) => Restored::Failed(error),
        },
    }))
}

/// Waits for the lock that guards the records. Who has it makes a few system calls and no more.
fn guard(folder: &Path) -> Result<File, StampError> {
    let path = folder.join(GUARD);
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(failed(&path))?;
    flock(file.as_fd(), FlockOperation::LockExclusive)
        .map_err(|error| failed(&path)(error.into()))?;
    Ok(file)
}

fn folder() -> Result<PathBuf, StampError> {
    crate::control::directory().map_err(|_| StampError::Record {
        path: PathBuf::from("$XDG_RUNTIME_DIR"),
        source: ErrorKind::NotFound.into(),
    })
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StampError {
    let path = path.to_owned();
    move |source| StampError::Record {
        path: path.clone(),
        source,
    }
}

fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}

fn numbers(setting: HardwareStamping) -> [i32; 3] {
    [setting.transmit, setting.receive, setting.flags]
}

fn setting([transmit, receive, flags]: [i32; 3]) -> HardwareStamping {
    HardwareStamping {
        flags,
        ..HardwareStamping::new(transmit, receive)
    }
}
