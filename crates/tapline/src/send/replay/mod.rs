//! Recorded packets, sent again: capture files as a source, and which side of a recording sent a packet.

mod clients;
mod recording;
mod roles;

pub use clients::Clients;
pub use recording::{Replay, ReplayError};
pub use roles::FlowRoles;
