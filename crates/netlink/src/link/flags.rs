use crate::table::names;
use crate::uapi::{IFF_LOOPBACK, IFF_LOWER_UP, IFF_NOARP, IFF_PROMISC, IFF_RUNNING, IFF_UP};

/// Flags of a link (`IFF_*`), as the kernel gave them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
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

names! {
    /// Operational state of a link (RFC 2863).
    pub enum OperState: u8 {
        /// The driver does not say; usual for loopbacks.
        Unknown = 0, "UNKNOWN";
        /// A part is missing.
        NotPresent = 1, "NOTPRESENT";
        /// It cannot carry packets.
        Down = 2, "DOWN";
        /// The link below it is down.
        LowerLayerDown = 3, "LOWERLAYERDOWN";
        /// It is under test.
        Testing = 4, "TESTING";
        /// It waits for an event, such as an authentication.
        Dormant = 5, "DORMANT";
        /// It can carry packets.
        Up = 6, "UP";
    }
}
