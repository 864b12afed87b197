//! Where packets are counted.

use std::sync::Arc;

use bpf::{LoadError, XdpAttachError};

/// Which way the packets go that are counted at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They come in.
    In,
    /// They go out.
    Out,
}

/// What runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// XDP in the driver.
    XdpNative,
    /// XDP in the stack.
    XdpGeneric,
    /// tc, by a link of its own (tcx).
    Tcx,
    /// tc, by a filter of the `clsact` queueing discipline (before Linux 6.6).
    Clsact,
}

impl Hook {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::XdpNative => "xdp-native",
            Self::XdpGeneric => "xdp-generic",
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
        }
    }

    /// Whether a super-packet, which the kernel joined from several of the wire or has yet to split,
    /// counts as one packet: XDP in the stack is not told of how many it is.
    #[doc(alias = "GRO")]
    #[doc(alias = "GSO")]
    pub fn counts_super_packets_once(self) -> bool {
        self == Self::XdpGeneric
    }
}

/// Where packets are counted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Place {
    /// Name of the interface.
    pub link: String,
    /// Its index.
    pub index: u32,
    /// Which way they go.
    pub way: Way,
    /// What runs the program.
    pub hook: Hook,
    /// Why it is not the one that is tried first.
    pub reason: Option<Reason>,
}

/// Why packets are not counted where that is tried first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The kernel or the driver refused XDP.
    XdpRefused(Arc<XdpAttachError>),
    /// The kernel did not load the program for XDP.
    ProgramRefused(Arc<LoadError>),
    /// The packets have no Ethernet header.
    NotEthernet,
    /// The interface takes VLAN tags out of packets before XDP sees them.
    VlanStripped,
}
