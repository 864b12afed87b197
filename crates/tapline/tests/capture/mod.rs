//! Captures: what they deliver, how they change and end, and their accounts.

mod allocations;
mod changes;
mod conservation;
pub mod drop;
mod ends;
mod links;
mod pull;
pub mod ringbuf;
mod rotation;
