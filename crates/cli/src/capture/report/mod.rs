//! What a capture reports: at its start, while it runs, and at its end.

pub mod account;
pub mod progress;
pub mod stamps;
pub mod start;
pub mod summary;
