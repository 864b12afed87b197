//! What a run is to be.

use std::net::IpAddr;
use std::time::Duration;

use probe::NeighbourPace;

/// How probes leave and answers come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Raw sockets, with a filter in the kernel on type and identifier, of errors on the quoted ones.
    /// Needs `CAP_NET_RAW`.
    Raw,
    /// Probes by raw sockets, answers by a packet ring, with the same filter: for high rates, at a fraction
    /// of the work an answer. The ring is on [`Options::link`], or without one on the interface by which
    /// most targets are reached; raw sockets take answers that come by others, and those that may be fragmented
    /// on their way: of more than 576 bytes, or than the link's MTU where that is less. Needs `CAP_NET_RAW`.
    #[doc(alias = "TPACKET_V3")]
    Ring,
    /// Ping sockets, which the kernel gives the answers to their own probes and nothing else. Needs the
    /// group of the process to be within `net.ipv4.ping_group_range`.
    #[doc(alias = "IPPROTO_ICMP")]
    PingSocket,
}

impl Backend {
    /// Its name in summaries and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Ring => "ring",
            Self::PingSocket => "ping-socket",
        }
    }
}

/// What to send, how fast, and from where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Probes to each target; `None` goes on until it is stopped.
    pub count: Option<u32>,
    /// Time between two probes to one target; the targets are spread evenly over it.
    pub interval: Duration,
    /// Probes a second to all targets, at most. Where it is too low for the interval, that is stretched.
    pub rate_pps: Option<u32>,
    /// Time in which probes to different targets gather to leave one right after the other, 256 at most:
    /// each target keeps its interval, answers are read when the next probes leave, as long as the sockets
    /// have room for them, and the processor has a fraction of the work. It is 250 ms, or a quarter of the
    /// interval where that is less; a link so slow that 256 probes queue there asks for less, and zero spreads
    /// them evenly.
    pub gather: Duration,
    /// Time after which an answer is late.
    pub timeout: Duration,
    /// Time after which nothing more is sent.
    pub duration: Option<Duration>,
    /// Length of the payload, at least [`probe::COOKIE_BYTES`].
    pub payload_bytes: usize,
    /// TTL or hop limit; `None` leaves it to the kernel.
    pub ttl: Option<u8>,
    /// Type of service or traffic class.
    pub tos: u8,
    /// Whether the probes are not to be fragmented by anyone, this host included. Otherwise the kernel does
    /// as it is set (`net.ipv4.ip_no_pmtu_disc`): by default no router fragments them either, and this
    /// host does where it knows the path to be narrow.
    pub dont_fragment: bool,
    /// The address that probes come from, for targets of its family; `None` leaves it to the kernel.
    pub source: Option<IpAddr>,
    /// The interface by which probes leave and answers come; `None` leaves it to the kernel.
    pub link: Option<String>,
    /// How probes leave. `None` takes a ring where the rate is above 20 000 a second, no answer is longer than
    /// a ring takes and an interface can be found for it, raw sockets where they are permitted, and ping sockets else.
    pub backend: Option<Backend>,
    /// Probes a second to one IPv4 /24 or IPv6 /64, at most.
    pub prefix_pps: Option<u32>,
    /// How fast hosts on the link that may be absent are asked for.
    pub neighbours: NeighbourPace,
    /// Keep a histogram of each target.
    pub histograms: bool,
    /// Time between two [`Event::Tick`](super::Event::Tick).
    pub tick: Option<Duration>,
    /// Room for answers that have not been read, for each family.
    pub buffer_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            count: None,
            interval: Duration::from_secs(1),
            rate_pps: Some(10_000),
            gather: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            duration: None,
            payload_bytes: 56,
            ttl: None,
            tos: 0,
            dont_fragment: false,
            source: None,
            link: None,
            backend: None,
            prefix_pps: None,
            neighbours: NeighbourPace::default(),
            histograms: false,
            tick: None,
            buffer_bytes: 32 << 20,
        }
    }
}
