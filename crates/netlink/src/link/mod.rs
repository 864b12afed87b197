//! Links: what they are, and how they are asked for, made, changed and removed.

mod change;
mod flags;
mod header;
mod parse;
mod query;
mod statistics;
mod veth;

pub use change::LinkChange;
pub use flags::{LinkFlags, OperState};
pub use parse::Link;
pub(crate) use parse::link_message;
pub use statistics::LinkStatistics;
pub use veth::{Veth, VethEnd};
