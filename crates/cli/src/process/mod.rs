//! The process: its capabilities, user, signals and memory, and the second processes that it starts for itself.

pub mod clsact_guard;
pub mod memory;
pub mod privilege;
pub mod process_helper;
pub mod signals;
pub mod user;
