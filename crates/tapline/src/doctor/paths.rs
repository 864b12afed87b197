//! Files in which the kernel shows its settings.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use abi::namespace::NetNamespace;
use netlink::Link;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Where `/proc`, `/sys` and `/dev` are. Tests point them at other directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPaths {
    /// Default: `/proc`.
    pub proc: PathBuf,
    /// Default: `/sys`.
    pub sys: PathBuf,
    /// Default: `/dev`.
    pub dev: PathBuf,
}

/// What the checks of an interface examine.
#[derive(Debug)]
pub(super) struct InterfaceContext<'a> {
    pub paths: &'a SystemPaths,
    pub link: &'a Link,
}

impl Default for SystemPaths {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
        }
    }
}

impl SystemPaths {
    /// The file of a sysctl(8) name such as `net.core.rmem_max`.
    pub(super) fn sysctl_path(&self, name: &str) -> PathBuf {
        self.proc.join("sys").join(name.replace('.', "/"))
    }

    /// The value of a sysctl; `None` if this network namespace does not show it.
    pub(super) fn sysctl(&self, name: &str) -> io::Result<Option<String>> {
        read(&self.sysctl_path(name))
    }

    /// The value of a numeric sysctl; `None` if this network namespace does not show it.
    pub(super) fn sysctl_number(&self, name: &str) -> io::Result<Option<u64>> {
        let Some(text) = self.sysctl(name)? else {
            return Ok(None);
        };
        let number = text.parse().map_err(|_| ErrorKind::InvalidData)?;
        Ok(Some(number))
    }

    /// The command that sets host-wide sysctls. Other network namespaces than the first show them
    /// read-only or not at all, so the command enters the first one where that is necessary.
    pub(super) fn set_host_sysctls(&self, values: &[(&str, u64)]) -> String {
        let first = values.first().map_or("", |(name, _)| name);
        let settings = values
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        let command = format!("sysctl -w{}", settings.collect::<String>());
        let file = fs::metadata(self.sysctl_path(first));
        if file.is_ok_and(|file| !file.permissions().readonly()) {
            command
        } else {
            format!("nsenter --net=/proc/1/ns/net {command}")
        }
    }
}

/// The trimmed text of a small file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether each network namespace has its own value of the sysctl `name`. A new namespace then has a
/// writable file for it. `None` if this process may not create a namespace to find out.
pub(super) fn is_per_namespace(name: &str) -> Option<bool> {
    let path = SystemPaths::default().sysctl_path(name);
    let is_writable = || fs::metadata(&path).is_ok_and(|file| !file.permissions().readonly());
    NetNamespace::create().ok()?.run(is_writable).ok()
}

/// The number of the calling thread's network namespace. The kernel does not use a number twice until
/// the host reboots.
///
/// # Errors
/// ENOPROTOOPT before Linux 5.14.
/// # Source
/// `SO_NETNS_COOKIE`, net/core/sock.c.
pub fn namespace_cookie() -> io::Result<u64> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    abi::socket::namespace_cookie(socket.as_fd())
}
