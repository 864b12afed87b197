//! Why an AF_XDP ring cannot be opened.

use std::error::Error;
use std::fmt;
use std::io;

use crate::error::OptionError;

/// What the kernel was asked while an AF_XDP ring was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum XdpStep {
    /// Open an AF_XDP socket.
    Socket,
    /// Find the interface.
    Link,
    /// Allocate the packet memory and hand it to the kernel.
    Memory,
    /// Allocate the rings and map them.
    Rings,
    /// Turn busy polling on.
    BusyPoll,
    /// Receive from the queue.
    Bind,
    /// Turn promiscuous mode on.
    Promiscuous,
}

/// A step of the set-up that the kernel refused.
#[derive(Debug)]
#[non_exhaustive]
pub struct XdpSetupError {
    /// What was asked.
    pub step: XdpStep,
    /// Of which interface.
    pub link: String,
    /// Of which of its queues.
    pub queue: u32,
    /// Whether zero copy was a condition.
    pub is_zero_copy: bool,
    /// The kernel's answer.
    pub source: io::Error,
}

impl XdpSetupError {
    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<&'static str> {
        let code = self.source.raw_os_error()?;
        Some(match (self.step, code) {
            (XdpStep::Socket, libc::EPERM) => "needs CAP_NET_RAW; run with sudo or setcap",
            (XdpStep::Socket, libc::EAFNOSUPPORT) => "this kernel is built without AF_XDP",
            (XdpStep::Memory, libc::ENOBUFS) => {
                "the limit of locked memory is too low: 'ulimit -l unlimited', a smaller buffer, or \
                 CAP_IPC_LOCK"
            }
            (XdpStep::Memory | XdpStep::Rings, libc::ENOMEM) => "try a smaller buffer",
            (XdpStep::BusyPoll, libc::EPERM) => "busy polling needs CAP_NET_ADMIN",
            (XdpStep::BusyPoll, libc::ENOPROTOOPT) => "busy polling needs Linux 5.11",
            (XdpStep::Bind, libc::EBUSY) => {
                "another AF_XDP socket has this queue, or had it a moment ago"
            }
            (XdpStep::Bind, libc::EOPNOTSUPP | libc::EINVAL) if self.is_zero_copy => {
                "its driver has no zero copy for this MTU: allow copying"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for XdpSetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (link, queue) = (&self.link, self.queue);
        match self.step {
            XdpStep::Socket => write!(f, "cannot open an AF_XDP socket for {link}"),
            XdpStep::Link => write!(f, "cannot find {link}"),
            XdpStep::Memory => write!(f, "cannot allocate the packet memory of {link}"),
            XdpStep::Rings => write!(f, "cannot allocate the AF_XDP rings of {link}"),
            XdpStep::BusyPoll => write!(f, "cannot turn on busy polling on {link}"),
            XdpStep::Bind => write!(f, "cannot receive from queue {queue} of {link}"),
            XdpStep::Promiscuous => write!(f, "cannot turn on promiscuous mode of {link}"),
        }?;
        match self.remedy() {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl Error for XdpSetupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Why an AF_XDP ring could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum XdpOpenError {
    /// The options are wrong.
    Option(OptionError),
    /// The kernel refused.
    Setup(XdpSetupError),
    /// The interface has fewer queues.
    NoSuchQueue {
        /// The interface.
        link: String,
        /// The queue asked for.
        queue: u32,
        /// How many there are; they are numbered from 0.
        queues: u32,
    },
    /// Packets as long as the MTU take several buffers, and this kernel's sockets take one.
    MultiBuffer {
        /// The interface.
        link: String,
        /// Its MTU.
        mtu: u32,
        /// The largest MTU whose packets take one buffer.
        largest: u32,
    },
    /// The interface's packets begin with a header that no capture file type is known for.
    LinkLayer {
        /// The interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
}

impl fmt::Display for XdpOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => error.fmt(f),
            Self::Setup(error) => error.fmt(f),
            Self::NoSuchQueue {
                link, queues: 0, ..
            } => write!(
                f,
                "cannot receive over AF_XDP from {link}: it has no receive queue"
            ),
            Self::NoSuchQueue {
                link,
                queue,
                queues,
            } => write!(
                f,
                "cannot receive from queue {queue} of {link}: it has {queues}, numbered from 0 \
                 ('ethtool -L' sets their number)"
            ),
            Self::MultiBuffer { link, mtu, largest } => write!(
                f,
                "cannot receive over AF_XDP from {link}: packets of its MTU {mtu} take several \
                 buffers (needs Linux 6.6, or an MTU of {largest})"
            ),
            Self::LinkLayer { link, hatype } => {
                write!(
                    f,
                    "cannot tell the link layer of {link}: hardware type {hatype}"
                )
            }
        }
    }
}

impl Error for XdpOpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Setup(error) => error.source(),
            _ => None,
        }
    }
}

impl From<OptionError> for XdpOpenError {
    fn from(error: OptionError) -> Self {
        Self::Option(error)
    }
}

impl From<XdpSetupError> for XdpOpenError {
    fn from(error: XdpSetupError) -> Self {
        Self::Setup(error)
    }
}
