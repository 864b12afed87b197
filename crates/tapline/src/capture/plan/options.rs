//! The options of a capture, and their setters.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bpf::{RingBufferProgram, RxMetadata, Sampling, SocketPorts, UnmatchedAction, XdpAttachMode};
use ring::{BusyPoll, DeliveryMode, DirectionFilter, RingShare, TimestampSource};

use super::backend::Backend;
use super::mode::{MirrorLimit, Mode, ModeError};
use crate::packet_filter::Filter;
use crate::steering::Setting;
use netlink::Namespace;

/// A buffer size that suits drop mode, per interface: 65536 packets, 10 ms at 6.5 Mpps.
pub const DROP_BUFFER_BYTES: usize = 128 << 20;

/// What to capture, and how. [`open`](Self::open) starts the capture.
///
/// ```
/// let capture = tapline::capture("lo")
///     .filter("udp port 53")?
///     .snaplen(128)
///     .packets(100)
///     .open()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
#[must_use = "nothing is captured before `open`"]
pub struct CaptureOptions {
    /// Names of the interfaces.
    pub links: Vec<String>,
    /// The network namespace of the interfaces. Default: that of the thread that opens the capture.
    pub namespace: Option<Namespace>,
    /// Packets to capture. Default: all.
    pub filter: Option<Filter>,
    /// Description of the filter in a capture file. Default: the text of an expression.
    pub filter_text: Option<String>,
    /// Sample the packets that the filter accepts, in the kernel. Sampled-out packets count as filtered. In
    /// drop mode `others` applies to them. Default: no sampling.
    pub sampling: Option<Sampling>,
    /// Capture only packets of the sockets of a control group, by their local ports. Applies to packet rings only. Other
    /// packets are neither received nor filtered. Default: packets of all sockets and of none.
    pub socket_ports: Option<Arc<SocketPorts>>,
    /// Whether the stack still sees the packets. Default: [`Mode::Mirror`].
    pub mode: Mode,
    /// In drop mode: action for packets that do not match the filter. Default: pass.
    pub others: UnmatchedAction,
    /// Where an XDP program may run. Default: native, else generic.
    pub xdp: XdpAttachMode,
    /// How packets cross from the kernel. Default: what suits `mode` and `delivery`.
    pub backend: Option<Backend>,
    /// Put the interfaces into promiscuous mode. Default: yes.
    pub promiscuous: bool,
    /// Capture received packets, sent packets or both. In drop mode `Both` means received. Default: both.
    pub direction: DirectionFilter,
    /// Bytes to keep of each packet. Default: 262144.
    pub snaplen: u32,
    /// Ring size per interface, bytes. Default: 32 MiB.
    ///
    /// In drop mode all rings of the interface share it, and each packet takes 2048 bytes:
    /// [`DROP_BUFFER_BYTES`] is a good size. With a [short snaplen](super::mode::SHORT_SNAPLEN) packets
    /// take less, and slots and rings are rounded to powers of two.
    pub buffer_bytes: usize,
    /// When packets are delivered: immediately, in batches, or adaptively.
    pub delivery: DeliveryMode,
    /// How long to look for the next packet before sleeping. Keeps a CPU busy. Ignored with
    /// [`DeliveryMode::Batch`]. Default: 0.
    pub spin: Duration,
    /// Busy-poll the driver from the reader (AF_XDP in drop mode). Selects AF_XDP for a short snaplen, too.
    /// Combine it with `spin`: a reader that sleeps leaves the driver to interrupts.
    pub busy_poll: Option<BusyPoll>,
    /// How long the reader may be away without loss at [`ring::STALL_PPS`] packets/s. The ring grows for it.
    /// Applies to packet rings only; other back ends are limited by `buffer_bytes`. Default: 200 ms, except
    /// with [`DeliveryMode::Immediate`] and [`DeliveryMode::Blocks`].
    pub stall: Option<Duration>,
    /// Time stamp source. Default: kernel.
    ///
    /// With [`TimestampSource::Hardware`] each interface is made to stamp all received packets, and its former setting
    /// is restored at the end ([`hwtstamp`](crate::hwtstamp)). Time stamps are converted to the time of day. A packet
    /// that the hardware did not stamp has the kernel's time stamp; [`TimestampCounts`] counts both, and a capture file
    /// has a comment at such a packet. Requires `CAP_NET_ADMIN` and read access to `/dev/ptpN`.
    ///
    /// In drop mode the driver must give its time stamps to XDP programs, which run in the driver then (Linux 6.3), and
    /// AF_XDP sockets are used for a short snaplen, too. If the driver offers them, packets also have its hash and the VLAN
    /// tags that it strips.
    ///
    /// [`TimestampCounts`]: super::super::TimestampCounts
    pub timestamps: TimestampSource,
    /// Use the kernel's time stamps where the hardware's are not available, instead of failing. Default: no.
    pub timestamp_fallback: bool,
    /// With [`TimestampSource::Hardware`]: leave time stamps as the device's clock makes them, instead of converting them to
    /// the time of day. Requires no access to `/dev/ptpN`. Default: no.
    pub device_time: bool,
    /// The clock behind hardware time stamps, once an interface is opened.
    pub(in super::super) device_clock: Option<u32>,
    /// What XDP programs ask the device, once an interface is opened.
    pub(in super::super) rx_metadata: Option<RxMetadata>,
    /// Settings of each interface's device for the time of the capture, made before its rings are opened and restored at the
    /// end ([`steering`](crate::steering)). Requires `CAP_NET_ADMIN`. Default: none.
    pub steering: Vec<Setting>,
    /// Give the packets of all interfaces the Linux cooked header (`LINKTYPE_LINUX_SLL2`), which has the interface of
    /// each, instead of their own. Applies to a [`HotplugCapture`](super::super::HotplugCapture). Default: no.
    #[doc(alias = "LINUX_SLL2")]
    pub cooked: bool,
    /// When the capture ends by itself. Default: never.
    pub limits: Limits,
    /// Whether the capture may start threads: one that reads the interface counters, and one for a
    /// [`Control`](super::super::Control). Without them losses of interface and driver are known only when
    /// [`Capture::live`](super::super::Capture::live) is called and at the end, and a packet ring cannot be replaced.
    /// Default: yes.
    pub threads: bool,
    /// Whether the capture outlasts an interface that goes down, and receives from it again when it is up. It ends when the
    /// interface is removed. Applies to packet rings; rejected with several readers of these. Default: no.
    pub outlast_link_down: bool,
    /// Interval of statistics and of [`Consumer::tick`](super::super::Consumer::tick). Default: 1 s.
    pub tick: Duration,
    /// Of each interface: the part of its packets that its packet ring gets.
    pub(in super::super) shares: Vec<ShareOfPackets>,
    /// Longest time for which the kernel lets packets of a packet ring gather. `None`: not at all, because packets of other rings are
    /// sorted by time stamp with these.
    pub(in super::super) gather_in_kernel: Option<Duration>,
    /// What an interface must have before an XDP program is attached to it.
    pub(in super::super) required: Required,
    /// The direction to which the filter of a packet ring narrows `direction`, while `Control` can widen it again. `None`: to none.
    pub(in super::super) narrowed: Option<DirectionFilter>,
    /// The receive queues to read; `None`: all. Applies to AF_XDP sockets.
    pub(crate) queues: Option<Vec<u32>>,
}

