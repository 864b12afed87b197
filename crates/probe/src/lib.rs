//! ICMP echo probing as a state machine: targets, schedule, matching, statistics and packets. Does no I/O.
//!
//! A [`Prober`] decides when to send which probe and classifies what comes back. The caller owns the
//! sockets and the clock. Time is passed in, as nanoseconds since the start of the run.
//!
//! ```text
//!  words ─▶ TargetsBuilder ─▶ Targets ─┐
//!                                      ▼          next, sent, not_sent
//!  ProbePlan ─────────────────────▶ Prober ◀──────────────────────────────▶ sockets,
//!                                      ▲   cookie ─▶ EchoRequest ─▶          clock
//!                                      └── IcmpMessage ◀── parse_ipv4 … ◀──
//! ```
//!
//! Each probe carries a cookie: send time, target, number, and a keyed tag over these. A reply is
//! therefore timed and authenticated without a table of sent probes. Each target takes 64 bytes of
//! statistics and two bits per probe in flight. Every probe ends exactly once, by its first answer or
//! by its timeout: `sent = received + late + errors + lost` ([`ProbeCounts`]).
//!
//! Targets can be added, removed and given other addresses while the run lasts ([`Prober::add_host`],
//! [`Prober::remove_host`], [`Prober::change_address`]).
//!
//! ```
//! use std::net::Ipv4Addr;
//! use tapline_probe::targets::Targets;
//! use tapline_probe::{Classification, EchoReply, IcmpMessage, NextAction, ProbePlan, Prober, RunKey};
//!
//! let host = Ipv4Addr::new(192, 0, 2, 1).into();
//! let plan = ProbePlan { rounds: Some(1), payload_bytes: 16, ..ProbePlan::new(7, RunKey([1, 2])) };
//! let mut prober = Prober::new(&plan, Targets::from(host))?;
//!
//! let NextAction::Send(probe) = prober.next(0) else { panic!("the first probe is due at once") };
//! let payload = prober.cookie(probe, 0);
//! prober.sent(probe, 0);
//! // 30 µs later the host echoes the payload.
//! let reply = EchoReply {
//!     source: host,
//!     hops: None,
//!     identifier: 7,
//!     sequence: probe.sequence(),
//!     intact: true,
//!     payload: &payload,
//! };
//! let class = prober.received(&IcmpMessage::Reply(reply), Some(30_000), 30_000);
//! assert!(matches!(class, Classification::Received { rtt_ns: Some(30_000), .. }));
//! assert_eq!(prober.next(30_000), NextAction::Done);
//! # Ok::<(), tapline_probe::PlanError>(())
//! ```

#![forbid(unsafe_code)]

mod accounts;
mod changes;
mod classification;
mod clock;
mod cookie;
mod forecast;
mod held;
mod host_change;
mod kernel_counters;
mod matching;
mod message;
mod packet;
mod path;
mod plan;
mod probe;
mod prober;
mod results;
mod schedule;
mod settings;
mod statistics;
mod target_plans;
pub mod targets;

pub use accounts::AddressAccount;
pub use classification::{Classification, OtherCounts};
pub use clock::{ClockReading, WallClock};
pub use cookie::{COOKIE_BYTES, MIN_PAYLOAD_BYTES, RunKey};
pub use forecast::Forecast;
pub use host_change::{HostChange, HostChangeKind, RemovedHosts};
pub use message::{EchoReply, IcmpError, IcmpMessage, QuotedProbe};
pub use packet::{EchoRequest, parse_icmpv4, parse_icmpv6, parse_ipv4, parse_ipv6};
pub use path::{BALANCE_BYTES, EcmpPath, MAX_PATHS};
pub use plan::{MAX_NS, MAX_PAYLOAD_BYTES, NeighbourPace, PlanError, ProbePlan, SweepPosition};
pub use probe::Probe;
pub use prober::{NextAction, Prober, SendFailure};
pub use schedule::Permutation;
pub use settings::TargetSettings;
pub use statistics::{
    AnswerCounters, CountedAnswers, Histogram, IcmpErrorKind, MAX_ERROR_KINDS, NetworkError,
    NetworkErrors, ProbeCounts, RttStatistics,
};
