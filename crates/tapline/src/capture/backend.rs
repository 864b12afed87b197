//! How packets cross the kernel border.

/// How the packets of a capture cross the kernel border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// A packet socket; a frame and a wake-up per packet: lowest delay.
    #[doc(alias = "TPACKET_V2")]
    PacketV2,
    /// A packet socket; packets gathered in blocks: least work per packet.
    #[doc(alias = "TPACKET_V3")]
    PacketV3,
    /// AF_XDP sockets: packets taken from the driver, in drop mode.
    #[doc(alias = "AF_XDP")]
    Xdp,
    /// BPF ring buffers, one for each processor: an XDP program copies the beginnings of packets that
    /// come in, which cost the packet's way less than a packet socket and the reader more.
    ///
    /// A program in the driver can slow other traffic down: the interface may stop for a moment, and
    /// segments are no longer handed on in one piece. So this is taken only where it is asked for.
    ///
    /// In drop mode: memory of each processor that the program fills and the reader shares, without locks;
    /// taken by itself where snaplen and machine allow it (see [`Mode::Drop`](super::Mode::Drop)).
    #[doc(alias = "BPF_MAP_TYPE_RINGBUF")]
    XdpRingbuf,
}

impl Backend {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketV2 => ring::Backend::PacketV2.name(),
            Self::PacketV3 => ring::Backend::PacketV3.name(),
            Self::Xdp => "xdp",
            Self::XdpRingbuf => "xdp-ringbuf",
        }
    }

    /// The version of a packet ring.
    pub(super) fn packet(self) -> Option<ring::Backend> {
        match self {
            Self::PacketV2 => Some(ring::Backend::PacketV2),
            Self::PacketV3 => Some(ring::Backend::PacketV3),
            Self::Xdp | Self::XdpRingbuf => None,
        }
    }
}

impl From<ring::Backend> for Backend {
    fn from(version: ring::Backend) -> Self {
        match version {
            ring::Backend::PacketV2 => Self::PacketV2,
            ring::Backend::PacketV3 => Self::PacketV3,
        }
    }
}
