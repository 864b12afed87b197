//! Neighbours: which hardware address an IP address on the link has.

mod header;
mod object;
mod state;
mod verbs;
mod words;

pub(crate) use header::{HEADER_BYTES, Header, Moments};
pub use object::Neigh;
pub use state::NeighState;
