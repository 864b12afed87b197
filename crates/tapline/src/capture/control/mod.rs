//! Changing a capture while it runs: without losing or repeating a packet.

pub mod controller;
pub mod error;
pub mod hand_over;
pub mod handle;
pub mod member;
pub mod messages;
pub mod new_interface;
pub mod pending;
pub mod replacement;
pub mod requested;
pub mod settings;
pub mod shared;
pub mod thread;
