//! Options of packet rings.

use std::os::fd::OwnedFd;
use std::time::Duration;

use abi::bpf::SockFilter;

/// Default snaplen: larger than every packet in Linux.
pub const DEFAULT_SNAPLEN: u32 = 262_144;

/// Packet rate that [`RingOptions::stall`] assumes, packets per second.
pub const STALL_PPS: u32 = 50_000;

/// Default [`RingOptions::stall`] of a reader that sleeps while packets gather.
pub const DEFAULT_STALL: Duration = Duration::from_millis(200);

/// Options of a [`PacketRing`](crate::PacketRing).
#[derive(Debug)]
pub struct RingOptions {
    /// Ring version. `None` selects the one that suits `delivery`.
    pub version: Option<TpacketVersion>,
    /// Put the interface into promiscuous mode.
    pub promiscuous: bool,
    /// Direction of the packets to receive.
    pub direction: DirectionFilter,
    /// Largest number of bytes kept of a packet, as on the wire (including its VLAN tag).
    pub snaplen: u32,
    /// Size of the ring; rounded up to whole blocks.
    pub buffer_bytes: usize,
    /// When packets are delivered to the reader.
    pub delivery: DeliveryMode,
    /// Longest time the reader may be away while at most [`STALL_PPS`] packets per second arrive.
    ///
    /// A TPACKET_V2 ring has a frame of the snaplen's size for each of these packets. A TPACKET_V3 block is handed
    /// over when its timer expires, even if it is nearly empty, so the number of blocks limits the stall: blocks
    /// become smaller for it. Besides, there is room for that many short packets (128 bytes). The ring grows beyond
    /// `buffer_bytes` if necessary.
    ///
    /// `None` means [`DEFAULT_STALL`] with [`DeliveryMode::Adaptive`] or with `gather`, otherwise no guarantee.
    /// The number of blocks grows for it, but not the number of frames. Without a `version`, such a reader gets
    /// TPACKET_V2 only if its frames fit into `buffer_bytes` or packets are short.
    pub stall: Option<Duration>,
    /// With [`DeliveryMode::Batch`]: how long the reader lets packets gather in the ring, besides the block timer.
    /// The reader is away for this long, too.
    pub gather: Duration,
    /// With `gather`: bytes for which the reader waits. Without a `version`, TPACKET_V2 is selected if a quarter of its frames holds
    /// them in short packets: there the reader sees each packet at once, and in TPACKET_V3 only when the kernel hands its block over.
    /// Default: 0, not known.
    pub gather_bytes: usize,
    /// With `gather`: the kernel lets packets gather, for `gather` or this time, whichever is shorter. Each TPACKET_V3 block is then a
    /// batch ([`BlockReason::Batch`](crate::BlockReason::Batch)): a sixteenth of the ring or less, for which the kernel wakes the reader.
    /// Requires `gather_bytes` of a quarter of the ring or more. Do not use it if the reader merges the packets of several rings: they
    /// would be sorted only within the time of a block. Default: `None`, the reader lets packets gather in smaller blocks.
    pub gather_in_kernel: Option<Duration>,
    /// Fanout group in which rings share the interface's packets.
    pub fanout: Option<Fanout>,
    /// Time stamp source.
    pub timestamps: TimestampSource,
    /// With [`TimestampSource::Hardware`]: number of the clock that stamps the packets, as in `/dev/ptp0`. Its time is
    /// converted to the time of day ([`DeviceClock`](crate::DeviceClock)). `None` leaves time stamps as the hardware
    /// makes them.
    pub device_clock: Option<u32>,
    /// Filter, which the kernel evaluates.
    pub filter: RingFilter,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self {
            version: None,
            promiscuous: true,
            direction: DirectionFilter::Both,
            snaplen: DEFAULT_SNAPLEN,
            buffer_bytes: 32 << 20,
            delivery: DeliveryMode::default(),
            stall: None,
            gather: Duration::ZERO,
            gather_bytes: 0,
            gather_in_kernel: None,
            fanout: None,
            timestamps: TimestampSource::Kernel,
            device_clock: None,
            filter: RingFilter::All,
        }
    }
}

/// Version of the packet ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpacketVersion {
    /// A frame and a wake-up per packet: lowest latency.
    #[doc(alias = "TPACKET_V2")]
    V2,
    /// Packets gathered in blocks: least CPU time per packet.
    #[doc(alias = "TPACKET_V3")]
    V3,
}

