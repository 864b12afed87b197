//! Why a device does not steer received packets as asked.

use std::io;
use std::path::PathBuf;

use netlink::NetlinkError;

use crate::record_file::RecordError;

/// Why a setting of a device is not known, not changed, or not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SteeringError {
    /// The text is no setting.
    #[error("{reason}")]
    Words {
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The driver has no such setting.
    #[error("the driver of {link} has no setting '{setting}'")]
    Unsupported {
        /// Name of the interface.
        link: String,
        /// The setting, in words.
        setting: String,
    },
    /// The driver did not change the setting.
    #[error("the driver of {link} declined '{setting}'")]
    Declined {
        /// Name of the interface.
        link: String,
        /// The setting, in words.
        setting: String,
    },
    /// The former setting cannot be recorded, so nothing was changed; or its record cannot be read or removed.
    #[error("cannot record a setting of an interface in {}", .path.display())]
    Record {
        /// The folder or file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel or the driver refused.
    #[error(transparent)]
    Link(#[from] NetlinkError),
}

impl SteeringError {
    pub(super) fn words(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Words { reason }
    }

    /// Whether a privilege is missing.
    pub fn needs_privilege(&self) -> bool {
        let errno = match self {
            Self::Record { source, .. } => source.raw_os_error(),
            Self::Link(error) => error.errno(),
            _ => None,
        };
        matches!(errno, Some(libc::EPERM | libc::EACCES))
    }

    /// Whether the driver cannot do it.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Unsupported { .. } | Self::Declined { .. } => true,
            Self::Link(error) => error.errno() == Some(libc::EOPNOTSUPP),
            _ => false,
        }
    }

    /// Whether the text is no setting.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Words { .. })
    }
}

impl From<RecordError> for SteeringError {
    fn from(RecordError { path, source }: RecordError) -> Self {
        Self::Record { path, source }
    }
}
