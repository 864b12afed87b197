//! The options of a send job.

use std::num::NonZeroUsize;

use netlink::Namespace;
use store::model::LinkType;

use super::timing::Rate;

/// How packets reach the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendPath {
    /// The fastest of the others that the device supports: [`LiveFrames`](Self::LiveFrames), [`Xdp`](Self::Xdp) or
    /// [`Bypass`](Self::Bypass); at a rate always [`Bypass`](Self::Bypass).
    #[default]
    Auto,
    /// XDP frames, redirected to the driver without socket buffers. The driver must support it; a veth interface does
    /// while its peer has an XDP program or GRO. Frames up to 3328 bytes. Requires Linux 5.18.
    #[doc(alias = "BPF_F_TEST_XDP_LIVE_FRAMES")]
    LiveFrames,
    /// An AF_XDP socket; the kernel copies each packet. Works with every driver. Requires Linux 5.4.
    #[doc(alias = "XDP_COPY")]
    Xdp,
    /// An AF_XDP socket whose memory the device reads. While it is open, the device receives nothing on the queue that
    /// it uses: [`Auto`](Self::Auto) never chooses it.
    #[doc(alias = "XDP_ZEROCOPY")]
    XdpZeroCopy,
    /// A packet socket that skips the queueing discipline.
    #[doc(alias = "PACKET_QDISC_BYPASS")]
    Bypass,
    /// A packet socket through the queueing discipline, as other programs send.
    Qdisc,
    /// As [`Qdisc`](Self::Qdisc), with the planned time of each packet, at which the queueing discipline sends it: `fq` or
    /// `etf`, at the root of the interface or on each of its queues (`mq`, `mqprio`, `multiq`). At [`Rate::Max`] nothing is
    /// planned. Requires Linux 4.19.
    #[doc(alias = "SO_TXTIME")]
    Timed,
    /// As [`XdpZeroCopy`](Self::XdpZeroCopy), with the planned time of each packet, at which the device sends it. The clock
    /// of the device must run in TAI, as ptp4l(8) sets it. Requires Linux 6.14 and a driver with launch times.
    #[doc(alias = "XDP_TXMD_FLAGS_LAUNCH_TIME")]
    XdpTimed,
}

impl SendPath {
    /// All paths.
    pub const ALL: [Self; 8] = [
        Self::Auto,
        Self::LiveFrames,
        Self::Xdp,
        Self::XdpZeroCopy,
        Self::XdpTimed,
        Self::Bypass,
        Self::Qdisc,
        Self::Timed,
    ];

    /// Its name, as `tapline send --path` takes it: `auto`, `live-frames`, `xdp`, `xdp-zerocopy`, `xdp-txtime`, `bypass`,
    /// `qdisc` or `txtime`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::LiveFrames => "live-frames",
            Self::Xdp => "xdp",
            Self::XdpZeroCopy => "xdp-zerocopy",
            Self::XdpTimed => "xdp-txtime",
            Self::Bypass => "bypass",
            Self::Qdisc => "qdisc",
            Self::Timed => "txtime",
        }
    }
}

/// What happens to frames that are longer than the interface allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LongFrames {
    /// The job ends with [`SendError::TooLong`](super::SendError::TooLong).
    #[default]
    Refuse,
    /// They are cut to the longest frame that the interface takes.
    Truncate,
    /// They are not sent, and counted.
    Skip,
}

/// What to send on, and how. [`open`](Self::open) starts the job.
///
/// ```no_run
/// # // Not run: it needs an interface to send on at full speed.
/// let mut sender = tapline::send("veth0").open()?;
/// sender.inject(&[0xff; 60])?;
/// println!("{}", sender.finish()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "nothing is sent before `open`"]
pub struct SendOptions {
    /// Name of the interface.
    pub link: String,
    /// Name of a second interface, for packets of [`SendQueue::push_second`](super::SendQueue::push_second) and the
    /// servers' side of a [split replay](super::Replay::split). Both keep one schedule and the order of the packets; so
    /// [`SendPath::Auto`] is [`SendPath::Bypass`]. Default: none.
    pub second_link: Option<String>,
    /// The network namespace of the interface. Default: that of the thread that opens the job.
    pub namespace: Option<Namespace>,
    /// How fast to send. Default: [`Rate::Max`].
    pub rate: Rate,
    /// How packets reach the device. Default: [`SendPath::Auto`].
    pub path: SendPath,
    /// Threads that send the packets of a [source](super::Sender::run), each from a CPU of its own. Packets of one flow
    /// (addresses, protocol and ports) keep their order, others do not. One with a second interface. Default: 1.
    pub threads: NonZeroUsize,
    /// What happens to frames above the MTU. Default: the job ends.
    pub long_frames: LongFrames,
    /// Send on an uplink: an interface that carries a route wider than 10.0.0.0/8 or fc00::/7, such as a default route, or that is
    /// stacked with such an interface. Otherwise a job whose interface becomes an uplink ends with
    /// [`SendError::BecameUplink`](super::SendError::BecameUplink). Default: no.
    pub allow_uplink: bool,
    /// End after so many packets. Default: never.
    pub packets: Option<u64>,
    /// The link type of the packets: an interface of another one is refused. [`Generator`](super::Generator) and
    /// [`Replay`](super::Replay) make Ethernet frames (1). Default: that of the interface.
    pub link_type: Option<LinkType>,
}

/// Configures a job that sends on interface `interface`; [`open`](SendOptions::open) starts it.
pub fn send(interface: impl Into<String>) -> SendOptions {
    SendOptions {
        link: interface.into(),
        second_link: None,
        namespace: None,
        rate: Rate::Max,
        path: SendPath::default(),
        threads: NonZeroUsize::MIN,
        long_frames: LongFrames::default(),
        allow_uplink: false,
        packets: None,
        link_type: None,
    }
}

impl SendOptions {
    /// Sets [`second_link`](Self#structfield.second_link).
    pub fn second_link(mut self, interface: impl Into<Option<String>>) -> Self {
        self.second_link = interface.into();
        self
    }

    /// Sets [`namespace`](Self#structfield.namespace).
    pub fn namespace(mut self, namespace: impl Into<Option<Namespace>>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets [`rate`](Self#structfield.rate).
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = rate;
        self
    }

    /// Sets [`path`](Self#structfield.path).
    pub fn path(mut self, path: SendPath) -> Self {
        self.path = path;
        self
    }

    /// Sets [`threads`](Self#structfield.threads).
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`long_frames`](Self#structfield.long_frames).
    pub fn long_frames(mut self, long_frames: LongFrames) -> Self {
        self.long_frames = long_frames;
        self
    }

    /// Sets [`allow_uplink`](Self#structfield.allow_uplink).
    pub fn allow_uplink(mut self, allow: bool) -> Self {
        self.allow_uplink = allow;
        self
    }

    /// Sets [`packets`](Self#structfield.packets).
    pub fn packets(mut self, packets: impl Into<Option<u64>>) -> Self {
        self.packets = packets.into();
        self
    }

    /// Sets [`link_type`](Self#structfield.link_type).
    pub fn link_type(mut self, link_type: impl Into<Option<LinkType>>) -> Self {
        self.link_type = link_type.into();
        self
    }
}
