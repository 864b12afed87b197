//! Changes that are safe: they affect one interface or its network namespace and can be undone.

use std::fs;
use std::io;

use netlink::{Ethtool, IfName, Netlink, NetlinkError};

use super::paths::SystemPaths;

/// Features that a change may switch.
const FEATURES: [&str; 5] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
];

/// Per-namespace settings that a change may set.
const SYSCTLS: [&str; 4] = [
    "net.core.optmem_max",
    "net.ipv4.icmp_msgs_per_sec",
    "net.ipv4.icmp_ratelimit",
    "net.ipv6.icmp.ratelimit",
];

/// A safe change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Switches a feature of an interface on or off.
    Feature {
        /// The interface.
        link: IfName,
        /// The kernel's name of the feature.
        feature: String,
        /// The new state.
        on: bool,
    },
    /// Sets a sysctl of the network namespace.
    Sysctl {
        /// Its name as in sysctl(8).
        name: String,
        /// The new value.
        value: String,
    },
}

impl Change {
    /// The shell command that makes the same change.
    pub fn command(&self) -> String {
        match self {
            Self::Feature { link, feature, on } => {
                let state = if *on { "on" } else { "off" };
                let link = shell_quote(&link.to_string());
                format!("ethtool -K {link} {} {state}", ethtool_name(feature))
            }
            Self::Sysctl { name, value } => {
                format!("sysctl -w {}", shell_quote(&format!("{name}={value}")))
            }
        }
    }

    /// Returns the change that restores the present state, in the calling thread's namespace.
    ///
    /// # Errors
    /// [`ChangeError`] if the present state cannot be read.
    pub fn present(&self, paths: &SystemPaths) -> Result<Self, ChangeError> {
        self.require_safe()?;
        match self {
            Self::Feature { link, feature, .. } => {
                let features = Ethtool::open().and_then(|mut ethtool| ethtool.features(*link));
                let features =
                    features.map_err(|error| self.error(ChangeCause::Link(error.into())))?;
                Ok(Self::Feature {
                    link: *link,
                    feature: feature.clone(),
                    on: features.is_active(feature),
                })
            }
            Self::Sysctl { name, .. } => {
                let value = fs::read_to_string(paths.sysctl_path(name))
                    .map_err(|error| self.error(ChangeCause::File(error)))?;
                Ok(Self::Sysctl {
                    name: name.clone(),
                    value: value.trim().to_owned(),
                })
            }
        }
    }

    /// Makes the change in the calling thread's namespace and verifies that it took effect.
    ///
    /// # Errors
    /// [`ChangeError`] if the kernel rejects the change, or accepts it without effect.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    pub fn make(&self, paths: &SystemPaths) -> Result<(), ChangeError> {
        self.require_safe()?;
        match self {
            Self::Feature { link, feature, on } => Ethtool::open()
                .and_then(|mut ethtool| ethtool.set_feature(*link, feature, *on))
                .map_err(|error| self.error(ChangeCause::Link(error.into())))?,
            Self::Sysctl { name, value } => fs::write(paths.sysctl_path(name), value)
                .map_err(|error| self.error(ChangeCause::File(error)))?,
        }
        if self.present(paths)? == *self {
            Ok(())
        } else {
            Err(self.error(ChangeCause::NoEffect))
        }
    }

    /// Index of the interface that the change affects, if it affects one that exists.
    pub fn link_index(&self) -> Option<u32> {
        let Self::Feature { link, .. } = self else {
            return None;
        };
        let link = Netlink::open().and_then(|mut netlink| netlink.link_named(&link.to_string()));
        link.ok().map(|link| link.ifindex().0)
    }

    /// A change may come from a file, so its name is compared with the safe ones before it is used.
    fn require_safe(&self) -> Result<(), ChangeError> {
        let is_safe = match self {
            Self::Feature { feature, .. } => FEATURES.contains(&feature.as_str()),
            Self::Sysctl { name, .. } => SYSCTLS.contains(&name.as_str()),
        };
        if is_safe {
            Ok(())
        } else {
            Err(self.error(ChangeCause::NotSafe))
        }
    }

    fn error(&self, cause: ChangeCause) -> ChangeError {
        ChangeError {
            change: self.clone(),
            cause,
        }
    }
}

/// ethtool(8)'s name of a feature.
fn ethtool_name(feature: &str) -> &str {
    match feature {
        "rx-gro" => "gro",
        "rx-lro" => "lro",
        other => other,
    }
}

/// Quotes `word` for a shell where necessary: interface names may contain any character.
pub(crate) fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@=+%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
#[error("cannot run '{}'{}", .change.command(), self.hint())]
#[non_exhaustive]
pub struct ChangeError {
    /// The change.
    pub change: Change,
    /// The cause.
    #[source]
    pub cause: ChangeCause,
}

/// The cause of a [`ChangeError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeCause {
    /// The change is not one of the safe changes.
    #[error("it is not one of the safe changes")]
    NotSafe,
    /// The kernel or the driver rejected the request.
    #[error(transparent)]
    Link(Box<NetlinkError>),
    /// The file of the sysctl could not be read or written.
    #[error(transparent)]
    File(io::Error),
    /// The kernel accepted the change, but the old value is still in effect.
    #[error("the driver ignored it")]
    NoEffect,
}

impl ChangeError {
    /// Whether a privilege is missing.
    pub fn needs_privilege(&self) -> bool {
        let errno = match &self.cause {
            ChangeCause::Link(error) => error.errno(),
            ChangeCause::File(error) => error.raw_os_error(),
            ChangeCause::NotSafe | ChangeCause::NoEffect => None,
        };
        let denied = [rustix::io::Errno::PERM, rustix::io::Errno::ACCESS];
        errno.is_some_and(|errno| denied.iter().any(|one| one.raw_os_error() == errno))
    }

    fn hint(&self) -> &'static str {
        if self.needs_privilege() {
            " (needs CAP_NET_ADMIN)"
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_unlisted_change_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let paths = SystemPaths {
            proc: folder.path().into(),
            ..SystemPaths::default()
        };
        for name in ["kernel.core_pattern", "../../etc/passwd", ""] {
            let change = Change::Sysctl {
                name: name.into(),
                value: "x".into(),
            };
            let error = change.make(&paths).expect_err(name);
            assert!(matches!(error.cause, ChangeCause::NotSafe), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for word in [
            "eth0",
            "",
            "a;b",
            "$(id)",
            "it's",
            "'",
            "two words",
            "é`x`",
            "\\",
        ] {
            let script = format!("printf %s {}", shell_quote(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{script}");
        }
        assert_eq!(shell_quote("eth0.5"), "eth0.5");
    }
}
