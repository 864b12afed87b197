//! The CPUs that an interrupt had, recorded in a file until they are restored.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::IrqPaths;
use crate::record_file::{self, RecordError, RecordFile, Recorded, boot_id, guard};

/// The lock that guards the records, held for a few system calls.
const GUARD: &str = ".irq.lock";

/// How the names of the records begin, before the number of the interrupt.
const PREFIX: &str = "irq-";

/// Why an interrupt is not pinned, or not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IrqError {
    /// The kernel refused the CPUs: EIO for an interrupt that it manages itself, EACCES without the privilege.
    #[error("cannot set the CPUs of interrupt {irq}")]
    Refused {
        /// Number of the interrupt.
        irq: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The former setting cannot be recorded, so nothing was changed; or its record cannot be read or removed.
    #[error("cannot record the CPUs of an interrupt in {}", .path.display())]
    Record {
        /// The folder or file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl IrqError {
    /// Whether a privilege is missing.
    pub fn needs_privilege(&self) -> bool {
        let (Self::Refused { source, .. } | Self::Record { source, .. }) = self;
        source.kind() == ErrorKind::PermissionDenied
    }
}

impl From<RecordError> for IrqError {
    fn from(RecordError { path, source }: RecordError) -> Self {
        Self::Record { path, source }
    }
}

/// What a file holds. CPUs are a list, as `smp_affinity_list` has it.
#[derive(Debug, Deserialize, Serialize)]
struct Content {
    boot_id: String,
    irq: u32,
    former: String,
    made: String,
}

/// The record of one interrupt, shared with the other captures that use it.
#[derive(Debug)]
pub struct SavedSetting {
    irq: u32,
    file: RecordFile,
}

/// An interrupt that a killed capture left pinned, and the result of restoring it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LeftoverSetting {
    /// Number of the interrupt.
    pub irq: u32,
    /// Its CPUs before the capture, e.g. `0-3`; empty if the record cannot be read.
    pub former: String,
    /// What was done.
    pub restored: RestoreOutcome,
}

/// Result of restoring an interrupt that a killed capture left pinned.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreOutcome {
    /// It has its former CPUs again.
    Done,
    /// Somebody has changed it since, or it is gone.
    Left,
    /// It could not be restored; the record stays. [`IrqError::Record`]: the record cannot be read or removed.
    Failed(IrqError),
}

impl LeftoverSetting {
    /// The shell command that restores the former CPUs.
    pub fn command(&self) -> String {
        let Self { irq, former, .. } = self;
        if former.is_empty() {
            return record_file::UNDO.to_owned();
        }
        format!("echo {former} > /proc/irq/{irq}/smp_affinity_list")
    }
}

impl SavedSetting {
    /// Pins interrupt `irq` to `cpu`, and records its former CPUs. `None` if it has this CPU already and no capture has made
    /// it so: nothing is to be restored then.
    pub fn begin(paths: &IrqPaths, irq: u32, cpu: usize) -> Result<Option<Self>, IrqError> {
        record_file::create_folder(&paths.records)?;
        let _guard = guard(&paths.records, GUARD)?;
        let present = cpus(paths, irq)?;
        let file = RecordFile::create(paths.records.join(format!("{PREFIX}{irq}.json")))?;
        let mut record = Self { irq, file };
        let is_only_user = record.file.try_lock()?;
        let known: Option<Content> = record.file.read();
        let known = known.filter(|known| known.is_of(irq));
        match (
            record.change(paths, known.as_ref(), &present, &cpu.to_string()),
            known,
        ) {
            (Ok(true), _) => record.file.share()?,
            (Ok(false), _) => {
                if is_only_user {
                    record.file.remove()?;
                }
                return Ok(None);
            }
            (Err(error), Some(known)) => {
                // The interrupt is as another capture made it, which is to be restored still.
                record.file.write(&known)?;
                return Err(error);
            }
            (Err(error), None) => {
                if is_only_user {
                    record.file.remove()?;
                }
                return Err(error);
            }
        }
        Ok(Some(record))
    }

