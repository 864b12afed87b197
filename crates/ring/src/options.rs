//! What a reader may ask of a ring.

use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::bpf::SockFilter;

use crate::error::OptionError;
use crate::geometry::Geometry;

/// Bytes kept of a packet when nothing else is asked for: every packet that Linux knows fits.
pub const DEFAULT_SNAPLEN: u32 = 262_144;

/// Packets a second for which a ring lasts while its reader is away.
pub const STALL_PPS: u32 = 50_000;

/// How long a reader may be away that sleeps while packets gather, if nothing else is asked for.
pub const DEFAULT_STALL: Duration = Duration::from_millis(200);

/// What to receive and how to hand it over.
#[derive(Debug)]
pub struct Options {
    /// Ring version; `None` takes the one that suits `delivery`.
    pub backend: Option<Backend>,
    /// See packets addressed to others too.
    pub promiscuous: bool,
    /// Which way the packets go that are offered to the reader.
    pub direction: DirectionFilter,
    /// Bytes kept of a packet at most, as counted on the wire (with its VLAN tag).
    pub snaplen: u32,
    /// Size of the ring; rounded up to whole blocks.
    pub buffer_bytes: usize,
    /// How soon packets reach the reader.
    pub delivery: Delivery,
    /// How long the reader may be away while at most [`STALL_PPS`] packets a second come.
    ///
    /// TPACKET_V2 has a frame of the snaplen's size for each of them. TPACKET_V3 hands over a block
    /// whenever its time is up, however little it holds, so there it is the number of blocks that bounds
    /// this, and they are made smaller for it; beside that, there is room for as many short packets (128
    /// bytes), and longer ones have to fit. The ring grows beyond `buffer_bytes` where that is not enough.
    ///
    /// `None` asks for [`DEFAULT_STALL`] with [`Delivery::Adaptive`] and of a reader that gathers, and for
    /// nothing otherwise; only blocks grow in number for it, not frames. Without a `backend` such a reader gets
    /// TPACKET_V2 only where frames for it fit into `buffer_bytes`, or packets are short.
    pub stall: Option<Duration>,
    /// With [`Delivery::Batch`]: how long the reader lets packets gather in the ring beside its timer. It
    /// is away so long, too.
    pub gather: Duration,
    /// Shares the interface's packets with other rings.
    pub fanout: Option<Fanout>,
    /// Who stamps the time.
    pub timestamps: TimestampSource,
    /// Which packets are wanted.
    pub filter: Filter,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: None,
            promiscuous: true,
            direction: DirectionFilter::Both,
            snaplen: DEFAULT_SNAPLEN,
            buffer_bytes: 32 << 20,
            delivery: Delivery::default(),
            stall: None,
            gather: Duration::ZERO,
            fanout: None,
            timestamps: TimestampSource::Kernel,
            filter: Filter::All,
        }
    }
}

impl Options {
    /// Blocks of the TPACKET_V3 ring that would be opened; `None` for one of TPACKET_V2, which hands over
    /// frames. While packets are few each block lasts for the time of the delivery, so all of them bound for
    /// how long the reader may be away.
    ///
    /// # Errors
    /// [`OptionError`] for options that contradict each other.
    pub fn block_count(&self) -> Result<Option<usize>, OptionError> {
        let geometry = Geometry::new(self)?;
        Ok((geometry.backend == Backend::PacketV3).then_some(geometry.count))
    }
}

/// Version of the packet ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A frame per packet and a wake-up per packet: lowest delay.
    #[doc(alias = "TPACKET_V2")]
    PacketV2,
    /// Packets gathered in blocks: least work per packet.
    #[doc(alias = "TPACKET_V3")]
    PacketV3,
}

impl Backend {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::PacketV2 => "packet-v2",
            Self::PacketV3 => "packet-v3",
        }
    }
}

/// How soon a packet reaches its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The reader wakes for each packet.
    Immediate,
    /// The reader wakes when this much has gathered or the time is over.
    ///
    /// A packet ring knows neither. TPACKET_V3 takes them for size and time of a block, as in
    /// [`Delivery::Blocks`], and TPACKET_V2 wakes for each packet: whoever reads holds back until
    /// [`PacketRing::holds`](crate::PacketRing::holds) says so.
    Batch {
        /// Bytes of the ring that end the wait once packets take as many, with their headers.
        min_bytes: usize,
        /// Longest wait after the first packet.
        timeout: Duration,
    },
    /// The reader wakes for each block of TPACKET_V3, as the kernel hands it over.
    Blocks {
        /// Size of a block, rounded up to whole pages and to the longest packet that the snaplen lets in,
        /// and smaller where the stall asks for more blocks. It ends with the first packet that it has no
        /// room for.
        bytes: usize,
        /// Longest wait in a block that is not full, in whole milliseconds, 1 to 65535. The clock runs
        /// freely, so that a block may be handed over sooner.
        timeout: Duration,
    },
    /// The reader wakes for each packet while packets are rare. When they are dense it sleeps, and
    /// finds several each time.
    Adaptive {
        /// How long a packet waits at most for a reader that sleeps; what the processor needs to wake
        /// a thread comes on top. In TPACKET_V3 it is the time of a block, and no less than a
        /// millisecond.
        target: Duration,
    },
}

impl Default for Delivery {
    /// A megabyte or ten milliseconds.
    fn default() -> Self {
        Self::Batch {
            min_bytes: 1 << 20,
            timeout: Duration::from_millis(10),
        }
    }
}

/// Which way the packets go that a ring offers to its reader; the others are no part of its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionFilter {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
    /// Both; on a loopback interface, where each packet passes twice, only as it is received.
    Both,
}

/// Who stamps the time of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampSource {
    /// The kernel, when its driver hands the packet over (`CLOCK_REALTIME`).
    Kernel,
    /// The interface's own clock.
    Hardware,
    /// The reader, for packets that come without one ([`XdpRing`](crate::XdpRing)): when it took
    /// their batch (`CLOCK_REALTIME`). Not to be asked of a packet ring.
    Reader,
}

impl TimestampSource {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Hardware => "hardware",
            Self::Reader => "reader",
        }
    }
}

/// A group of rings among which the kernel divides an interface's packets.
#[doc(alias = "PACKET_FANOUT")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// Number of the group, within the network namespace.
    pub group: u16,
    /// How packets are divided.
    pub mode: FanoutMode,
}

/// How a fanout group divides packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// By flow.
    #[doc(alias = "PACKET_FANOUT_HASH")]
    Hash,
    /// In turn.
    #[doc(alias = "PACKET_FANOUT_LB")]
    RoundRobin,
    /// By the processor that received the packet.
    #[doc(alias = "PACKET_FANOUT_CPU")]
    Cpu,
    /// By the interface's receive queue.
    #[doc(alias = "PACKET_FANOUT_QM")]
    Queue,
}

/// Which packets a ring takes; evaluated in the kernel.
#[derive(Debug)]
pub enum Filter {
    /// Every one.
    All,
    /// Those for which this classic program returns a length; the direction and the snaplen of the
    /// options are added to it.
    Classic(Vec<SockFilter>),
    /// Those for which this eBPF socket filter returns a length. It has to respect the direction
    /// and the snaplen of the options itself.
    Program(OwnedFd),
}
