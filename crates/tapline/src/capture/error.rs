//! Why a capture cannot begin.

use std::error::Error;
use std::fmt;
use std::io;

use bpf::socket_filter::CountingFilterError;
use bpf::{MirrorError, RedirectError, XdpHolder};
use filter::{FilterError, LinkType};
use netlink::NetlinkError;
use ring::{BufferError, OpenError, XdpOpenError, XdpSetupError};

use super::mode::ModeError;

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
    /// The interface is down.
    LinkDown {
        /// Its name.
        link: String,
    },
    /// What was asked for cannot be had in this mode.
    Mode(ModeError),
    /// A ring could not be opened.
    Ring(OpenError),
    /// A ring over AF_XDP could not be opened.
    Xdp(XdpOpenError),
    /// Another AF_XDP socket has a queue of the interface, and a program sends packets to it.
    QueueTaken {
        /// The program that is at the interface.
        holder: Box<XdpHolder>,
        /// The refusal.
        error: XdpSetupError,
    },
    /// Packets of an interface could not be taken from its driver.
    Steer {
        /// The interface.
        link: String,
        /// What the kernel refused.
        error: Box<RedirectError>,
    },
    /// The kernel does not sample packets of an interface.
    Sampling {
        /// The interface.
        link: String,
        /// What it refused.
        error: CountingFilterError,
    },
    /// The filter is too long for the kernel, which cannot sample what only the reader accepts.
    SamplingSplit {
        /// The interface.
        link: String,
    },
    /// A ring buffer could not be opened.
    Buffer(BufferError),
    /// Packets of an interface could not be copied by a program.
    Copy {
        /// The interface.
        link: String,
        /// What the kernel refused.
        error: MirrorError,
    },
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
            Self::LinkDown { link } => write!(f, "interface {link} is down"),
            Self::Mode(error) => error.fmt(f),
            Self::Ring(error) => error.fmt(f),
            Self::Xdp(error) => error.fmt(f),
            Self::QueueTaken { holder, error } => {
                let (link, queue) = (&error.link, error.queue);
                write!(
                    f,
                    "cannot receive from queue {queue} of {link}, which another AF_XDP socket has: \
                     {holder}{}",
                    holder.way_out(link)
                )
            }
            Self::Steer { link, .. } => write!(f, "cannot take packets from {link}"),
            Self::Buffer(error) => error.fmt(f),
            Self::Copy { link, .. } => write!(f, "cannot copy packets of {link}"),
            Self::Sampling { link, .. } => write!(f, "cannot sample packets of {link}"),
            Self::SamplingSplit { link } => write!(
                f,
                "cannot sample packets of {link} behind a filter that is too long for the kernel"
            ),
            Self::Link(error) => error.fmt(f),
            Self::Wait { .. } => write!(f, "cannot wait for packets"),
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoLink
            | Self::LinkTwice { .. }
            | Self::LinkReplaced { .. }
            | Self::LinkDown { .. }
            | Self::SamplingSplit { .. }
            | Self::Mode(_) => None,
            Self::Sampling { error, .. } => Some(error),
            Self::Filter { error, .. } => Some(error),
            Self::Ring(error) => error.source(),
            Self::Xdp(error) => error.source(),
            Self::QueueTaken { error, .. } => error.source(),
            Self::Steer { error, .. } => Some(&**error),
            Self::Buffer(error) => error.source(),
            Self::Copy { error, .. } => Some(error),
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

impl From<XdpOpenError> for CaptureError {
    fn from(error: XdpOpenError) -> Self {
        Self::Xdp(error)
    }
}

impl From<BufferError> for CaptureError {
    fn from(error: BufferError) -> Self {
        Self::Buffer(error)
    }
}

impl From<ModeError> for CaptureError {
    fn from(error: ModeError) -> Self {
        Self::Mode(error)
    }
}

impl From<NetlinkError> for CaptureError {
    fn from(error: NetlinkError) -> Self {
        Self::Link(error)
    }
}
