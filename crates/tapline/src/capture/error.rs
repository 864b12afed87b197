//! Why a capture cannot begin.

use std::error::Error;
use std::fmt;
use std::io;

use filter::{FilterError, LinkType};
use netlink::NetlinkError;
use ring::OpenError;

/// Why a capture could not be opened or be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// No interface was named.
    NoLink,
    /// An interface was named twice: each packet would count twice.
    LinkTwice {
        /// Its name.
        link: String,
    },
    /// The filter is none for the packets of an interface.
    Filter {
        /// The interface.
        link: String,
        /// What its packets begin with.
        link_type: LinkType,
        /// Why, and where in the text.
        error: FilterError,
    },
    /// Another interface took the place of this one while the capture was being opened.
    LinkReplaced {
        /// Its name.
        link: String,
    },
    /// A ring could not be opened.
    Ring(OpenError),
    /// The interface could not be looked up.
    Link(NetlinkError),
    /// The machinery to wait for packets could not be had.
    Wait {
        /// The kernel's answer.
        source: io::Error,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLink => write!(f, "no interface to capture from"),
            Self::LinkTwice { link } => write!(f, "interface {link} is named twice"),
            Self::Filter { link, .. } => write!(f, "filter for {link} is wrong"),
            Self::LinkReplaced { link } => {
                write!(f, "interface {link} was replaced by another")
            }
            Self::Ring(error) => error.fmt(f),
            Self::Link(error) => error.fmt(f),
            Self::Wait { .. } => write!(f, "cannot wait for packets"),
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoLink | Self::LinkTwice { .. } | Self::LinkReplaced { .. } => None,
            Self::Filter { error, .. } => Some(error),
            Self::Ring(error) => error.source(),
            Self::Link(error) => error.source(),
            Self::Wait { source } => Some(source),
        }
    }
}

impl From<OpenError> for CaptureError {
    fn from(error: OpenError) -> Self {
        Self::Ring(error)
    }
}

impl From<NetlinkError> for CaptureError {
    fn from(error: NetlinkError) -> Self {
        Self::Link(error)
    }
}
