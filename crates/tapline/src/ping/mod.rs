//! Ping one host or a million, and account for every probe.
//!
//! ```
//! use std::time::Duration;
//!
//! let mut ping = tapline::ping("127.0.0.1 127.0.0.8/30")
//!     .count(3)
//!     .interval(Duration::from_millis(20))
//!     .timeout(Duration::from_millis(500))
//!     .open()?;
//! while let Some(event) = ping.next()? {
//!     if let Some(rtt) = event.rtt() {
//!         println!("{rtt:?}");
//!     }
//! }
//! let summary = ping.finish()?;
//! let total = summary.statistics.total();
//! assert_eq!(total.sent, total.received + total.lost + total.late + total.errors);
//! println!("{summary}");
//! # Ok::<(), tapline::ping::PingError>(())
//! ```
//!
//! ```text
//! targets, PingOptions ─▶ PingBuilder ─▶ Ping ─▶ PingEvent: sent, answer, lost …   ─▶ PingSummary
//!                                        │  ▲
//!                           echo request ▼  │ replies, filtered and stamped by the kernel
//!                                     sockets of a Backend
//! ```
//!
//! [`ping`] returns a [`PingBuilder`] with a setter for each of [`PingOptions`]. The [`Ping`] it opens is read
//! with [`Ping::next`], run with a closure ([`Ping::run`]), or driven by an event loop (`AsFd` and
//! [`Ping::next_batch`]). [`Ping::statistics`] has the counters and round-trip times of each target while it runs.
//!
//! # Targets that change
//!
//! [`PingOptions::resolve_every`] follows names whose addresses change, and [`Ping::control`] returns a handle that adds
//! and removes targets from any thread. Each change is an event, and each probe belongs to the account of one address
//! ([`Prober::accounts`]).
//!
//! ```no_run
//! # // Not run: it needs a resolver, and runs until it is stopped.
//! use std::time::Duration;
//!
//! use tapline::ping::SystemResolver;
//! use tapline::ping::targets::TargetsBuilder;
//!
//! let mut builder = TargetsBuilder::default().follow_names();
//! if builder.add("host.example", &mut SystemResolver::default()).is_err() {
//!     // It is pinged as soon as it has an address.
//!     builder.add_unresolved("host.example");
//! }
//! let mut ping = tapline::ping(builder.build()?)
//!     .resolve_every(Duration::from_secs(60))
//!     .both_families(true)
//!     .open()?;
//! let control = ping.control();
//! std::thread::spawn(move || {
//!     let mut more = TargetsBuilder::default();
//!     more.add("192.0.2.0/28", &mut SystemResolver::default())?;
//!     control.add(more.build()?)
//! });
//! ping.run(|event, _| println!("{event}"))?;
//! # Ok::<(), tapline::ping::PingError>(())
//! ```
//!
//! # Targets with settings of their own
//!
//! [`TargetSettings`] give a target its own count, interval, timeout and payload. The options of the run are the bounds: its
//! interval is the time between two rounds, in each of which a target is probed at most once.
//!
//! ```
//! use std::time::Duration;
//!
//! use tapline::ping::targets::{NoResolver, TargetsBuilder};
//! use tapline::ping::{PingEvent, TargetSettings};
//!
//! let mut builder = TargetsBuilder::default();
//! builder.add("127.0.0.1", &mut NoResolver)?;
//! let three = TargetSettings::default().count(3).interval(Duration::from_millis(20));
//! let mut ping = tapline::ping(builder.build()?.with_settings(three))
//!     .interval(Duration::from_millis(10))
//!     .open()?;
//! while let Some(event) = ping.next()? {
//!     // Others can be added with `ping.control()`, and those that have ended removed.
//!     if let PingEvent::Ended { target } = event {
//!         println!("{:?}", ping.statistics().rtt(target));
//!         break;
//!     }
//! }
//! assert_eq!(ping.statistics().counts(0).sent, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Accuracy
//!
//! A round trip ends at the kernel's time stamp of the reply, no matter when the reply is read. It starts when the
//! driver takes the probe, if asking the kernel for that is cheap enough: raw and ping sockets up to 20 000 probes
//! per second. In groups of more than 64 probes ([`PingOptions::gather`]) only the first four are stamped by the
//! kernel. All other round trips start at a clock read just before the system call. [`PingSummary`] counts
//! which clock stamped how many probes and replies.

mod backends;
mod builder;
mod changes;
mod engine;
mod error;
mod event;
mod handle;
mod options;
mod resolver;
mod respond;
mod route;
mod socket;
mod summary;
mod xdp;

pub use builder::{IntoTargets, PingBuilder, forecast_with_limits, ping, ping_once};
pub use changes::TargetControl;
pub use error::{PingError, PingOperation, XdpRefusal};
pub use event::{AnswerMessage, PingEvent, TargetChange};
pub use handle::Ping;
pub use options::{Backend, PingOptions};
pub use resolver::{LookupFailure, SystemResolver};
pub use respond::{RespondError, RespondOptions, RespondSummary, Responder, respond};
pub use route::source_address;
pub use summary::{
    Ended, LocalDrops, PingRate, PingSummary, RateLimit, TimestampCounts, TimestampSource,
};

pub use probe::{
    AddressAccount, BALANCE_BYTES, COOKIE_BYTES, Classification, EcmpPath, Forecast, Histogram,
    IcmpErrorKind, MAX_PATHS, MAX_PAYLOAD_BYTES, MIN_PAYLOAD_BYTES, NeighbourPace, NetworkError,
    NetworkErrors, OtherCounts, Probe, ProbeCounts, Prober, RemovedHosts, RttStatistics,
    SweepPosition, TargetSettings,
};

pub use bpf::{EchoAnswerCounts, XdpAttachMode};

/// Lists of targets: host names, addresses, prefixes and ranges.
pub use probe::targets;

/// The state machine behind [`Ping`], without sockets and clocks: for simulators and tests.
pub mod machine {
    pub use probe::{
        EchoReply, EchoRequest, IcmpError, IcmpMessage, NextAction, ProbePlan, QuotedProbe, RunKey,
        SendFailure,
    };
}
