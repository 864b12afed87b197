//! What a reader may ask of an AF_XDP ring.

use std::num::NonZeroU16;
use std::time::Duration;

use crate::options::DEFAULT_SNAPLEN;

/// What to receive over AF_XDP, and how.
#[derive(Clone, Debug)]
pub struct XdpOptions {
    /// Receive queue of the interface; each has a ring of its own.
    pub queue: u32,
    /// See packets addressed to others too.
    pub promiscuous: bool,
    /// Bytes shown of a packet at most. The kernel copies the whole packet.
    pub snaplen: u32,
    /// Size of the packet memory; rounded up to a power of two of chunks of 2048 bytes, or 4096 where
    /// the MTU needs it. A packet takes a chunk, however short it is: 32 MiB hold 16384 packets, which
    /// come in 16 ms at a million a second. The reader must not be away for longer.
    pub buffer_bytes: usize,
    /// Whether the driver is to receive straight into the packet memory.
    pub zero_copy: ZeroCopy,
    /// Have the reader's thread drive the driver instead of interrupts.
    pub busy_poll: Option<BusyPoll>,
}

impl Default for XdpOptions {
    fn default() -> Self {
        Self {
            queue: 0,
            promiscuous: true,
            snaplen: DEFAULT_SNAPLEN,
            buffer_bytes: 32 << 20,
            zero_copy: ZeroCopy::IfOffered,
            busy_poll: None,
        }
    }
}

/// Whether packets are received without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroCopy {
    /// Where the driver offers it, also for packets as long as the MTU; [`XdpRing::is_zero_copy`]
    /// tells.
    ///
    /// [`XdpRing::is_zero_copy`]: crate::XdpRing::is_zero_copy
    #[default]
    IfOffered,
    /// Or not at all.
    #[doc(alias = "XDP_ZEROCOPY")]
    Required,
    /// The kernel copies each packet: works with every driver.
    #[doc(alias = "XDP_COPY")]
    Never,
}

/// The reader's thread runs the driver whenever it looks for packets: lowest delay, and packets and
/// reader on one processor, which is never idle.
///
/// It holds the interrupts off only where the interface's `napi_defer_hard_irqs` and
/// `gro_flush_timeout` (in `/sys/class/net/IF`) say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long poll(2) on the ring's descriptor runs the driver before it sleeps; whole
    /// microseconds, at least 1.
    #[doc(alias = "SO_BUSY_POLL")]
    pub timeout: Duration,
    /// Packets that the driver handles in one go at most.
    #[doc(alias = "SO_BUSY_POLL_BUDGET")]
    pub budget: NonZeroU16,
}

impl Default for BusyPoll {
    /// 20 µs, 64 packets.
    fn default() -> Self {
        Self {
            timeout: Duration::from_micros(20),
            budget: const { NonZeroU16::new(64).unwrap() },
        }
    }
}