/// What an interface must have so that a running capture can read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Required {
    /// Fewest rings.
    pub rings: usize,
    /// Link type (`LINKTYPE_*`); `None`: any.
    pub link_type: Option<u16>,
}

/// The part of an interface's packets that the packet ring of one of several readers gets.
#[derive(Clone, Debug)]
pub struct ShareOfPackets {
    pub share: RingShare,
    /// Number of the ring in the share.
    pub ring: usize,
    /// Readers of the interface, among which its buffer is divided.
    pub readers: NonZeroUsize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        let ring = ring::RingOptions::default();
        Self {
            links: Vec::new(),
            namespace: None,
            filter: None,
            filter_text: None,
            sampling: None,
            socket_ports: None,
            mode: Mode::default(),
            others: UnmatchedAction::default(),
            xdp: XdpAttachMode::NativeOrGeneric,
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
            timestamp_fallback: false,
            device_time: false,
            device_clock: None,
            rx_metadata: None,
            steering: Vec::new(),
            cooked: false,
            limits: Limits::default(),
            threads: true,
            outlast_link_down: false,
            tick: Duration::from_secs(1),
            shares: Vec::new(),
            gather_in_kernel: Some(Duration::MAX),
            required: Required::default(),
            narrowed: None,
            queues: None,
        }
    }
}

macro_rules! setters {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](Self#structfield.", stringify!($name), ").")]
            pub fn $name(mut self, $name: $kind) -> Self {
                self.$name = $name;
                self
            }
        )*
    };
}

