//! Capture, count, send, measure and ping: the jobs of tapline as a library.
//!
//! | job | |
//! |---|---|
//! | [`capture`](mod@capture) | delivers the packets of interfaces to a loop, a function or a file and accounts for every packet |
//! | [`read`](mod@read) | filters, merges, converts and [analyzes](analysis) capture files |
//! | [`count`](mod@count) | has the kernel count the packets of named classes, without copying them |
//! | [`flows`](mod@flows) | assigns packets to flows in both directions, with TCP analysis, and accounts for every packet |
//! | `columns` | writes packets and flows as Parquet and Arrow; with the feature `columns` |
//! | [`send`](mod@send) | sends packets, send queues and capture files, at a rate or at recorded times |
//! | [`ping`](mod@ping) | pings many hosts and accounts for every probe |
//! | [`latency`](mod@latency) | measures the time from the kernel's time stamp of a packet to its delivery |
//! | [`net`](mod@net) | configures links, addresses, routes and more through netlink |
//! | [`rpcap`] | captures on other hosts by libpcap's remote protocol, and serves captures to them |
//! | [`filter`] | explains, shows and runs a filter without a capture |
//! | [`doctor`] | diagnoses what makes these slow or inaccurate on a host |
//!
//! A job starts with a function of its name, which returns a builder with defaults:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut capture = tapline::capture("lo").filter("udp port 4430")?.packets(10).open()?;
//! # let traffic = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! # for _ in 0..10 {
//! #     traffic.send_to(b"hello", "127.0.0.1:4430")?;
//! # }
//! while let Some(packet) = capture.next()? {
//!     println!("{} {}", packet.time(), packet.len());
//! }
//! println!("{}", capture.finish()?);
//! # Ok(())
//! # }
//! ```
//!
//! `next` waits for the next packet or event, `next_batch` with a timeout. An event loop polls the job's
//! file descriptor (`AsFd`). `run` calls a closure instead. `finish` returns the summary.
//!
//! A job runs in the thread that calls it, sleeps in the kernel while nothing happens, and ends in order
//! when its [`Stopper`] says so. Jobs return values. They never print, log or exit.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod capture;
#[cfg(feature = "columns")]
pub mod columns;
mod compiled_filter;
pub mod control;
pub mod count;
pub mod doctor;
pub mod flows;
pub mod hwtstamp;
pub mod irq;
mod key_log;
pub mod latency;
mod names;
pub mod net;
pub mod packet;
mod packet_filter;
pub mod ping;
mod precise_wakeup;
pub mod read;
mod record_file;
mod route_watch;
pub mod rpcap;
pub mod send;
pub mod steering;
mod stop;
mod timer;
mod uplink;
mod wait;
pub mod who;

pub use capture::{Capture, CaptureError, CaptureOptions, CaptureSummary, capture};
pub use count::count;
pub use latency::latency;
pub use net::{Namespace, NamespaceError, NamespaceId, net};
pub use packet::{Packet, Timestamp};
pub use packet_filter::{Expression, Filter};
pub use ping::ping;
#[doc(inline)]
pub use read::read;
pub use send::send;
pub use stop::{Stop, Stopper};

/// Filters of pcap-filter(7): compile, run, show and explain them.
///
/// ```
/// use tapline::filter::{CompiledFilter, FilterOptions, LinkType, NoNames};
/// # use tapline::packet::{MacAddress, build::Frame};
///
/// let options = FilterOptions::new(LinkType::Ethernet);
/// let filter = CompiledFilter::new("udp port 53 and not host 10.0.0.9", &options, &NoNames)?;
/// println!("{} instructions of classic BPF", filter.classic()?.instructions().len());
///
/// # let mac = MacAddress([2, 0, 0, 0, 0, 1]);
/// # let frame = |from: [u8; 4]| {
/// #     Frame::ethernet(mac, mac).ipv4(from.into(), [10, 0, 0, 2].into()).udp(5000, 53).payload(b"?")
/// # };
/// # let (from_1, from_9) = (frame([10, 0, 0, 1]), frame([10, 0, 0, 9]));
/// // The result is the number of bytes to keep, 0 to reject.
/// let program = filter.native()?;
/// assert!(program.run(&from_1, from_1.len() as u32) > 0);
/// assert_eq!(program.run(&from_9, from_9.len() as u32), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A job takes a [`Filter`] and compiles it itself. This module compiles a filter by hand, to
/// show the program, to run it, or to explain its verdict on a packet.
pub mod filter {
    pub use crate::names::SystemNames;
    pub use ::filter::Filter as CompiledFilter;
    pub use ::filter::{
        DEFAULT_SNAPLEN, DotListing, ExplainedTerm, Explanation, FilterError, FilterErrorReason,
        FilterOptions, FilterTarget, FilterWarning, GraphListing, LinkType, LoopbackFamilies,
        MAX_TEXT_BYTES, NameResolver, NoNames, RequiredKeys, TermResult, Transport, TreeListing,
        check_syntax, classic, compile, ebpf, native, required_keys, similar_word,
    };
}

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use abi::attacker;
#[doc(hidden)]
pub use abi::{seccomp, signal, user};

/// Capture files: readers, writers, rotation, compression.
///
/// [`read`](mod@crate::read) and [`capture`](mod@crate::capture) use them. Use them directly to write packets of
/// your own.
pub mod file {
    pub use store::*;
}
