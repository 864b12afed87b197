//! Why a count cannot begin, or be changed.

use std::error::Error;
use std::fmt;
use std::io;

use bpf::{LoadError, MapError, TcAttachError, XdpAttachError};
use filter::{FilterError, LinkType};
use netlink::NetlinkError;

/// Why a count could not be opened or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CountError {
    /// No interface was named.
    NoLink,
    /// An interface was named twice: each packet would count twice.
    LinkTwice {
        /// Its name.
        link: String,
    },
    /// Two classes have one name.
    ClassTwice {
        /// The name.
        class: String,
    },
    /// There is no such class.
    NoClass {
        /// The name asked for.
        class: String,
    },
    /// More classes than one program holds.
    TooManyClasses {
        /// Most that there can be.
        most: usize,
    },
    /// More groups than there may be on this machine.
    TooManyGroups {
        /// How many were asked for.
        groups: u32,
        /// How many there may be.
        most: u32,
        /// Memory of the kernel that each takes, bytes.
        group_bytes: u64,
    },
    /// The interval is too short, or there is no room for any group.
    Options {
        /// What is wrong.
        what: &'static str,
    },
    /// The filter of a class is none for the packets of an interface.
    Filter {
        /// The class.
        class: String,
        /// The interface.
        link: String,
        /// What its packets begin with.
        link_type: LinkType,
        /// Why, and where in the text.
        error: Box<FilterError>,
    },
    /// Filters, or bytes on the wire, are not known for the packets of an interface.
    LinkLayer {
        /// The interface.
        link: String,
        /// What its packets begin with (`ARPHRD_*`).
        hatype: u16,
        /// Whether they could be counted without bytes that are on the wire only.
        is_known: bool,
    },
    /// A class that asks about VLAN tags came where the interface takes them out before XDP sees the
    /// packets. A count that has such a class when it is opened counts at tc.
    VlanStripped {
        /// The class.
        class: String,
        /// The interface.
        link: String,
    },
    /// The interface could not be looked up.
    Link(NetlinkError),
    /// The counters could not be made.
    Map(MapError),
    /// The program was not taken by the kernel.
    Load {
        /// The interface.
        link: String,
        /// Why.
        error: LoadError,
    },
    /// XDP was asked for and refused.
    Xdp {
        /// The interface.
        link: String,
        /// Why.
        error: Box<XdpAttachError>,
    },
    /// The program could not be attached at tc.
    Tc {
        /// The interface.
        link: String,
        /// Why.
        error: TcAttachError,
    },
    /// The program at an interface could not be replaced.
    Replace {
        /// The interface.
        link: String,
        /// The kernel's answer; ENOLINK: the interface is gone.
        source: io::Error,
    },
    /// The counters could not be read.
    Read {
        /// The kernel's answer.
        source: io::Error,
    },
    /// The machinery to wait could not be had.
    Wait {
        /// The kernel's answer.
        source: io::Error,
    },
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLink => write!(f, "no interface to count on"),
            Self::LinkTwice { link } => write!(f, "interface {link} is named twice"),
            Self::ClassTwice { class } => write!(f, "class {class} is named twice"),
            Self::NoClass { class } => write!(f, "there is no class {class}"),
            Self::TooManyClasses { most } => write!(f, "more than {most} classes"),
            Self::TooManyGroups {
                groups,
                most,
                group_bytes,
            } => write!(
                f,
                "{groups} groups are more than {most}, each of which takes {group_bytes} bytes of memory"
            ),
            Self::Options { what } => f.write_str(what),
            Self::Filter { class, link, .. } => {
                write!(f, "filter of class {class} is wrong for {link}")
            }
            Self::LinkLayer { link, hatype, .. } => {
                write!(
                    f,
                    "packets of {link} are of type {hatype}, which cannot be counted so"
                )
            }
            Self::VlanStripped { class, link } => write!(
                f,
                "class {class} asks about VLAN tags, which {link} takes out before XDP"
            ),
            Self::Link(error) => error.fmt(f),
            Self::Map(error) => error.fmt(f),
            Self::Load { link, error } => write!(f, "cannot count on {link}: {error}"),
            Self::Xdp { link, error } => write!(f, "cannot count on {link}: {error}"),
            Self::Tc { link, error } => write!(f, "cannot count on {link}: {error}"),
            Self::Replace { link, .. } => write!(f, "cannot replace the program on {link}"),
            Self::Read { .. } => write!(f, "cannot read counters"),
            Self::Wait { .. } => write!(f, "cannot wait for the end of an interval"),
        }
    }
}

impl Error for CountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Filter { error, .. } => Some(&**error),
            Self::Link(error) => error.source(),
            Self::Map(error) => error.source(),
            Self::Load { error, .. } => error.source(),
            Self::Xdp { error, .. } => error.source(),
            Self::Tc { error, .. } => error.source(),
            Self::Replace { source, .. } | Self::Read { source } | Self::Wait { source } => {
                Some(source)
            }
            Self::NoLink
            | Self::LinkTwice { .. }
            | Self::ClassTwice { .. }
            | Self::NoClass { .. }
            | Self::TooManyClasses { .. }
            | Self::TooManyGroups { .. }
            | Self::Options { .. }
            | Self::VlanStripped { .. }
            | Self::LinkLayer { .. } => None,
        }
    }
}

impl From<NetlinkError> for CountError {
    fn from(error: NetlinkError) -> Self {
        Self::Link(error)
    }
}

impl From<MapError> for CountError {
    fn from(error: MapError) -> Self {
        Self::Map(error)
    }
}
