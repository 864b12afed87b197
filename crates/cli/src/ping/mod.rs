//! `tapline ping`.
//!
//! ```text
//! flags ─▶ list, setup ─▶ Pinger ─▶ events ─▶ watch ─▶ a Teller: lines like ping's, fping's, JSON, CSV,
//!                                   Outcome ─▶ figures ─▶ its summary      or a live table
//! ```

mod csv;
mod distribution;
mod dry_run;
mod failure;
mod figures;
mod flight;
mod job;
mod json;
mod like_fping;
mod like_ping;
mod lines;
mod list;
mod live;
mod memory;
mod milliseconds;
mod names;
mod network_words;
mod setup;
mod sidelines;
mod status;
mod teller;
mod totals;

pub use figures::{address, name};
pub use job::run;
