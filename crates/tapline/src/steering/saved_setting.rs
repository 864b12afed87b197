//! A former setting of a device, recorded in a file until it is restored.

use std::path::{Path, PathBuf};

use netlink::FlowRule;
use serde::{Deserialize, Serialize};

use super::device::SteeringDevice;
use super::error::SteeringError;
use super::setting::Setting;
use crate::doctor::shell_quote;
use crate::record_file::{self, RecordError, RecordFile, Recorded, boot_id, guard};

/// The lock that guards the records, held for a few system calls.
const GUARD: &str = ".steering.lock";

/// What a file holds. Settings are in words.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Content {
    boot_id: String,
    link: String,
    index: u32,
    /// `None` for a rule, which was not there.
    former: Option<String>,
    made: String,
}

/// The record of one setting of an interface, shared with the other captures that use it.
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
    /// The setting before the capture; `None` if there was no such rule.
    pub former: Option<Setting>,
    /// What the capture made of it; `None` if the record cannot be read.
    pub made: Option<Setting>,
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
    /// It could not be restored; the record stays.
    Failed(SteeringError),
}

impl LeftoverSetting {
    /// The shell command that restores the former setting.
    pub fn command(&self) -> String {
        let link = shell_quote(&self.link);
        let words = match (&self.former, &self.made) {
            (Some(former), _) => former.to_string(),
            (None, Some(Setting::Rule(rule))) if rule.location().is_some() => {
                format!("ntuple delete {}", rule.location().unwrap_or_default())
            }
            _ => return record_file::UNDO.to_owned(),
        };
        format!("tapline ethtool set {link} {words}")
    }
}

impl SavedSetting {
    /// Makes `setting`, and records what was in its place. `None` if it is that already and no capture has made it so:
    /// nothing is to be restored then.
    pub fn begin(
        device: &mut SteeringDevice,
        setting: &Setting,
    ) -> Result<Option<Self>, SteeringError> {
        let folder = record_file::folder()?;
        record_file::create_folder(&folder)?;
        let path = folder.join(format!("{}{}.json", prefix_of(device), key(setting)));
        let _guard = guard(&folder, GUARD)?;
        let present = device.present(setting)?;
        let file = RecordFile::create(path)?;
        let mut record = Self { folder, file };
        let is_only_user = record.file.try_lock()?;
        let known: Option<Content> = record.file.read();
        let known = known.filter(|content| content.is_of(device));
        match record.change(device, known.as_ref(), present.as_ref(), setting) {
            Ok(true) => {
                record.file.share()?;
                Ok(Some(record))
            }
            result => {
                match known {
                    // The setting is as another capture made it, which is to be restored still.
                    Some(known) if result.is_err() => record.file.write(&known)?,
                    _ if is_only_user => record.file.remove()?,
                    _ => {}
                }
                result.map(|_| None)
            }
        }
    }

    /// Records the change from `present` to `wanted`, and makes it. `known` is the record before. Returns whether there is
    /// anything to restore.
    fn change(
        &mut self,
        device: &mut SteeringDevice,
        known: Option<&Content>,
        present: Option<&Setting>,
        wanted: &Setting,
    ) -> Result<bool, SteeringError> {
        let expected = SteeringDevice::expected(wanted, present);
        let is_made = match (present, wanted) {
            (Some(_), Setting::Rule(_)) => true,
            (present, _) => present == Some(&expected),
        };
        let known = known.filter(|known| known.is_in_effect(present));
        let former = match (known, present) {
            // What it was before the first of several captures, or before one that was killed.
            (Some(known), _) => known.former.clone(),
            // A rule that is there already is somebody else's.
            (None, Some(present)) => Some(device.to_restore(present.clone())?.to_string()),
            (None, None) => None,
        };
        let mut content = Content {
            boot_id: boot_id(),
            link: device.name(),
            index: device.index(),
            former,
            made: present.filter(|_| is_made).unwrap_or(&expected).to_string(),
        };
        // Recorded before it is made, so that a kill in between leaves nothing unrecorded.
        self.file.write(&content)?;
        if !is_made {
            content.made = device.set(wanted)?.to_string();
            self.file.write(&content)?;
        }
        Ok(!is_made || known.is_some())
    }