    /// Records the change, and makes it. `known` is the record before. Returns whether there are former CPUs to restore.
    fn change(
        &mut self,
        paths: &IrqPaths,
        known: Option<&Content>,
        present: &str,
        wanted: &str,
    ) -> Result<bool, IrqError> {
        let irq = self.irq;
        let former = match known {
            // What they were before the first of several captures, or before one that was killed.
            Some(known) if known.made == present => known.former.clone(),
            _ => present.to_owned(),
        };
        let is_changed = former != wanted;
        let made = wanted.to_owned();
        let content = Content {
            boot_id: boot_id(),
            irq,
            former,
            made,
        };
        // Recorded before it is made, so that a kill in between leaves nothing unrecorded.
        self.file.write(&content)?;
        if wanted != present {
            set_cpus(paths, irq, wanted)?;
        }
        Ok(is_changed)
    }

    /// Ends the use of the interrupt by this capture. The last one restores its former CPUs.
    pub fn end(mut self, paths: &IrqPaths) -> Result<(), IrqError> {
        let _guard = guard(&paths.records, GUARD)?;
        if self.file.try_lock()?
            && let Some(content) = self.file.read::<Content>()
        {
            self.restore(paths, &content)?;
        }
        Ok(())
    }

    /// Restores the former CPUs, unless they were changed since, and removes the record.
    fn restore(&self, paths: &IrqPaths, content: &Content) -> Result<bool, IrqError> {
        let present = match cpus(paths, self.irq) {
            Ok(present) => Some(present),
            // The device is gone.
            Err(IrqError::Refused { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let is_ours = present.as_ref() == Some(&content.made);
        if is_ours {
            set_cpus(paths, self.irq, &content.former)?;
        }
        self.file.remove()?;
        Ok(is_ours)
    }
}

impl Recorded for Content {
    fn boot_id(&self) -> &str {
        &self.boot_id
    }
}

impl Content {
    fn is_of(&self, irq: u32) -> bool {
        self.irq == irq && self.boot_id == boot_id()
    }
}

/// Restores the CPUs of interrupts that captures left pinned when they were killed. Those that a capture is using stay as
/// they are.
///
/// # Errors
/// [`IrqError::Record`] if the folder of the records cannot be read.
/// # Privileges
/// Those of the superuser of the host, if there is anything to restore.
pub fn restore_leftovers() -> Result<Vec<LeftoverSetting>, IrqError> {
    undo_in(&IrqPaths::of_host()?)
}

pub fn undo_in(paths: &IrqPaths) -> Result<Vec<LeftoverSetting>, IrqError> {
    let found = record_file::undo_each(
        &paths.records,
        PREFIX,
        GUARD,
        |path| undo(paths, path),
        |error| LeftoverSetting {
            irq: record_file::number(&error.path, PREFIX).unwrap_or(0),
            former: String::new(),
            restored: RestoreOutcome::Failed(error.into()),
        },
    );
    let mut found = found?;
    found.sort_by_key(|one| one.irq);
    Ok(found)
}

/// Restores what the record at `path` says; `None` if a capture is using it, or if it is not a record of this boot.
fn undo(paths: &IrqPaths, path: PathBuf) -> Result<Option<LeftoverSetting>, RecordError> {
    let Some((file, content)) = RecordFile::open_left_behind::<Content>(path)? else {
        return Ok(None);
    };
    let irq = content.irq;
    let restored = match (SavedSetting { irq, file }).restore(paths, &content) {
        Ok(true) => RestoreOutcome::Done,
        Ok(false) => RestoreOutcome::Left,
        Err(error) => RestoreOutcome::Failed(error),
    };
    Ok(Some(LeftoverSetting {
        irq,
        former: content.former,
        restored,
    }))
}

/// The CPUs that may serve an interrupt.
fn cpus(paths: &IrqPaths, irq: u32) -> Result<String, IrqError> {
    let text = fs::read_to_string(affinity(&paths.system.proc, irq));
    let text = text.map_err(|source| IrqError::Refused { irq, source })?;
    Ok(text.trim().to_owned())
}

fn set_cpus(paths: &IrqPaths, irq: u32, cpus: &str) -> Result<(), IrqError> {
    fs::write(affinity(&paths.system.proc, irq), cpus)
        .map_err(|source| IrqError::Refused { irq, source })
}

fn affinity(proc: &Path, irq: u32) -> PathBuf {
    proc.join(format!("irq/{irq}/smp_affinity_list"))
}
