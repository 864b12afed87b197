//! `tapline flows`: turns packets into flows.
//!
//! ```text
//! files, rings ─▶ FlowMeter ─▶ Printer ─▶ text, JSON Lines, CSV
//!                     │         ├▶ Collector ─▶ IPFIX
//!                     │         └▶ FlowColumns ─▶ Parquet, Arrow
//!                     └─▶ metrics
//! ```

mod connection;
mod fields;
mod ipfix;
mod job;
mod outputs;
mod print;
mod summary;

pub use ipfix::{CollectorAddress, collector};
pub use job::run;
