//! How packets cross from the kernel to the reader.

use std::fmt;

/// How the packets of a capture cross from the kernel to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Packet socket with a frame and a wake-up per packet: lowest latency.
    #[doc(alias = "TPACKET_V2")]
    PacketV2,
    /// Packet socket with many packets in a block: least work per packet.
    #[doc(alias = "TPACKET_V3")]
    PacketV3,
    /// AF_XDP sockets: packets redirected by an XDP program, in drop mode.
    #[doc(alias = "AF_XDP")]
    Xdp,
    /// BPF ring buffers, one per CPU: an XDP program copies the beginnings of received packets. This delays
    /// the packets less than a packet socket does, and costs the reader more.
    ///
    /// An XDP program can slow other traffic down: the interface may stop for a moment, and segments are no
    /// longer merged. So this back end is used only if it is selected.
    ///
    /// In drop mode: memory per CPU that the XDP program shares with the reader, without locks. Selected
    /// automatically where snaplen and host allow it (see [`Mode::Drop`](super::mode::Mode::Drop)).
    #[doc(alias = "BPF_MAP_TYPE_RINGBUF")]
    XdpRingbuf,
}

impl Backend {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketV2 => ring::TpacketVersion::V2.name(),
            Self::PacketV3 => ring::TpacketVersion::V3.name(),
            Self::Xdp => "xdp",
            Self::XdpRingbuf => "xdp-ringbuf",
        }
    }
}

impl From<ring::TpacketVersion> for Backend {
    fn from(version: ring::TpacketVersion) -> Self {
        match version {
            ring::TpacketVersion::V2 => Self::PacketV2,
            ring::TpacketVersion::V3 => Self::PacketV3,
        }
    }
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPlace {
    /// In the kernel: refused packets cost the reader nothing.
    Kernel,
    /// Too long for the kernel, which runs a coarse filter that accepts more packets; the reader runs the
    /// exact one. The ring keeps whole packets then, since the exact filter may read any byte. The reader
    /// truncates them to the snaplen.
    Split,
}

impl FilterPlace {
    /// Its name in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Split => "split",
        }
    }
}

/// Why drop mode with a short snaplen uses AF_XDP sockets, at several times the cost, instead of memory
/// shared with the XDP program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FallBack {
    /// The process lacks the privilege (`CAP_PERFMON`) to attach to a tracepoint.
    Privilege,
    /// The kernel lacks what the program needs, from Linux 5.18.
    Kernel,
    /// The verifier rejects the program, e.g. on a CPU without unaligned loads.
    Verifier,
    /// The driver has no NAPI (tun and tap), so the program would not know when to wake the reader.
    Driver,
    /// The program relies on the store order of x86-64.
    Processor,
}

impl fmt::Display for FallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privilege => "needs CAP_PERFMON",
            Self::Kernel => "needs Linux 5.18",
            Self::Verifier => "is refused by the verifier",
            Self::Driver => "its driver has no NAPI",
            Self::Processor => "needs x86-64",
        })
    }
}
