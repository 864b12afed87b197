//! The options of a ping run.

use std::net::IpAddr;
use std::time::Duration;

use probe::{NeighbourPace, SweepPosition};

use crate::send::SendPath;

/// How probes are sent and replies received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Raw sockets with an in-kernel filter on ICMP type and identifier. Requires `CAP_NET_RAW`.
    Raw,
    /// Probes by raw sockets, replies by a packet ring with the same filter: a fraction of the work per reply at high
    /// rates. The ring is on [`PingOptions::interface`], or on the interface that reaches most targets. Raw sockets
    /// receive replies on other interfaces, and replies that may be fragmented: longer than 576 bytes, or than
    /// the MTU of the interface. Requires `CAP_NET_RAW`.
    #[doc(alias = "TPACKET_V3")]
    Ring,
    /// Ping sockets, which receive only replies to their own probes. Requires a process group within
    /// `net.ipv4.ping_group_range`.
    #[doc(alias = "IPPROTO_ICMP")]
    PingSocket,
    /// Probes as XDP live frames or by AF_XDP ([`PingOptions::send_path`]), replies counted by an XDP program on [`PingOptions::interface`], or on the interface that
    /// reaches most targets. Neither reaches user space: there is no event for a probe or a reply, and counters change at
    /// each [`PingEvent::Tick`](super::PingEvent::Tick). Which probe an answer belongs to is not reported: a target has at most
    /// as many probes in flight as have not timed out, and its other probes without an answer are lost. Requires
    /// an Ethernet interface, `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`; for live frames also Linux 5.18, `CAP_SYS_ADMIN`, and
    /// a driver that sends XDP frames (a veth interface does while its peer has an XDP program or GRO); for AF_XDP Linux
    /// 5.12 and `CAP_NET_RAW`. An interface of a VLAN sends through its lower interface.
    #[doc(alias = "BPF_F_TEST_XDP_LIVE_FRAMES")]
    Xdp,
}

impl Backend {
    /// The name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Ring => "ring",
            Self::PingSocket => "ping-socket",
            Self::Xdp => "xdp",
        }
    }
}