macro_rules! optional_setters {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(
            #[doc = concat!("Sets [`", stringify!($name), "`](Self#structfield.", stringify!($name), ").")]
            pub fn $name(mut self, $name: impl Into<Option<$kind>>) -> Self {
                self.$name = $name.into();
                self
            }
        )*
    };
}

impl CaptureOptions {
    setters! {
        links: Vec<String>,
        mode: Mode,
        others: UnmatchedAction,
        xdp: XdpAttachMode,
        promiscuous: bool,
        direction: DirectionFilter,
        snaplen: u32,
        buffer_bytes: usize,
        delivery: DeliveryMode,
        spin: Duration,
        timestamps: TimestampSource,
        timestamp_fallback: bool,
        device_time: bool,
        steering: Vec<Setting>,
        cooked: bool,
        limits: Limits,
        threads: bool,
        outlast_link_down: bool,
        tick: Duration,
    }

    optional_setters! {
        namespace: Namespace,
        filter_text: String,
        sampling: Sampling,
        socket_ports: Arc<SocketPorts>,
        backend: Backend,
        busy_poll: BusyPoll,
        stall: Duration,
    }

    /// Adds an interface to capture from.
    pub fn interface(mut self, name: impl Into<String>) -> Self {
        self.links.push(name.into());
        self
    }

    /// Sets the packets to capture: filter text, a [`Filter`] or a classic program.
    ///
    /// # Errors
    /// The error of the conversion, e.g. where the syntax of the text is wrong.
    pub fn filter<F: TryInto<Filter>>(mut self, filter: F) -> Result<Self, F::Error> {
        self.filter = Some(filter.try_into()?);
        Ok(self)
    }

    /// Sets or removes the filter.
    pub fn with_filter(mut self, filter: impl Into<Option<Filter>>) -> Self {
        self.filter = filter.into();
        self
    }

    /// Ends the capture after `packets` packets.
    pub fn packets(mut self, packets: u64) -> Self {
        self.limits.packets = Some(packets);
        self
    }

    /// Ends the capture after `duration`.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.limits.duration = Some(duration);
        self
    }
}

impl CaptureOptions {
    /// The direction of the packets that are captured at first.
    pub(in super::super) fn first_direction(&self) -> DirectionFilter {
        self.narrowed.unwrap_or(self.direction)
    }

    /// Whether the filter narrows the direction.
    pub(in super::super) fn narrows_direction(&self) -> bool {
        self.first_direction() != self.direction
    }
}

/// When a capture ends by itself: at the limit that is reached first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Packets delivered. Packets in the rings beyond them count as filtered.
    pub packets: Option<u64>,
    /// Time since the capture was opened.
    pub duration: Option<Duration>,
}

/// Rejects options that contradict the mode or the back end.
pub fn check_mode(options: &CaptureOptions) -> Result<(), ModeError> {
    let mode = options.mode;
    if let Some(backend) = options.backend
        && (backend == Backend::Xdp) != (mode == Mode::Drop)
    {
        return Err(ModeError::Backend { backend, mode });
    }
    if options.busy_poll.is_some() && mode != Mode::Drop {
        return Err(ModeError::BusyPoll);
    }
    let is_xdp = mode == Mode::Drop || options.backend == Some(Backend::XdpRingbuf);
    if options.socket_ports.is_some() && is_xdp {
        return Err(ModeError::SocketPorts);
    }
    if options.backend == Some(Backend::XdpRingbuf) {
        return check_mirror(options).map_err(ModeError::Mirror);
    }
    if mode == Mode::Mirror {
        return Ok(());
    }
    if options.first_direction() == DirectionFilter::Out {
        return Err(ModeError::Outgoing);
    }
    if let Some(Filter::Program(_)) = options.filter {
        return Err(ModeError::ClassicProgram);
    }
    Ok(())
}

fn check_mirror(options: &CaptureOptions) -> Result<(), MirrorLimit> {
    if options.first_direction() != DirectionFilter::In {
        return Err(MirrorLimit::Direction);
    }
    if let Some(Filter::Program(_)) = options.filter {
        return Err(MirrorLimit::ClassicProgram);
    }
    let snaplen = options.snaplen;
    if snaplen > RingBufferProgram::MAX_SNAPLEN {
        return Err(MirrorLimit::Snaplen { snaplen });
    }
    Ok(())
}
