//! Multicast groups that are asked for behind the ports of bridges.

mod entry;
mod group;
mod message;
mod object;
mod source;
mod verbs;
mod words;

pub use group::MdbGroup;
pub use object::{FilterMode, Mdb, MdbFlags, MdbState};
pub use source::{MdbSource, Timer};
