//! When packets are sent: their planned times, and how a thread waits for them.

mod idle;
mod pacer;
mod schedule;

pub use pacer::{Pacer, is_stopped, pause};
pub use schedule::{Rate, Schedule};
