//! The points where packets are counted.

use std::sync::Arc;

use bpf::{LoadError, XdpAttachError};

/// The direction of packets at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// Received packets.
    In,
    /// Sent packets.
    Out,
}

/// The kernel hook that runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountHook {
    /// XDP in the driver.
    XdpNative,
    /// Generic XDP, in the stack.
    XdpGeneric,
    /// tc, through a bpf link (tcx).
    Tcx,
    /// tc, through a filter of the `clsact` qdisc (before Linux 6.6).
    Clsact,
}

impl CountHook {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::XdpNative => "xdp-native",
            Self::XdpGeneric => "xdp-generic",
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
        }
    }

    /// Whether a super-packet (GRO, GSO) counts as one packet. Generic XDP does not know the number
    /// of packets in it.
    #[doc(alias = "GRO")]
    #[doc(alias = "GSO")]
    pub fn counts_super_packets_once(self) -> bool {
        self == Self::XdpGeneric
    }
}

/// The points where packets are counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CountPoint {
    /// Name of the interface.
    pub link: String,
    /// Its index.
    pub index: u32,
    /// The direction of the packets.
    pub direction: PacketDirection,
    /// The kernel hook that runs the program.
    pub hook: CountHook,
    /// Why this is not the preferred hook.
    pub reason: Option<FallbackReason>,
}

/// Why the preferred hook is not used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FallbackReason {
    /// The kernel or the driver rejected XDP.
    XdpRefused(Arc<XdpAttachError>),
    /// The kernel rejected the XDP program.
    ProgramRefused(Arc<LoadError>),
    /// The packets have no Ethernet header.
    NotEthernet,
    /// The interface strips VLAN tags before XDP.
    VlanStripped,
}
