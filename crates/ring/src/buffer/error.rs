//! Why a ring buffer cannot be opened.

use std::error::Error;
use std::fmt;
use std::io;

/// What the kernel was asked while a ring buffer was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferStep {
    /// Open a packet socket, which knows the interface.
    Socket,
    /// Find the interface.
    Link,
    /// Turn promiscuous mode on.
    Promiscuous,
    /// Map the buffer.
    Map,
}

/// Why a ring buffer could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum BufferError {
    /// A snaplen of 0 would keep nothing.
    SnaplenZero,
    /// The kernel refused.
    Setup {
        /// What was asked.
        step: BufferStep,
        /// Of which interface.
        link: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The interface's packets begin with a header that no capture file type is known for.
    LinkLayer {
        /// The interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
}

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SnaplenZero => f.write_str("a snaplen of 0 keeps nothing"),
            Self::Setup { step, link, source } => {
                match step {
                    BufferStep::Socket => write!(f, "cannot open a packet socket for {link}"),
                    BufferStep::Link => write!(f, "cannot find {link}"),
                    BufferStep::Promiscuous => {
                        write!(f, "cannot turn on promiscuous mode of {link}")
                    }
                    BufferStep::Map => write!(f, "cannot map the ring buffer of {link}"),
                }?;
                match (step, source.raw_os_error()) {
                    (BufferStep::Socket, Some(libc::EPERM)) => {
                        f.write_str(" (needs CAP_NET_RAW; run with sudo or setcap)")
                    }
                    (BufferStep::Map, Some(libc::ENOMEM)) => f.write_str(" (try a smaller buffer)"),
                    _ => Ok(()),
                }
            }
            Self::LinkLayer { link, hatype } => {
                write!(
                    f,
                    "cannot tell the link layer of {link}: hardware type {hatype}"
                )
            }
        }
    }
}

impl Error for BufferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Setup { source, .. } => Some(source),
            _ => None,
        }
    }
}
