//! Changing a capture while it runs: without losing or repeating a packet.

pub mod change;
pub mod error;
pub mod hand_over;
pub mod handle;
pub mod new_interface;
pub mod pending;
pub mod requested;
pub mod settings;
