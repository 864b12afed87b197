//! Why packets cannot be sent.

use std::io;

use netlink::{NamespaceError, NetlinkError};
use rustix::io::Errno;
use store::model::LinkType;
use store::write::WriteError;

use super::options::SendPath;
use super::path::PathError;

/// Why a send job cannot be opened, or why it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The network namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The interface or the routes cannot be queried; ENODEV: there is no such interface.
    #[error(transparent)]
    Link(#[from] NetlinkError),
    /// The interface is down.
    #[error("interface {link} is down")]
    LinkDown {
        /// Its name.
        link: String,
    },
    /// The interface, or one that is stacked with it, carries a default route or another route wider than 10.0.0.0/8 or
    /// fc00::/7: it connects this host to others.
    #[error(
        "interface {link} is an uplink: it carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route, or is stacked with such an interface"
    )]
    Uplink {
        /// Its name.
        link: String,
    },
    /// The interface has become an uplink while the job was running. Packets may have been sent for a tenth of a second since.
    #[error(
        "interface {link} has become an uplink: it carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route, or is stacked with such an interface"
    )]
    BecameUplink {
        /// Its name.
        link: String,
    },
    /// The interface has another link type than the packets.
    #[error("interface {link} has hardware type {hardware}, and the packets have link type {}", link_type.0)]
    LinkType {
        /// Its name.
        link: String,
        /// Its hardware type (`ARPHRD_*`).
        hardware: u16,
        /// The link type of the packets.
        link_type: LinkType,
    },
    /// The path to the interface cannot be opened.
    #[error("cannot send on {link} by path {}", path.name())]
    Open {
        /// The interface.
        link: String,
        /// The path in the options.
        path: SendPath,
        /// Why.
        source: PathError,
    },
    /// A frame is longer than the interface allows.
    #[error("a frame of {bytes} bytes is too long for {link}, which takes {most}")]
    TooLong {
        /// The interface.
        link: String,
        /// Length of the frame.
        bytes: usize,
        /// The longest frame that the interface takes.
        most: usize,
    },
    /// The kernel refused a packet, so that the job cannot go on.
    #[error("cannot send on {link} by path {}", path.name())]
    Send {
        /// The interface.
        link: String,
        /// How packets reached it.
        path: SendPath,
        /// The kernel's error.
        source: io::Error,
    },
    /// The device took none of 5 packets in a row, each offered for a second; or it holds a packet that it does not
    /// send.
    #[error("interface {link} accepts no more packets: its queue stays full, or it drops them")]
    Stalled {
        /// The interface.
        link: String,
    },
    /// The job was stopped while there was no room for a packet.
    #[error("stopped before the packet was sent")]
    Stopped,
    /// Waiting for a planned time failed.
    #[error("cannot wait")]
    Wait {
        /// The kernel's error.
        source: io::Error,
    },
    /// The capture file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The source of the packets failed.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
}

impl SendError {
    /// Whether a privilege is missing: `CAP_NET_RAW`, or `CAP_SYS_ADMIN` for a namespace.
    pub fn is_privilege(&self) -> bool {
        let source = match self {
            Self::Open { source, .. } => return source.is_privilege(),
            Self::Namespace(error) => &error.source,
            _ => return false,
        };
        let errno = Errno::from_io_error(source);
        matches!(errno, Some(Errno::PERM | Errno::ACCESS))
    }
}
