//! Why a ring cannot be opened or goes on no longer.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

/// What the kernel was asked while a ring was set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Open a packet socket.
    Socket,
    /// Find the interface.
    Link,
    /// Attach the filter.
    Filter,
    /// Select the ring version and reserve room for a VLAN tag.
    Version,
    /// Allocate the ring.
    Ring,
    /// Allocate a ring that is larger than was asked for, so that it lasts while the reader is away.
    StallRing,
    /// Map it.
    Map,
    /// Stamp the time in hardware.
    Timestamps,
    /// Leave out one direction.
    Direction,
    /// Turn promiscuous mode on.
    Promiscuous,
    /// Start to receive.
    Bind,
    /// Join the fanout group.
    Fanout,
}

impl Step {
    fn words(self) -> &'static str {
        match self {
            Self::Socket => "open a packet socket for",
            Self::Link => "find",
            Self::Filter => "attach the filter on",
            Self::Version => "select the ring version on",
            Self::Ring => "allocate the ring of",
            Self::StallRing => "allocate a ring for such a stall of",
            Self::Map => "map the ring of",
            Self::Timestamps => "get hardware time stamps from",
            Self::Direction => "choose the direction on",
            Self::Promiscuous => "turn on promiscuous mode of",
            Self::Bind => "receive from",
            Self::Fanout => "join the fanout group on",
        }
    }
}

/// A step of the set-up that the kernel refused.
#[derive(Debug)]
#[non_exhaustive]
pub struct SetupError {
    /// What was asked.
    pub step: Step,
    /// Of which interface.
    pub link: String,
    /// The kernel's answer.
    pub source: io::Error,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.step.words(), self.link)
    }
}

impl Error for SetupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Options that contradict each other or the kernel's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// A snaplen of 0 would keep nothing.
    SnaplenZero,
    /// TPACKET_V3 wakes its reader once a millisecond at most.
    ImmediateNeedsV2,
    /// Packet rings have time stamps of the kernel or of the interface.
    ReaderStamps,
    /// The time of a block in TPACKET_V3 is out of range.
    Timeout {
        /// What was asked.
        timeout: Duration,
    },
    /// The kernel counts the bytes of a ring in 32 bits.
    BufferTooLarge {
        /// What was asked.
        bytes: usize,
    },
    /// A ring that lasts while the reader is away is larger than the kernel can count.
    StallTooLong {
        /// How long it is to be away.
        stall: Duration,
        /// What the ring would take.
        bytes: usize,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SnaplenZero => write!(f, "a snaplen of 0 keeps nothing"),
            Self::ImmediateNeedsV2 => {
                write!(f, "immediate delivery needs the backend packet-v2")
            }
            Self::ReaderStamps => write!(f, "a packet ring has no time stamps of its reader"),
            Self::Timeout { timeout } => {
                write!(
                    f,
                    "packet-v3 has a timer of 1 ms to 65535 ms, not of {timeout:?} (packet-v2 has any)"
                )
            }
            Self::BufferTooLarge { bytes } => {
                write!(
                    f,
                    "a ring of {bytes} bytes is too large, its limit is 4 GiB"
                )
            }
            Self::StallTooLong { stall, bytes } => {
                write!(
                    f,
                    "a stall of {stall:?} takes a ring of {bytes} bytes, and the limit is 4 GiB"
                )
            }
        }
    }
}

impl Error for OptionError {}

/// Why a ring could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The options are wrong.
    Option(OptionError),
    /// The kernel refused.
    Setup(SetupError),
    /// The interface's packets begin with a header that no capture file type is known for.
    LinkLayer {
        /// The interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
    /// A ring takes over, and the one before it is still there.
    Busy {
        /// The interface.
        link: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => error.fmt(f),
            Self::Setup(error) => error.fmt(f),
            Self::LinkLayer { link, hatype } => {
                write!(
                    f,
                    "cannot tell the link layer of {link}: hardware type {hatype}"
                )
            }
            Self::Busy { link } => {
                write!(f, "the ring of {link} is being replaced already")
            }
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Setup(error) => error.source(),
            Self::Option(_) | Self::LinkLayer { .. } | Self::Busy { .. } => None,
        }
    }
}

impl From<OptionError> for OpenError {
    fn from(error: OptionError) -> Self {
        Self::Option(error)
    }
}

impl From<SetupError> for OpenError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}
