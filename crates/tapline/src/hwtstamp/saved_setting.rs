//! The former setting of an interface, recorded in a file until it is restored.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::StampDevice;
use super::error::StampError;
use super::setting::HardwareStamping;
use crate::doctor::shell_quote;
use crate::record_file::{self, RecordError, RecordFile, Recorded, boot_id, guard};

/// The lock that guards the records, held for a few system calls.
const GUARD: &str = ".hwtstamp.lock";

/// What a file holds.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Content {
    boot_id: String,
    link: String,
    index: u32,
    former: [i32; 3],
    made: [i32; 3],
}

/// The record of one interface, shared with the other captures that use it.
#[derive(Debug)]
pub struct SavedSetting {
    folder: PathBuf,
    file: RecordFile,
}

/// A setting that a killed capture left changed, and the result of restoring it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LeftoverSetting {
    /// Name of the interface; empty if the record cannot be read.
    pub link: String,
    /// The setting before the capture, if the record can be read.
    pub former: HardwareStamping,
    /// What was done.
    pub restored: RestoreOutcome,
}

/// Result of restoring a setting that a killed capture left changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreOutcome {
    /// The former setting is in effect again.
    Done,
    /// Somebody has changed it since, or the interface is another one.
    Left,
    /// It could not be restored; the record stays. [`StampError::Record`]: the record cannot be read or removed.
    Failed(StampError),
}

impl LeftoverSetting {
    /// The shell command that restores the former setting, of linuxptp.
    pub fn command(&self) -> String {
        if self.link.is_empty() {
            return record_file::UNDO.to_owned();
        }
        let HardwareStamping {
            transmit, receive, ..
        } = self.former;
        let link = shell_quote(&self.link);
        format!("hwstamp_ctl -i {link} -t {transmit} -r {receive}")
    }
}

impl SavedSetting {
    /// Makes the setting of `device` what `wanted` makes of it, and records what it was. `None` if it is that already
    /// and no capture has made it so: nothing is to be restored then.
    pub fn begin(
        device: &mut StampDevice,
        wanted: impl Fn(HardwareStamping) -> HardwareStamping,
    ) -> Result<Option<Self>, StampError> {
        let folder = record_file::folder()?;
        record_file::create_folder(&folder)?;
        let name = format!(
            "hwtstamp-{}-{}.json",
            device.namespace_cookie(),
            device.index()
        );
        let path = folder.join(name);
        let _guard = guard(&folder, GUARD)?;
        let present = device.present()?;
        let file = RecordFile::create(path)?;
        let mut record = Self { folder, file };
        let is_only_user = record.file.try_lock()?;
        let known: Option<Content> = record.file.read();
        let known = known.filter(|content| content.is_of(device));
        match (
            record.change(device, known.as_ref(), present, wanted(present)),
            known,
        ) {
            (Ok(true), _) => {}
            (Err(error), Some(known)) => {
                // The setting is as another capture made it, which is to be restored still.
                record.file.write(&known)?;
                return Err(error);
            }
            (other, _) => {
                if is_only_user {
                    let _ = record.file.remove();
                }
                return other.map(|_| None);
            }
        }
        record.file.share()?;
        Ok(Some(record))
    }

    /// Records the change from `present` to `wanted`, and makes it. `known` is the record before. Returns whether there is a
    /// former setting to restore.
    fn change(
        &mut self,
        device: &mut StampDevice,
        known: Option<&Content>,
        present: HardwareStamping,
        wanted: HardwareStamping,
    ) -> Result<bool, StampError> {
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
        self.file.write(&content)?;
        if wanted != present {
            let granted = device.set(wanted)?;
            if granted != wanted {
                content.made = numbers(granted);
                self.file.write(&content)?;
            }
        }
        Ok(former != present || wanted != present)
    }

    /// Ends the use of the interface by this capture. The last one restores the former setting.
    pub fn end(mut self, device: &mut StampDevice) -> Result<(), StampError> {
        let _guard = guard(&self.folder, GUARD)?;
        if self.file.try_lock()? {
            self.restore(device)?;
        }
        Ok(())
    }

    /// Restores the former setting, unless it was changed since, and removes the record.
    fn restore(&mut self, device: &mut StampDevice) -> Result<bool, StampError> {
        let content: Option<Content> = self.file.read();
        let content = content.filter(|content| content.is_of(device));
        let mut is_restored = false;
        if let Some(content) = content
            && device.present()? == setting(content.made)
        {
            device.set(setting(content.former))?;
            is_restored = true;
        }
        self.file.remove()?;
        Ok(is_restored)
    }
}

impl Recorded for Content {
    fn boot_id(&self) -> &str {
        &self.boot_id
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
pub fn restore_leftovers() -> Result<Vec<LeftoverSetting>, StampError> {
    let folder = record_file::folder()?;
    let cookie = crate::doctor::namespace_cookie().unwrap_or(0);
    undo_in(&folder, cookie)
}

fn undo_in(folder: &Path, cookie: u64) -> Result<Vec<LeftoverSetting>, StampError> {
    let found = record_file::undo_each(
        folder,
        &format!("hwtstamp-{cookie}-"),
        GUARD,
        |path| undo(folder, path),
        |error| LeftoverSetting {
            link: String::new(),
            former: HardwareStamping::new(0, 0),
            restored: RestoreOutcome::Failed(error.into()),
        },
    );
    Ok(found?)
}

/// Restores what the record at `path` says; `None` if a capture is using it, or if it is not a record of this boot.
fn undo(folder: &Path, path: PathBuf) -> Result<Option<LeftoverSetting>, RecordError> {
    let Some((file, content)) = RecordFile::open_left_behind::<Content>(path)? else {
        return Ok(None);
    };
    let folder = folder.to_owned();
    let mut record = SavedSetting { folder, file };
    let restored =
        StampDevice::open(&content.link).and_then(|mut device| record.restore(&mut device));
    Ok(Some(LeftoverSetting {
        link: content.link,
        former: setting(content.former),
        restored: match restored {
            Ok(true) => RestoreOutcome::Done,
            Ok(false) => RestoreOutcome::Left,
            Err(StampError::Link(error)) if error.errno() == Some(libc::ENODEV) => {
                record.file.remove()?;
                RestoreOutcome::Left
            }
            Err(error) => RestoreOutcome::Failed(error),
        },
    }))
}

impl From<RecordError> for StampError {
    fn from(RecordError { path, source }: RecordError) -> Self {
        Self::Record { path, source }
    }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_record_that_cannot_be_read_does_not_end_the_undo() {
        let folder = tempfile::tempdir().expect("a folder");
        // Whatever is listed first, another record comes behind it.
        for index in [2, 4] {
            fs::create_dir(folder.path().join(format!("hwtstamp-7-{index}.json"))).expect("made");
        }
        let of_another_boot = folder.path().join("hwtstamp-7-3.json");
        fs::write(&of_another_boot, "{}").expect("written");
        let of_another_namespace = folder.path().join("hwtstamp-8-3.json");
        fs::write(&of_another_namespace, "{}").expect("written");
        let undone = undo_in(folder.path(), 7).expect("undone");
        assert_eq!(undone.len(), 2);
        for one in &undone {
            assert!(matches!(
                one.restored,
                RestoreOutcome::Failed(StampError::Record { .. })
            ));
            assert_eq!(one.command(), "tapline doctor --undo");
        }
        assert!(!of_another_boot.exists() && of_another_namespace.exists());
    }
}
