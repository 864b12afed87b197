//! ICMP echo in XDP: a program that answers requests, and programs that send requests and count replies.
//!
//! ```text
//! frame ─▶ EchoResponder ─ request to an own address, whole, correct ─▶ answered (XDP_TX), or dropped above the limit
//!                        └ anything else ─▶ network stack
//!
//! EchoProber:  targets and numbers ─▶ program of a test run: frame, stamp, tag ─▶ driver
//!              counters, histogram ◀─ program on the interface: verifies, times, drops ◀─ replies
//! ```

mod code;
mod counters;
mod family;
mod layout;
mod prober;
mod reply;
mod request;
mod respond;
mod responder;
mod single;
mod statistics;
mod tag;

pub use counters::{EchoCounters, EchoTarget};
pub use prober::{EchoError, EchoProber, EchoProberError, EchoProberOptions, EchoTotals};
pub use responder::{EchoAnswerCounts, EchoResponder, EchoResponderOptions};
