//! Why a packet ring cannot be opened.

use std::io;
use std::time::Duration;

/// The step of the setup that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupStep {
    /// Open a packet socket.
    Socket,
    /// Find the interface.
    Interface,
    /// Attach the filter.
    Filter,
    /// Select the ring version and reserve headroom for a VLAN tag.
    Version,
    /// Allocate the ring.
    Ring,
    /// Allocate a ring that was enlarged to outlast a stall of the reader.
    StallRing,
    /// Map the ring.
    Map,
    /// Enable hardware time stamps.
    Timestamps,
    /// Select the direction.
    Direction,
    /// Enable promiscuous mode.
    Promiscuous,
    /// Bind to the interface.
    Bind,
    /// Join the fanout group.
    Fanout,
}

impl SetupStep {
    fn words(self) -> &'static str {
        match self {
            Self::Socket => "open a packet socket for",
            Self::Interface => "get link",
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

/// The kernel refused a step of the setup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("cannot {} {link}", .step.words())]
pub struct RingSetupError {
    /// The step.
    pub step: SetupStep,
    /// Name of the interface.
    pub link: String,
    /// The kernel's error.
    pub source: io::Error,
}

/// Options that contradict each other or exceed the kernel's limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingOptionError {
    /// The snaplen is 0.
    #[error("the snaplen must be at least 1")]
    SnaplenZero,
    /// TPACKET_V3 wakes its reader at most once a millisecond.
    #[error("immediate delivery needs the backend packet-v2")]
    ImmediateNeedsV2,
    /// Packet rings have time stamps of the kernel or of the interface.
    #[error("a packet ring has no time stamps of its reader")]
    ReaderStamps,
    /// The block timer of TPACKET_V3 is out of range.
    #[error(
        "a timeout of {timeout:?} is out of range: packet-v3 supports 1 ms to 65535 ms (packet-v2 supports any)"
    )]
    Timeout {
        /// The timeout in the options.
        timeout: Duration,
    },
    /// The kernel counts the bytes of a ring in 32 bits.
    #[error("a ring of {bytes} bytes is too large, its limit is 4 GiB")]
    BufferTooLarge {
        /// Size in the options, bytes.
        bytes: usize,
    },
    /// A ring that outlasts the stall exceeds the kernel's limit.
    #[error("a stall of {stall:?} takes a ring of {bytes} bytes, and the limit is 4 GiB")]
    StallTooLong {
        /// The stall in the options.
        stall: Duration,
        /// Size that the ring would have, bytes.
        bytes: usize,
    },
}

/// Why a packet ring cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingOpenError {
    /// The options are invalid.
    #[error(transparent)]
    Option(#[from] RingOptionError),
    /// The kernel refused a step of the setup.
    #[error(transparent)]
    Setup(#[from] RingSetupError),
    /// No capture file link type is known for the interface's hardware type.
    #[error("cannot capture from {link}: its hardware type {hatype} is not supported")]
    LinkLayer {
        /// Name of the interface.
        link: String,
        /// Its hardware type (`ARPHRD_*`, `net/if_arp.h`).
        hatype: u16,
    },
    /// The previous ring of the group has not been dropped yet, or a process that was forked meanwhile still has it.
    #[error("the ring of {link} is being replaced already")]
    Busy {
        /// Name of the interface.
        link: String,
    },
}
