use std::fmt;

use crate::uapi::{IFF_LOOPBACK, IFF_LOWER_UP, IFF_NOARP, IFF_PROMISC, IFF_RUNNING, IFF_UP};

/// Flags of a link (`IFF_*`), as the kernel gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkFlags(pub u32);

impl LinkFlags {
    /// An administrator has set it up.
    #[doc(alias = "IFF_UP")]
    pub fn is_up(self) -> bool {
        self.0 & IFF_UP != 0
    }

    /// It is up and can carry packets.
    #[doc(alias = "IFF_RUNNING")]
    pub fn is_running(self) -> bool {
        self.0 & IFF_RUNNING != 0
    }

    /// It has a carrier.
    #[doc(alias = "IFF_LOWER_UP")]
    pub fn has_carrier(self) -> bool {
        self.0 & IFF_LOWER_UP != 0
    }

    /// It is a loopback.
    #[doc(alias = "IFF_LOOPBACK")]
    pub fn is_loopback(self) -> bool {
        self.0 & IFF_LOOPBACK != 0
    }

    /// An administrator has made it promiscuous; captures do not show here but in
    /// [`Link::promiscuity`](crate::Link::promiscuity).
    #[doc(alias = "IFF_PROMISC")]
    pub fn is_promiscuous(self) -> bool {
        self.0 & IFF_PROMISC != 0
    }

    /// It resolves no neighbours.
    #[doc(alias = "IFF_NOARP")]
    pub fn is_without_arp(self) -> bool {
        self.0 & IFF_NOARP != 0
    }
}

/// Operational state of a link (RFC 2863).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperState {
    /// The driver does not say; usual for loopbacks.
    Unknown,
    /// A part is missing.
    NotPresent,
    /// It cannot carry packets.
    Down,
    /// The link below it is down.
    LowerLayerDown,
    /// It is under test.
    Testing,
    /// It waits for an event, such as an authentication.
    Dormant,
    /// It can carry packets.
    Up,
    /// A state that this room has no name for.
    Other(u8),
}

impl From<u8> for OperState {
    fn from(state: u8) -> Self {
        match state {
            0 => Self::Unknown,
            1 => Self::NotPresent,
            2 => Self::Down,
            3 => Self::LowerLayerDown,
            4 => Self::Testing,
            5 => Self::Dormant,
            6 => Self::Up,
            other => Self::Other(other),
        }
    }
}

impl fmt::Display for OperState {
    /// As `ip(8)` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.pad("UNKNOWN"),
            Self::NotPresent => f.pad("NOTPRESENT"),
            Self::Down => f.pad("DOWN"),
            Self::LowerLayerDown => f.pad("LOWERLAYERDOWN"),
            Self::Testing => f.pad("TESTING"),
            Self::Dormant => f.pad("DORMANT"),
            Self::Up => f.pad("UP"),
            Self::Other(state) => write!(f, "0x{state:x}"),
        }
    }
}
