//! Rules: which table of routes a packet is looked up in.

mod object;
mod range;
mod verbs;
mod words;

pub use object::{Rule, RuleAction};
pub use range::Range;
