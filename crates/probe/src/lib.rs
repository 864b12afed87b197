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
//! statistics and a bit for each probe in flight. Every probe ends once, by its first answer or by its
//! time: `sent = received + late + errors + lost` ([`Counts`]).

#![forbid(unsafe_code)]

mod machine;
mod packet;
pub mod targets;

pub use machine::*;
pub use packet::*;
