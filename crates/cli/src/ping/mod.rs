//! `tapline ping`.
//!
//! ```text
//! flags ─▶ targets, setup ─▶ tapline::ping ─▶ PingEvent ─▶ watch ─▶ a Reporter: ping's or fping's style, JSON, CSV,
//!                                             PingSummary ─▶ figures ─▶ its summary     or a live table
//! ```

mod dry_run;
mod failure;
mod job;
mod live;
mod output;
mod page;
mod reload;
mod respond;
mod setup;
mod sweep_state;
mod target_list;
mod timeline;
mod watch;

pub use job::run;
pub use output::figures::{address, name};
