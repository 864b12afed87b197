//! Why an interface does not stamp packets in hardware.

use std::io;
use std::path::PathBuf;

use netlink::NetlinkError;

/// Why an interface does not stamp received packets in hardware.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StampError {
    /// The driver does not stamp received packets.
    #[error("the driver of {link} has no hardware time stamps")]
    Unsupported {
        /// Name of the interface.
        link: String,
    },
    /// The driver stamps some packets only.
    #[error("the driver of {link} stamps only some packets in hardware: {filters}")]
    Partial {
        /// Name of the interface.
        link: String,
        /// What it can stamp, by the kernel's names.
        filters: String,
    },
    /// The kernel or the driver refused the setting.
    #[error("cannot set the hardware time stamps of {link}")]
    Refused {
        /// Name of the interface.
        link: String,
        /// Its answer.
        source: io::Error,
    },
    /// The hardware's clock cannot be read, so its time stamps cannot be converted to the time of day.
    #[error("cannot read the clock {} of {link}", .path.display())]
    Clock {
        /// Name of the interface.
        link: String,
        /// The clock's file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// XDP programs do not get the hardware's time stamps: the driver does not offer them (Linux 6.3), or the program does
    /// not run in the driver, or the back end has no place for them.
    #[error("XDP programs do not get the hardware time stamps of {link}")]
    Xdp {
        /// Name of the interface.
        link: String,
    },
    /// The former setting cannot be recorded, so nothing was changed; or its record cannot be read or removed.
    #[error("cannot record the hardware time stamps of an interface in {}", .path.display())]
    Record {
        /// The folder or file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The interface cannot be queried.
    #[error(transparent)]
    Link(#[from] NetlinkError),
}

impl StampError {
    /// Whether a privilege is missing.
    pub fn needs_privilege(&self) -> bool {
        let errno = match self {
            Self::Refused { source, .. }
            | Self::Clock { source, .. }
            | Self::Record { source, .. } => source.raw_os_error(),
            Self::Link(error) => error.errno(),
            _ => None,
        };
        matches!(errno, Some(libc::EPERM | libc::EACCES))
    }

    /// Whether the interface, its driver or the mode cannot do it.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Unsupported { .. } | Self::Partial { .. } | Self::Xdp { .. } => true,
            Self::Refused { source, .. } => matches!(
                source.raw_os_error(),
                Some(libc::EOPNOTSUPP | libc::ERANGE | libc::ENOTTY)
            ),
            _ => false,
        }
    }
}
