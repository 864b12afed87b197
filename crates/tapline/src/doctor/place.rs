//! Where values are read that the kernel shows as files, and the interface that is looked at.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use abi::namespace::NetNamespace;
use netlink::Link;

/// Where the kernel shows its values as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// In place of `/proc`.
    pub proc: PathBuf,
    /// In place of `/sys`.
    pub sys: PathBuf,
    /// In place of `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
        }
    }
}

/// What a check looks at.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub roots: &'a Roots,
    /// The interface; for checks of interfaces.
    pub link: &'a Link,
}

impl Roots {
    /// The file behind a name of sysctl(8).
    pub(super) fn sysctl_path(&self, name: &str) -> PathBuf {
        self.proc.join("sys").join(name.replace('.', "/"))
    }

    /// The value of `name` as sysctl(8) has it; `None` where this namespace does not show it.
    pub(super) fn sysctl(&self, name: &str) -> io::Result<Option<String>> {
        read(&self.sysctl_path(name))
    }

    /// As [`sysctl`](Self::sysctl), of a number.
    pub(super) fn number(&self, name: &str) -> io::Result<Option<u64>> {
        match self.sysctl(name)? {
            None => Ok(None),
            Some(text) => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(ErrorKind::InvalidData.into()),
            },
        }
    }
}

impl Roots {
    /// The command that sets values of the whole machine, which other namespaces than its own show
    /// read-only or not at all.
    pub(super) fn set_for_all(&self, values: &[(&str, u64)]) -> String {
        let first = values.first().map_or("", |(name, _)| name);
        let file = fs::metadata(self.sysctl_path(first));
        let words = values
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        let command = format!("sysctl -w{}", words.collect::<String>());
        if file.is_ok_and(|file| !file.permissions().readonly()) {
            command
        } else {
            format!("nsenter --net=/proc/1/ns/net {command}")
        }
    }
}

/// The text of a small file without white space around it; `None` where there is no such file.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether each network namespace has a value of its own for `name`: then a new one shows it, and
/// lets it be written. `None` where no namespace can be made to see.
pub(super) fn is_of_namespace(name: &str) -> Option<bool> {
    let path = Roots::default().sysctl_path(name);
    let look = || fs::metadata(&path).is_ok_and(|file| !file.permissions().readonly());
    NetNamespace::create().ok()?.run(look).ok()
}
