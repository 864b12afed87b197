//! A file that records changes until they are undone.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tapline::doctor::{Change, namespace_cookie};
use tapline::file::output::OpenOutput;
use tapline::net::IfName;
use tempfile::NamedTempFile;

use crate::failure::{Exit, Failure};

/// Room for several hundred changes. A longer file is not one of ours.
const MAX_BYTES: u64 = 1 << 20;

/// The result of making the changes of a report.
#[derive(Debug, Default)]
pub struct FixResult {
    pub made: Vec<Change>,
    /// Number of changes that failed.
    pub failed: usize,
    /// Number of changes that failed because a privilege was missing.
    pub unprivileged: usize,
    /// File that records the changes.
    pub record: Option<PathBuf>,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChange {
    /// Restores the former state.
    pub former: Change,
    pub made: Change,
    /// Index of the interface, which distinguishes it from a later interface of the same name.
    pub link_index: Option<u32>,
}

/// The changes made in a network namespace, oldest first.
#[derive(Debug)]
pub struct Record {
    /// Identifies this boot of the host: interfaces and namespaces of another boot are gone.
    boot_id: String,
    pub path: PathBuf,
    pub changes: Vec<RecordedChange>,
}

impl Record {
    /// Reads the record of the current network namespace; it may be empty.
    pub fn open() -> Result<Self, Failure> {
        let cookie = namespace_cookie().map_err(|error| Failure {
            exit: Exit::Unsupported,
            ..Failure::job_on(
                "cannot identify the network namespace (needs Linux 5.14)",
                &error,
            )
        })?;
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let boot_id = boot_id.trim().to_owned();
        let path = folder()?.join(format!("doctor-{cookie}.json"));
        let changes = match read(&path) {
            Ok(Some(value)) if value["boot_id"] == boot_id.as_str() => {
                let changes = value["changes"].as_array().into_iter().flatten();
                let changes: Option<Vec<_>> = changes.map(from_json).collect();
                changes.ok_or_else(|| Failure::new(Exit::Failed, damaged(&path)))?
            }
            Ok(_) => Vec::new(),
            Err(error) => return Err(Failure::job_on(damaged(&path), &error)),
        };
        Ok(Self {
            boot_id,
            path,
            changes,
        })
    }

    /// Adds a change. If the same setting is recorded already, its oldest former state stays.
    pub fn add(&mut self, change: RecordedChange) {
        let same = self.changes.iter_mut().find(|known| {
            is_same_setting(&known.made, &change.made) && known.link_index == change.link_index
        });
        match same {
            Some(known) => known.made = change.made,
            None => self.changes.push(change),
        }
    }

    /// Writes the file atomically. Removes it if there are no changes.
    pub fn save(&self) -> Result<(), Failure> {
        self.write().map_err(|error| {
            let what = format!(
                "cannot record changes in {} (XDG_STATE_HOME selects another directory)",
                self.path.display()
            );
            Failure::job_on(what, &error)
        })
    }

    fn write(&self) -> io::Result<()> {
        if self.changes.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let changes: Vec<Value> = self.changes.iter().map(to_json).collect();
        let value = json!({ "boot_id": self.boot_id, "changes": changes });
        let mut file = NamedTempFile::new_in(folder)?;
        writeln!(file, "{value:#}")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// The directory of the record. `/run` suits root: namespaces do not survive a reboot either.
fn folder() -> Result<PathBuf, Failure> {
    let path = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(state) = path("XDG_STATE_HOME") {
        return Ok(state.join("tapline"));
    }
    if rustix::process::geteuid().is_root() {
        return Ok("/run/tapline".into());
    }
    let home = path("HOME").map(|home| home.join(".local/state/tapline"));
    home.ok_or_else(|| {
        Failure::new(
            Exit::Failed,
            "no directory for the record of changes (set XDG_STATE_HOME)",
        )
    })
}

fn read(path: &Path) -> io::Result<Option<Value>> {
    // Also checks that no other user may have put it there.
    let file = match OpenOutput::existing().read().open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if file.metadata()?.len() > MAX_BYTES {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(Some(serde_json::from_str(&io::read_to_string(file)?)?))
}

fn damaged(path: &Path) -> String {
    format!("cannot read the record {}", path.display())
}

fn is_same_setting(one: &Change, other: &Change) -> bool {
    match (one, other) {
        (
            Change::Feature { link, feature, .. },
            Change::Feature {
                link: other_link,
                feature: other_feature,
                ..
            },
        ) => link == other_link && feature == other_feature,
        (
            Change::Sysctl { name, .. },
            Change::Sysctl {
                name: other_name, ..
            },
        ) => name == other_name,
        _ => false,
    }
}

fn to_json(recorded: &RecordedChange) -> Value {
    let change = |change: &Change| match change {
        Change::Feature { link, feature, on } => {
            json!({ "interface": link.to_string(), "feature": feature, "on": on })
        }
        Change::Sysctl { name, value } => json!({ "sysctl": name, "value": value }),
        _ => Value::Null,
    };
    json!({
        "former": change(&recorded.former),
        "made": change(&recorded.made),
        "interface_index": recorded.link_index,
    })
}

fn from_json(value: &Value) -> Option<RecordedChange> {
    let change = |value: &Value| {
        let text = |key: &str| value[key].as_str();
        if let Some(name) = text("sysctl") {
            return Some(Change::Sysctl {
                name: name.into(),
                value: text("value")?.into(),
            });
        }
        Some(Change::Feature {
            link: IfName::new(text("interface")?).ok()?,
            feature: text("feature")?.into(),
            on: value["on"].as_bool()?,
        })
    };
    let index = &value["interface_index"];
    Some(RecordedChange {
        former: change(&value["former"])?,
        made: change(&value["made"])?,
        link_index: index.as_u64().and_then(|index| u32::try_from(index).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctl(value: &str) -> Change {
        Change::Sysctl {
            name: "net.core.optmem_max".into(),
            value: value.into(),
        }
    }

    fn feature(on: bool) -> Change {
        Change::Feature {
            link: IfName::new("eth0").unwrap(),
            feature: "rx-gro".into(),
            on,
        }
    }

    fn recorded(former: Change, made: Change, link_index: Option<u32>) -> RecordedChange {
        RecordedChange {
            former,
            made,
            link_index,
        }
    }

    #[test]
    fn a_record_survives_writing_and_reading() {
        for recorded in [
            recorded(sysctl("1"), sysctl("2"), None),
            recorded(feature(true), feature(false), Some(7)),
        ] {
            assert_eq!(from_json(&to_json(&recorded)), Some(recorded));
        }
        assert_eq!(from_json(&json!({ "former": 1 })), None);
    }

    #[test]
    fn undo_restores_the_oldest_value() {
        let mut record = Record {
            boot_id: String::new(),
            path: PathBuf::new(),
            changes: Vec::new(),
        };
        record.add(recorded(sysctl("1"), sysctl("2"), None));
        record.add(recorded(feature(true), feature(false), Some(7)));
        record.add(recorded(sysctl("2"), sysctl("3"), None));
        record.add(recorded(feature(true), feature(false), Some(8)));
        assert_eq!(record.changes.len(), 3);
        assert_eq!(record.changes[0], recorded(sysctl("1"), sysctl("3"), None));
    }
}
