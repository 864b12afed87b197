//! Links: what they are, and how they are spoken of.

mod flags;
mod hardware;
mod header;
mod kind;
mod names;
mod object;
mod shortcuts;
mod statistics;
mod verbs;

pub use flags::{LinkFlags, OperState};
pub use hardware::HardwareAddress;
pub use kind::{Bridge, LinkInfo, LinkKind, Veth, Vlan};
pub use object::Link;
pub use statistics::LinkStatistics;
