//! One mapped file, read by all processors, its packets in their order.
//!
//! ```text
//! file:      | part | part | part | part | part | part | …     threads judge the packets of several
//! threads:     A      A      B      B      A      A            parts each, in turns
//! in order:  ──▶ reader: the packets that pass, and everything that is no packet
//! ```
//!
//! Where a part begins is a guess, from the look of the bytes. It counts only once the part before it
//! has ended exactly there; otherwise the part is read again from the place that is proven. So the
//! result is that of reading from the beginning, whatever the bytes: interfaces, statistics, damage
//! are met by the one [`Reader`](store::read::Reader), at their place.

mod coordinator;
mod pool;
mod receiver;
#[cfg(test)]
mod tests;

pub use coordinator::Sieve;
pub use pool::Plan;
pub use receiver::Receiver;
