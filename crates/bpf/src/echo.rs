//! ICMP echo in XDP: a program that answers requests.
//!
//! ```text
//! frame ─▶ EchoResponder ─ request to an own address, whole, correct ─▶ answered (XDP_TX), or dropped above the limit
//!                        └ anything else ─▶ network stack
//! ```

mod code;
mod respond;
mod responder;

pub use responder::{EchoAnswerCounts, EchoResponder, EchoResponderOptions};
