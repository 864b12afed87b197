//! What a capture is asked to do.

use std::time::Duration;

use bpf::{Others, Sampling, XdpPlace};
use ring::{BusyPoll, Delivery, DirectionFilter, TimestampSource};

use super::backend::Backend;
use super::filter::Filter;
use super::mode::Mode;

/// Bytes of an interface's rings that suit drop mode: room for 65536 packets, 10 ms at 6.5 million a
/// second.
pub const DROP_BUFFER_BYTES: usize = 128 << 20;

/// From where and what to capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the interfaces, in the network namespace of the thread that opens the capture.
    pub links: Vec<String>,
    /// Which packets are wanted; `None` wants all.
    pub filter: Option<Filter>,
    /// What the filter is called in a capture file; an expression is called what it says.
    pub filter_text: Option<String>,
    /// Which of the packets that the filter accepts are wanted, decided in the kernel; `None` wants all.
    /// What it leaves out counts as filtered. In drop mode what becomes of others becomes of it.
    pub sampling: Option<Sampling>,
    /// What becomes of the packets it sees.
    pub mode: Mode,
    /// In drop mode: what becomes of packets that the filter refuses.
    pub others: Others,
    /// Where the XDP program may run that takes or copies packets, if there is one.
    pub xdp: XdpPlace,
    /// How packets cross the kernel border; `None` takes the way that suits `mode` and `delivery`.
    pub backend: Option<Backend>,
    /// See packets addressed to others too.
    pub promiscuous: bool,
    /// Which way the packets go that are captured; in drop mode `Both` means those that come in.
    pub direction: DirectionFilter,
    /// Bytes kept of a packet at most.
    pub snaplen: u32,
    /// Bytes of each interface's ring; in drop mode of its rings together, where a packet takes 2048
    /// however short it is (with a [short snaplen](super::SHORT_SNAPLEN) a power of two, and so do the
    /// rings), so that [`DROP_BUFFER_BYTES`] are apt.
    pub buffer_bytes: usize,
    /// How soon packets reach the consumer.
    pub delivery: Delivery,
    /// How long after a packet the reader goes on looking for the next one before it sleeps, which
    /// keeps a processor busy; not for [`Delivery::Batch`].
    pub spin: Duration,
    /// Have the reader run the driver whenever it looks for packets, with AF_XDP in drop mode; a short
    /// snaplen takes AF_XDP then, too. The driver is run often only by a reader that spins (`spin`): one
    /// that sleeps leaves it to interrupts.
    pub busy_poll: Option<BusyPoll>,
    /// How long the reader may be away; as `stall` in [`ring::Options`], where `None` stands for 200 ms
    /// but with [`Delivery::Immediate`] and [`Delivery::Blocks`]. Of packet rings: what else holds packets
    /// while the reader is away is a matter of `buffer_bytes` alone.
    pub stall: Option<Duration>,
    /// Who stamps the time.
    pub timestamps: TimestampSource,
    /// When it ends by itself.
    pub limits: Limits,
    /// Time between two calls of [`Consumer::tick`](super::Consumer::tick).
    pub tick: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let ring = ring::Options::default();
        Self {
            links: Vec::new(),
            filter: None,
            filter_text: None,
            sampling: None,
            mode: Mode::default(),
            others: Others::default(),
            xdp: XdpPlace::NativeOrGeneric,
            backend: None,
            promiscuous: ring.promiscuous,
            direction: ring.direction,
            snaplen: ring.snaplen,
            buffer_bytes: ring.buffer_bytes,
            delivery: ring.delivery,
            spin: Duration::ZERO,
            busy_poll: None,
            stall: ring.stall,
            timestamps: ring.timestamps,
            limits: Limits::default(),
            tick: Duration::from_secs(1),
        }
    }
}

/// When a capture ends by itself; the first that is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Packets delivered. What is in the rings beyond them counts as filtered.
    pub packets: Option<u64>,
    /// Time since the capture was opened.
    pub duration: Option<Duration>,
}
