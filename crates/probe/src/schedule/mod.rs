//! When each probe is sent: order, pace, limits, back-off, and when its timeout is over.

mod deferred;
mod epochs;
mod expiry;
mod permutation;
pub(crate) mod rate_limits;
mod slots;

pub(crate) use expiry::Expiry;
pub use permutation::Permutation;
pub(crate) use slots::{IssuedSlot, Schedule, Step};
