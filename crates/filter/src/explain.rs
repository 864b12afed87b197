//! Which term of a filter decided on a packet.

mod evaluate;
mod explanation;
mod marks;

pub use explanation::{Explanation, Outcome, TermOutcome};