/// What to send, how fast, and from where. [`PingBuilder`](super::PingBuilder) has a setter for each field.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub struct PingOptions {
    /// Probes to each target; `None` continues until stopped. Default: `None`.
    pub count: Option<u32>,
    /// Time between two probes to one target. Targets are spread evenly over it. Default: 1 s.
    pub interval: Duration,
    /// Maximum probes per second to all targets together. If it is too low for the interval, the interval is
    /// extended. Default: 10 000.
    pub rate_pps: Option<u32>,
    /// Probes to different targets that are due within this time are sent together, up to 256. Each target keeps
    /// its interval, and the CPU load falls to a fraction. Limited to a quarter of the interval. Use less
    /// on a link so slow that 256 probes queue; zero spreads probes evenly. Default: 250 ms.
    pub gather: Duration,
    /// Time after which a reply is late. Default: 1 s.
    pub timeout: Duration,
    /// Time after which no more probes are sent. Default: `None`.
    pub duration: Option<Duration>,
    /// Replies that end the run with [`Backend::Xdp`], which has no event for each; an ICMP error ends it too. Other back ends
    /// ignore this: stop them at an event. Default: `None`.
    pub max_replies: Option<u64>,
    /// Payload length, at least [`MIN_PAYLOAD_BYTES`](super::MIN_PAYLOAD_BYTES), 3. Default: 56.
    ///
    /// With fewer bytes than [`COOKIE_BYTES`](super::COOKIE_BYTES), 16, the send time of each probe in flight is kept here, at
    /// least 512 bytes a target, and the tag that proves a reply is shorter: [`Prober::tag_bytes`](super::Prober::tag_bytes).
    /// [`Backend::Xdp`] requires 16 bytes.
    pub payload_bytes: usize,
    /// TTL or hop limit; `None` uses the kernel's default.
    pub ttl: Option<u8>,
    /// Type of service or traffic class. Default: 0.
    pub tos: u8,
    /// Forbid fragmentation of probes, on this host too. Otherwise `net.ipv4.ip_no_pmtu_disc` applies: by default
    /// routers do not fragment probes, and this host does if it knows a smaller path MTU.
    pub dont_fragment: bool,
    /// Source address of probes to targets of its family; `None` lets the kernel choose.
    pub source: Option<IpAddr>,
    /// Interface to send and receive on; `None` lets the kernel route.
    pub interface: Option<String>,
    /// How to send and receive. `None` selects a ring if the rate exceeds 20 000 per second, replies are short
    /// enough and an interface is found; else raw sockets if permitted; else ping sockets.
    pub backend: Option<Backend>,
    /// How requests of [`Backend::Xdp`] leave. [`SendPath::LiveFrames`]: a program stamps them. [`SendPath::Xdp`]: they are
    /// stamped here, at most 16 at once; works with every driver, at a lower rate. [`SendPath::Auto`] uses live frames if the
    /// driver says that it sends them, which it does since Linux 6.3. Others are refused. Default: [`SendPath::Auto`].
    pub send_path: SendPath,
    /// Maximum probes per second to one IPv4 /24 or IPv6 /64. Default: `None`.
    pub prefix_pps: Option<u32>,
    /// Pace for on-link targets that have not answered yet.
    pub neighbours: NeighbourPace,
    /// Continue an earlier run with one probe to each target, which ended at this position
    /// ([`Prober::position`](super::Prober::position)). The targets must be the same. Default: `None`.
    pub resume: Option<SweepPosition>,
    /// Keep a histogram for each target: 864 bytes, or 1728 with [`Backend::Xdp`], which keeps none with one probe to each
    /// target. Default: false.
    pub histograms: bool,
    /// Paths to each host, at most [`MAX_PATHS`](super::MAX_PATHS). Each path is a target of its own
    /// ([`Targets::with_paths`](super::targets::Targets::with_paths)), which is probed at the interval.
    ///
    /// The probes of a path have the same IPv6 flow label and the same ICMP checksum ([`EcmpPath`](super::EcmpPath)), so
    /// routers with several equal-cost paths send them the same way. Different paths have different ones. Requires a
    /// payload of 18 bytes; for IPv6 Linux 5.3, which accepts flow labels that were not registered. Default: `None`, probes are not assigned to paths.
    pub paths: Option<u8>,
    /// Time after which names are looked up again, on a thread of their own, up to 32 at a time. Default: `None`.
    ///
    /// A name keeps its target when its address changes. It keeps its address as long as that is among its addresses. If
    /// the resolver says that the name does not exist, or has no address that is accepted, no probe is sent until it
    /// has one. If the resolver does not answer, the known address is pinged.
    ///
    /// To start with names that have no address yet, build the list with
    /// [`TargetsBuilder::follow_names`](super::targets::TargetsBuilder::follow_names) and
    /// [`TargetsBuilder::add_unresolved`](super::targets::TargetsBuilder::add_unresolved).
    pub resolve_every: Option<Duration>,
    /// Open sockets for both address families, for targets that are added later. Default: false. With
    /// [`PingOptions::resolve_every`] this is done anyway.
    pub both_families: bool,
    /// Time between two [`PingEvent::Tick`](super::PingEvent::Tick). Default: no ticks.
    pub tick: Option<Duration>,
    /// How long after its probe a reply may be reported, at most half of the timeout. [`Ping::run`](super::Ping::run)
    /// then reads the replies to up to eight probes at once, which saves CPU time. The kernel has stamped them
    /// already, so round trips do not change; but if the wall clock is set, all unread replies are untimed.
    /// Default: zero.
    pub max_wait: Duration,
    /// Socket or ring buffer for unread replies, per address family. Default: 32 MiB.
    pub buffer_bytes: usize,
    /// Targets that can be added while a run with [`Backend::Xdp`] lasts; other back ends have room for any number. Each takes
    /// at least 136 bytes. There is room for fewer at high rates: the windows of spare targets, 8 bytes for each probe within
    /// twice the timeout, take at most 8 MiB. A run with one probe to each target accepts none. Default: 1024.
    pub spare_targets: u32,
    /// Send more than 10 000 probes per second with [`Backend::Xdp`] on an uplink: an interface that carries a unicast route to a
    /// range wider than 10.0.0.0/8 or fc00::/7, such as a default route, or that is stacked with one that does. If it becomes
    /// one while the run lasts, the rate is limited. Default: false.
    pub allow_uplink: bool,
}

impl Default for PingOptions {
    fn default() -> Self {
        Self {
            count: None,
            interval: Duration::from_secs(1),
            rate_pps: Some(10_000),
            gather: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            duration: None,
            max_replies: None,
            payload_bytes: 56,
            ttl: None,
            tos: 0,
            dont_fragment: false,
            source: None,
            interface: None,
            backend: None,
            send_path: SendPath::Auto,
            prefix_pps: None,
            neighbours: NeighbourPace::default(),
            resume: None,
            histograms: false,
            paths: None,
            resolve_every: None,
            both_families: false,
            tick: None,
            max_wait: Duration::ZERO,
            buffer_bytes: 32 << 20,
            spare_targets: 1024,
            allow_uplink: false,
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
