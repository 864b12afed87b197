//! Options of AF_XDP rings.

use std::num::NonZeroU16;
use std::time::Duration;

use crate::options::DEFAULT_SNAPLEN;

/// Options of an [`XdpRing`](crate::XdpRing).
#[derive(Clone, Debug)]
pub struct XdpRingOptions {
    /// Receive queue of the interface. Each queue has a ring of its own.
    pub queue: u32,
    /// Put the interface into promiscuous mode.
    pub promiscuous: bool,
    /// Largest number of bytes shown of a packet. The kernel copies the whole packet.
    pub snaplen: u32,
    /// Size of the packet memory; rounded up to a power of two of chunks of 2048 bytes, or 4096 if the MTU needs it.
    /// Every packet takes a whole chunk: 32 MiB hold 16384 packets, which arrive in 16 ms at one million per second.
    /// The reader must not be away for longer.
    pub buffer_bytes: usize,
    /// Whether the driver receives directly into the packet memory.
    pub zero_copy: ZeroCopy,
    /// Busy polling: the reader's thread runs the driver's NAPI poll instead of interrupts.
    pub busy_poll: Option<BusyPoll>,
    /// Number of the clock behind the device's time stamps, if the program reads them: `/dev/ptp0` is 0. They are converted
    /// to the time of day. `None`: they are taken as they are.
    pub device_clock: Option<u32>,
}

impl Default for XdpRingOptions {
    fn default() -> Self {
        Self {
            queue: 0,
            promiscuous: true,
            snaplen: DEFAULT_SNAPLEN,
            buffer_bytes: 32 << 20,
            zero_copy: ZeroCopy::IfOffered,
            busy_poll: None,
            device_clock: None,
        }
    }
}

/// Whether packets are received without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroCopy {
    /// If the driver supports it, also for packets as long as the MTU. [`XdpRing::is_zero_copy`] reports the result.
    ///
    /// [`XdpRing::is_zero_copy`]: crate::XdpRing::is_zero_copy
    #[default]
    IfOffered,
    /// Fail if the driver does not support it.
    #[doc(alias = "XDP_ZEROCOPY")]
    Required,
    /// Never: the kernel copies each packet. Works with every driver.
    #[doc(alias = "XDP_COPY")]
    Never,
}

/// Busy polling: the reader's thread runs the driver whenever it looks for packets. Lowest latency; packets and reader
/// share one CPU, which is never idle.
///
/// It defers interrupts only if the interface's `napi_defer_hard_irqs` and `gro_flush_timeout` (in
/// `/sys/class/net/IF`) are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long poll(2) on the ring's descriptor runs the driver before it sleeps. Whole microseconds, at least 1.
    #[doc(alias = "SO_BUSY_POLL")]
    pub timeout: Duration,
    /// Largest number of packets that the driver handles at once.
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
