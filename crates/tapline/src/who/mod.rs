//! Which process sent a packet.

mod container;
mod finder;
mod helper;
mod processes;

pub use finder::{PacketProcess, ProcessCounts, ProcessFinder};
pub use helper::{ProcessHelper, serve_processes};
pub use store::model::Process;
