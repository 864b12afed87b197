//! Extended counters of links.

mod counters;
mod object;

pub use counters::{MulticastStatistics, StpStatistics};
pub use object::{BondStatistics, BridgeStatistics, KindStatistics, LacpStatistics, Stats};