    /// Ends the use of the setting by this capture. The last one restores what was before.
    pub fn end(mut self, device: &mut SteeringDevice) -> Result<(), SteeringError> {
        let _guard = guard(&self.folder, GUARD)?;
        if self.file.try_lock()? {
            self.restore(device)?;
        }
        Ok(())
    }

    /// Restores the former setting, unless it was changed since, and removes the record.
    fn restore(&mut self, device: &mut SteeringDevice) -> Result<bool, SteeringError> {
        let content: Option<Content> = self.file.read();
        let mut is_restored = false;
        if let Some(content) = content.filter(|content| content.is_of(device))
            && let Some(made) = one(&content.made)
        {
            let present = device.present(&made)?;
            if let Some(present) = present.filter(|present| content.is_in_effect(Some(present))) {
                let former = content.former.as_deref().and_then(one);
                device.restore(former.as_ref(), &present)?;
                is_restored = true;
            }
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
    fn is_of(&self, device: &SteeringDevice) -> bool {
        self.boot_id == boot_id() && self.link == device.name() && self.index == device.index()
    }

    /// Whether what the capture made is there.
    fn is_in_effect(&self, present: Option<&Setting>) -> bool {
        match (present, one(&self.made)) {
            // A capture that was killed while it added the rule does not know its number.
            (Some(Setting::Rule(present)), Some(Setting::Rule(made))) => {
                present.at(made.location().and(present.location())) == made
            }
            (Some(present), Some(made)) => *present == made,
            _ => false,
        }
    }
}

/// The only setting in these words.
fn one(words: &str) -> Option<Setting> {
    match &Setting::parse(words).ok()?[..] {
        [setting] => Some(setting.clone()),
        _ => None,
    }
}

/// How the names of a device's records begin.
fn prefix_of(device: &SteeringDevice) -> String {
    format!("{}{}-", prefix(device.namespace_cookie()), device.index())
}

fn prefix(cookie: u64) -> String {
    format!("steering-{cookie}-")
}

/// What of a device a setting is, as part of a file's name. Names of later kinds are greater.
fn key(setting: &Setting) -> String {
    let what = match setting {
        Setting::Feature { name, .. } => name.clone(),
        Setting::HashedFields(flow, _) => flow.name().to_owned(),
        Setting::Rule(rule) => rule_key(rule),
        Setting::Channels(_)
        | Setting::Rings(_)
        | Setting::Coalescing(_)
        | Setting::HashFunction(_)
        | Setting::HashKey(_)
        | Setting::Table(_) => String::new(),
    };
    format!("{}{what}", setting.rank())
}

/// A number for what a rule does (FNV-1a): equal rules have one record.
fn rule_key(rule: &FlowRule) -> String {
    let text = rule.at(None).to_string();
    let number = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |number: u64, byte| {
            (number ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    format!("-{number:016x}")
}

/// Restores the settings of interfaces in the calling thread's network namespace that captures left behind when they
/// were killed. Those that a capture is using stay as they are.
///
/// # Errors
/// [`SteeringError::Record`] if the folder of the records cannot be read.
/// # Privileges
/// `CAP_NET_ADMIN` in the user namespace that owns the network namespace, if there is anything to restore.
pub fn restore_leftovers() -> Result<Vec<LeftoverSetting>, SteeringError> {
    let folder = record_file::folder()?;
    let cookie = crate::doctor::namespace_cookie().unwrap_or(0);
    undo_in(&folder, cookie)
}

fn undo_in(folder: &Path, cookie: u64) -> Result<Vec<LeftoverSetting>, SteeringError> {
    // Settings that may depend on others have greater names, so they come first.
    let found = record_file::undo_each(
        folder,
        &prefix(cookie),
        GUARD,
        |path| undo(folder, path),
        |error| LeftoverSetting {
            link: String::new(),
            former: None,
            made: None,
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
    let opened = SteeringDevice::open(&content.link);
    let restored = opened.and_then(|mut device| record.restore(&mut device));
    Ok(Some(LeftoverSetting {
        former: content.former.as_deref().and_then(one),
        made: one(&content.made),
        restored: match restored {
            Ok(true) => RestoreOutcome::Done,
            Ok(false) => RestoreOutcome::Left,
            Err(SteeringError::Link(error)) if error.errno() == Some(libc::ENODEV) => {
                record.file.remove()?;
                RestoreOutcome::Left
            }
            Err(error) => RestoreOutcome::Failed(error),
        },
        link: content.link,
    }))
}
