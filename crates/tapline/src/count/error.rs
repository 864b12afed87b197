//! Errors of a count.

use std::io;

use bpf::{LoadError, MapError, TcAttachError, XdpAttachError};
use filter::{FilterError, LinkType};
use netlink::NetlinkError;

/// Why packets of a hardware type cannot be counted: what they lack.
fn lacking(is_known: bool) -> &'static str {
    if is_known {
        "no bytes on the wire"
    } else {
        "no link type for filters"
    }
}

/// Why a count could not be opened, changed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// No interface was given.
    #[error("no interface to count on")]
    NoInterface,
    /// An interface was given twice: each packet would count twice.
    #[error("interface {link} is named twice")]
    DuplicateInterface {
        /// Its name.
        link: String,
    },
    /// Two classes have the same name.
    #[error("class {class} is named twice")]
    DuplicateClass {
        /// The name.
        class: String,
    },
    /// The class does not exist.
    #[error("there is no class {class}")]
    UnknownClass {
        /// Its name.
        class: String,
    },
    /// More classes than one program can count.
    #[error("more than {most} classes")]
    TooManyClasses {
        /// The maximum.
        most: usize,
    },
    /// More groups than this host allows.
    #[error(
        "{groups} groups are more than {most}, each of which takes {group_bytes} bytes of memory"
    )]
    TooManyGroups {
        /// The requested number.
        groups: u32,
        /// The maximum.
        most: u32,
        /// Kernel memory for each group, bytes.
        group_bytes: u64,
    },
    /// An option is invalid.
    #[error("{what}")]
    InvalidOptions {
        /// What is wrong.
        what: &'static str,
    },
    /// The filter of a class is a classic BPF program, which cannot be combined with other classes.
    #[error("filter of class {class} is a classic BPF program: use an expression")]
    ProgramFilter {
        /// The class.
        class: String,
    },
    /// The filter of a class is invalid for an interface.
    #[error("filter of class {class} is invalid for {link}")]
    Filter {
        /// The class.
        class: String,
        /// The interface.
        link: String,
        /// The link type of the interface.
        link_type: LinkType,
        /// The error, with its position in the text.
        #[source]
        error: Box<FilterError>,
    },
    /// The link type of an interface does not support filters, or the bytes on the wire.
    #[error("cannot count packets of {link}: hardware type {hatype} has {}", lacking(*is_known))]
    LinkLayer {
        /// The interface.
        link: String,
        /// The hardware type of the interface (`ARPHRD_*`).
        hatype: u16,
        /// Whether [`CountLayer::Ethernet`](super::CountLayer::Ethernet) is supported.
        is_known: bool,
    },
    /// A class that reads VLAN tags was added to a count in XDP, on an interface that strips the tags
    /// before XDP. A count that has such a class when it is opened uses tc.
    #[error("class {class} reads VLAN tags, which {link} strips before XDP")]
    VlanStripped {
        /// The class.
        class: String,
        /// The interface.
        link: String,
    },
    /// The interface could not be looked up.
    #[error(transparent)]
    Link(#[from] NetlinkError),
    /// The counters could not be created.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel rejected the program.
    #[error("cannot count on {link}")]
    Load {
        /// The interface.
        link: String,
        /// The kernel's answer.
        #[source]
        error: LoadError,
    },
    /// The program could not be attached to XDP.
    #[error("cannot count on {link}")]
    Xdp {
        /// The interface.
        link: String,
        /// The kernel's answer.
        #[source]
        error: Box<XdpAttachError>,
    },
    /// The program could not be attached to tc.
    #[error("cannot count on {link}")]
    Tc {
        /// The interface.
        link: String,
        /// The kernel's answer.
        #[source]
        error: TcAttachError,
    },
    /// The program of an interface could not be replaced.
    #[error("cannot replace the program on {link}")]
    Replace {
        /// The interface.
        link: String,
        /// The kernel's answer; ENOLINK if the interface is gone.
        source: io::Error,
    },
    /// The counters could not be read.
    #[error("cannot read counters")]
    Read {
        /// The kernel's answer.
        source: io::Error,
    },
    /// Waiting for the end of an interval failed.
    #[error("cannot wait for the end of an interval")]
    Wait {
        /// The kernel's answer.
        source: io::Error,
    },
}