impl TpacketVersion {
    /// Name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2 => "packet-v2",
            Self::V3 => "packet-v3",
        }
    }
}

/// When a packet is delivered to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeliveryMode {
    /// The reader wakes for each packet.
    Immediate,
    /// The reader wakes when `min_bytes` have gathered or `timeout` has passed.
    ///
    /// The kernel supports neither directly. TPACKET_V3 uses them as size and timer of a block, as in
    /// [`DeliveryMode::Blocks`]. TPACKET_V2 wakes for each packet, and the reader waits until
    /// [`PacketRing::holds`](crate::PacketRing::holds) returns true.
    Batch {
        /// Bytes of the ring, including headers, that end the wait.
        min_bytes: usize,
        /// Longest wait after the first packet.
        timeout: Duration,
    },
    /// The reader wakes for each TPACKET_V3 block that the kernel hands over.
    Blocks {
        /// Size of a block. It is rounded up to whole pages and to the longest packet of the snaplen, and reduced
        /// if the stall needs more blocks. A block ends with the first packet that does not fit.
        bytes: usize,
        /// Longest wait for a block that is not full, in whole milliseconds: 1 to 65535. The kernel's timer is
        /// free-running, so a block may be handed over sooner.
        timeout: Duration,
    },
    /// The reader wakes for each packet at low packet rates. At high rates it sleeps and finds several packets at
    /// each wake-up.
    Adaptive {
        /// Longest time that a packet waits for a sleeping reader; the wake-up latency comes on top. It is also
        /// the block timer of TPACKET_V3, there at least one millisecond.
        target: Duration,
    },
}

impl Default for DeliveryMode {
    /// One MiB or ten milliseconds.
    fn default() -> Self {
        Self::Batch {
            min_bytes: 1 << 20,
            timeout: Duration::from_millis(10),
        }
    }
}

/// Direction of the packets that a ring receives. Others do not count in its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionFilter {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
    /// Both. On a loopback interface, each packet passes twice and is received only as incoming.
    Both,
}

/// Time stamp source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampSource {
    /// The kernel, when the packet reaches the ring, or before if another socket wants time stamps too
    /// (`CLOCK_REALTIME`).
    Kernel,
    /// The kernel, when the driver passes the packet to the stack and before the packet waits for a CPU
    /// (`CLOCK_REALTIME`).
    Driver,
    /// The interface's hardware clock. The interface must stamp packets: the ring does not enable that. A packet that
    /// the hardware did not stamp has the time stamp of [`Kernel`](Self::Kernel).
    Hardware,
    /// The reader, when it takes the batch (`CLOCK_REALTIME`), for packets without another time stamp
    /// ([`XdpRing`](crate::XdpRing)). Invalid for a packet ring.
    Reader,
}

impl TimestampSource {
    /// Name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Driver => "driver",
            Self::Hardware => "hardware",
            Self::Reader => "reader",
        }
    }
}

/// A fanout group: rings that share an interface's packets.
#[doc(alias = "PACKET_FANOUT")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// Group number within the network namespace. `None` creates a group whose number no other has; see
    /// [`PacketRing::fanout_group`](crate::PacketRing::fanout_group).
    pub group: Option<u16>,
    /// How the kernel distributes packets.
    pub mode: FanoutMode,
}

/// How a fanout group distributes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// By flow hash.
    #[doc(alias = "PACKET_FANOUT_HASH")]
    Hash,
    /// Round robin.
    #[doc(alias = "PACKET_FANOUT_LB")]
    RoundRobin,
    /// At random.
    #[doc(alias = "PACKET_FANOUT_RND")]
    Random,
    /// By the CPU that received the packet.
    #[doc(alias = "PACKET_FANOUT_CPU")]
    Cpu,
    /// By receive queue.
    #[doc(alias = "PACKET_FANOUT_QM")]
    Queue,
}

/// Filter of a ring, evaluated in the kernel.
#[derive(Debug)]
pub enum RingFilter {
    /// Accepts every packet.
    All,
    /// Accepts packets for which this classic program returns a length. The ring adds the direction and the snaplen
    /// of the options.
    Classic(Vec<SockFilter>),
    /// Accepts packets for which this eBPF socket filter returns a length. The program must itself apply the
    /// direction and the snaplen of the options.
    Program(OwnedFd),
}
