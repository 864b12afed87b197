//! Capture files: opening, reading and writing them.

pub mod dump;
pub mod header;
pub mod offline;
pub mod open;
