//! `tapline flows`: turns packets into flows.
//!
//! ```text
//! files, rings ─▶ FlowMeter ─▶ Printer ─▶ text, JSON Lines, CSV
//!                     └─▶ metrics
//! ```

mod fields;
mod job;
mod print;
mod summary;

pub use job::run;
