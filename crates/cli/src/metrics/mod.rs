//! `--metrics`: the counters of a job for Prometheus, in OpenMetrics text over HTTP.
//!
//! ```text
//! scraper ─▶ Server: one thread ─▶ Connection ─▶ request ─▶ answer ◀─ text ◀─ Family ◀─ counters of the job
//! ```
//!
//! The thread reads counters that the job publishes anyway. The job never waits for it. Lifetime, request size and
//! number of connections are limited.

mod board;
mod capture;
mod count;
mod family;
mod ping;
mod request;
mod send;
mod server;

pub use board::{Board, ticks};
pub use capture::families as capture_families;
pub use count::families as count_families;
pub use family::{Family, Sample, Samples};
pub use ping::{ChangeCounts, MOST_TARGETS as MOST_PING_TARGETS, families as ping_families};
pub use send::families as send_families;
pub use server::{Server, address};
