//! What was changed, kept in a file until it is taken back.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use netlink::{IfName, Netlink};
use serde_json::{Value, json};
use tapline::doctor::Change;
use tempfile::NamedTempFile;

use super::namespace::Namespace;
use crate::failure::{Exit, Failure};

/// A file that a few hundred changes fit into; what is longer is not ours.
const MAX_BYTES: u64 = 1 << 20;

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What leads back.
    pub former: Change,
    pub made: Change,
    /// Index of the interface, so that another of the same name is left alone.
    pub link_index: Option<u32>,
}

/// The changes made in a network namespace, oldest first.
#[derive(Debug)]
pub struct Record {
    namespace: Namespace,
    pub path: PathBuf,
    pub entries: Vec<Entry>,
}

impl Record {
    /// Reads what is recorded for this namespace, which may be nothing.
    pub fn open() -> Result<Self, Failure> {
        let namespace = Namespace::current()?;
        let path = folder()?.join(format!("doctor-{}.json", namespace.cookie));
        let entries = match read(&path) {
            Ok(Some(value)) if value["boot_id"] == namespace.boot_id.as_str() => {
                let entries = value["changes"].as_array().into_iter().flatten();
                let entries: Option<Vec<_>> = entries.map(from_json).collect();
                entries.ok_or_else(|| Failure::new(Exit::Failed, damaged(&path)))?
            }
            // What another run of the machine had is gone with it.
            Ok(_) => Vec::new(),
            Err(error) => return Err(Failure::job_on(damaged(&path), &error)),
        };
        Ok(Self {
            namespace,
            path,
            entries,
        })
    }

    /// Adds a change. What a record has of the same thing already leads back further, and stays.
    pub fn add(&mut self, entry: Entry) {
        let same = self.entries.iter_mut().find(|known| {
            is_of_the_same(&known.made, &entry.made) && known.link_index == entry.link_index
        });
        match same {
            Some(known) => known.made = entry.made,
            None => self.entries.push(entry),
        }
    }

    /// Writes it, whole or not at all; without entries the file goes away.
    pub fn save(&self) -> Result<(), Failure> {
        self.write().map_err(|error| {
            let what = format!(
                "cannot record changes in {} (XDG_STATE_HOME names another place)",
                self.path.display()
            );
            Failure::job_on(what, &error)
        })
    }

    fn write(&self) -> io::Result<()> {
        if self.entries.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let changes: Vec<Value> = self.entries.iter().map(to_json).collect();
        let value = json!({ "boot_id": self.namespace.boot_id, "changes": changes });
        let mut file = NamedTempFile::new_in(folder)?;
        writeln!(file, "{value:#}")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Where it is kept: what it is about ends with the machine's run, as `/run` does.
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
    home.ok_or_else(|| Failure::new(Exit::Failed, "no place for a record (set XDG_STATE_HOME)"))
}

fn read(path: &Path) -> io::Result<Option<Value>> {
    match fs::metadata(path) {
        Ok(file) if file.len() > MAX_BYTES => Err(ErrorKind::FileTooLarge.into()),
        Ok(_) => Ok(Some(serde_json::from_str(&fs::read_to_string(path)?)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn damaged(path: &Path) -> String {
    format!("cannot read the record {}", path.display())
}

fn is_of_the_same(one: &Change, other: &Change) -> bool {
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

/// Index of the interface that the change is about, now.
pub fn link_index(change: &Change) -> Option<u32> {
    let Change::Feature { link, .. } = change else {
        return None;
    };
    let found = Netlink::open().and_then(|mut netlink| netlink.link_named(&link.to_string()));
    found.ok().map(|link| link.ifindex().0)
}

fn to_json(entry: &Entry) -> Value {
    let change = |change: &Change| match change {
        Change::Feature { link, feature, on } => {
            json!({ "interface": link.to_string(), "feature": feature, "on": on })
        }
        Change::Sysctl { name, value } => json!({ "sysctl": name, "value": value }),
        _ => Value::Null,
    };
    json!({
        "former": change(&entry.former),
        "made": change(&entry.made),
        "interface_index": entry.link_index,
    })
}

fn from_json(value: &Value) -> Option<Entry> {
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
    Some(Entry {
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

    fn entry(former: Change, made: Change, link_index: Option<u32>) -> Entry {
        Entry {
            former,
            made,
            link_index,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for entry in [
            entry(sysctl("1"), sysctl("2"), None),
            entry(feature(true), feature(false), Some(7)),
        ] {
            assert_eq!(from_json(&to_json(&entry)), Some(entry));
        }
        assert_eq!(from_json(&json!({ "former": 1 })), None);
    }

    #[test]
    fn the_oldest_value_is_what_leads_back() {
        let mut record = Record {
            namespace: Namespace {
                cookie: 1,
                boot_id: String::new(),
            },
            path: PathBuf::new(),
            entries: Vec::new(),
        };
        record.add(entry(sysctl("1"), sysctl("2"), None));
        record.add(entry(feature(true), feature(false), Some(7)));
        record.add(entry(sysctl("2"), sysctl("3"), None));
        record.add(entry(feature(true), feature(false), Some(8)));
        assert_eq!(record.entries.len(), 3);
        assert_eq!(record.entries[0], entry(sysctl("1"), sysctl("3"), None));
    }
}
