//! Changes that are safe: of an interface or its namespace only, and to be taken back.

use std::error::Error;
use std::fmt;
use std::fs;
use std::io;

use netlink::{Ethtool, IfName, NetlinkError};

use super::place::Roots;
use super::shell::quoted;

/// The features that a change may switch.
const FEATURES: [&str; 5] = [
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
];

/// The settings of a namespace that a change may set.
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
    /// Switches a feature of an interface.
    Feature {
        /// The interface.
        link: IfName,
        /// The kernel's name of the feature.
        feature: String,
        /// Whether it is to be on.
        on: bool,
    },
    /// Sets a value of the network namespace.
    Sysctl {
        /// Its name, as in sysctl(8).
        name: String,
        /// The value.
        value: String,
    },
}

impl Change {
    /// The command that does the same.
    pub fn command(&self) -> String {
        match self {
            Self::Feature { link, feature, on } => {
                let state = if *on { "on" } else { "off" };
                let link = quoted(&link.to_string());
                format!("ethtool -K {link} {} {state}", short(feature))
            }
            Self::Sysctl { name, value } => {
                format!("sysctl -w {}", quoted(&format!("{name}={value}")))
            }
        }
    }

    /// The change that leads back to what is in force now, in the calling thread's namespace.
    ///
    /// # Errors
    /// [`ChangeError`] when that cannot be told.
    pub fn present(&self, roots: &Roots) -> Result<Self, ChangeError> {
        match self {
            Self::Feature { link, feature, .. } => {
                self.admit(feature, &FEATURES)?;
                let told = Ethtool::open().and_then(|mut ethtool| ethtool.features(*link));
                let features = told.map_err(|error| self.error(ChangeCause::Link(error.into())))?;
                Ok(Self::Feature {
                    link: *link,
                    feature: feature.clone(),
                    on: features.is_active(feature),
                })
            }
            Self::Sysctl { name, .. } => {
                self.admit(name, &SYSCTLS)?;
                let read = fs::read_to_string(roots.sysctl_path(name));
                let value = read.map_err(|error| self.error(ChangeCause::File(error)))?;
                Ok(Self::Sysctl {
                    name: name.clone(),
                    value: value.trim().to_owned(),
                })
            }
        }
    }

    /// Makes the change, in the calling thread's namespace, and asks whether it is in force.
    ///
    /// # Errors
    /// [`ChangeError`] when the kernel refuses, or takes it and does nothing.
    /// # Privileges
    /// `CAP_NET_ADMIN` in the user namespace that owns the network namespace.
    pub fn make(&self, roots: &Roots) -> Result<(), ChangeError> {
        match self {
            Self::Feature { link, feature, on } => {
                self.admit(feature, &FEATURES)?;
                let told = Ethtool::open()
                    .and_then(|mut ethtool| ethtool.set_feature(*link, feature, *on));
                told.map_err(|error| self.error(ChangeCause::Link(error.into())))?;
            }
            Self::Sysctl { name, value } => {
                self.admit(name, &SYSCTLS)?;
                let written = fs::write(roots.sysctl_path(name), value);
                written.map_err(|error| self.error(ChangeCause::File(error)))?;
            }
        }
        if self.present(roots)? == *self {
            Ok(())
        } else {
            Err(self.error(ChangeCause::Ignored))
        }
    }

    /// A change may come out of a file, so its name is looked up before it is used.
    fn admit(&self, name: &str, known: &[&str]) -> Result<(), ChangeError> {
        if known.contains(&name) {
            Ok(())
        } else {
            Err(self.error(ChangeCause::Unlisted))
        }
    }

    fn error(&self, cause: ChangeCause) -> ChangeError {
        ChangeError {
            change: self.clone(),
            cause,
        }
    }
}

/// How ethtool(8) calls a feature.
fn short(feature: &str) -> &str {
    match feature {
        "rx-gro" => "gro",
        "rx-lro" => "lro",
        other => other,
    }
}

/// Why a change was not made.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChangeError {
    /// The change.
    pub change: Change,
    /// What stood in the way.
    pub cause: ChangeCause,
}

/// What stood in the way of a change.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeCause {
    /// It is none of those that are safe.
    Unlisted,
    /// The interface's driver was not asked or refused.
    Link(Box<NetlinkError>),
    /// The file of the value could not be read or written.
    File(io::Error),
    /// It was taken, and the former value is still in force.
    Ignored,
}

impl ChangeError {
    /// Whether a privilege is missing.
    pub fn needs_privilege(&self) -> bool {
        let errno = match &self.cause {
            ChangeCause::Link(error) => error.errno(),
            ChangeCause::File(error) => error.raw_os_error(),
            ChangeCause::Unlisted | ChangeCause::Ignored => None,
        };
        let refused = [rustix::io::Errno::PERM, rustix::io::Errno::ACCESS];
        errno.is_some_and(|errno| refused.iter().any(|one| one.raw_os_error() == errno))
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot do '{}'", self.change.command())?;
        match self.cause {
            ChangeCause::Unlisted => f.write_str(": it is none of the safe changes"),
            ChangeCause::Ignored => f.write_str(": the driver leaves it as it was"),
            _ if self.needs_privilege() => f.write_str(" (needs CAP_NET_ADMIN)"),
            _ => Ok(()),
        }
    }
}

impl Error for ChangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            ChangeCause::Link(error) => Some(&**error),
            ChangeCause::File(error) => Some(error),
            ChangeCause::Unlisted | ChangeCause::Ignored => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_not_listed_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: folder.path().into(),
            ..Roots::default()
        };
        for name in ["kernel.core_pattern", "../../etc/passwd", ""] {
            let change = Change::Sysctl {
                name: name.into(),
                value: "x".into(),
            };
            let error = change.make(&roots).expect_err(name);
            assert!(matches!(error.cause, ChangeCause::Unlisted), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
