//! Which process sent a packet.

mod container;
mod finder;
mod processes;

pub use finder::{PacketProcess, ProcessCounts, ProcessFinder};
pub use store::model::Process;
