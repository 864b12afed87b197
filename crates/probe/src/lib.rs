//! ICMP probing as a state machine, its targets, and its packets. Nothing here does input or output.
//!
//! A [`Prober`] says when to ask whom, and judges what comes back; whoever has sockets and a clock
//! carries its messages. Time is passed in, as nanoseconds since the run began.
//!
//! ```text
//!  words ─▶ targets::Builder ─▶ Targets ─┐
//!                                        ▼          next, sent, dropped
//!  Plan ──────────────────────────▶ Prober ◀──────────────────────────────▶ sockets
//!                                        ▲   cookie ─▶ EchoMessage ─▶        clock
//!                                        └── Message ◀── read_ipv4 … ◀──
//! ```
//!
//! Each probe carries a cookie: when it was sent, to whom, which it is, and a keyed tag over that. So
//! an answer is timed and believed without a table of what was sent; per target there are 64 bytes of
//! statistics and two bits for each probe in flight. Every probe ends once, by its first answer or by its
//! time: `sent = received + late + errors + lost` ([`Counts`]).
//!
//! ```
//! use std::net::Ipv4Addr;
//! use tapline_probe::targets::Targets;
//! use tapline_probe::{Key, Message, Plan, Prober, Reply, Step, Verdict};
//!
//! let host = Ipv4Addr::new(192, 0, 2, 1).into();
//! let plan = Plan { rounds: Some(1), payload_bytes: 16, ..Plan::new(7, Key([1, 2])) };
//! let mut prober = Prober::new(&plan, Targets::from(host))?;
//!
//! let Step::Send(probe) = prober.next(0) else { panic!("the first is due at once") };
//! let payload = prober.cookie(probe, 0);
//! prober.sent(probe, 0);
//! // 30 µs later the host answers with what it was sent.
//! let reply = Reply {
//!     source: host,
//!     hops: None,
//!     identifier: 7,
//!     sequence: probe.sequence(),
//!     intact: true,
//!     payload: &payload,
//! };
//! let verdict = prober.received(&Message::Reply(reply), Some(30_000), 30_000);
//! assert!(matches!(verdict, Verdict::Received { rtt_ns: Some(30_000), .. }));
//! assert_eq!(prober.next(30_000), Step::Done);
//! # Ok::<(), tapline_probe::PlanError>(())
//! ```

#![forbid(unsafe_code)]

mod machine;
mod packet;
pub mod targets;

pub use machine::*;
pub use packet::*;
