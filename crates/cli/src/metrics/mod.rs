//! `--metrics`: a job's counters for Prometheus, in the text of OpenMetrics, over HTTP.
//!
//! ```text
//! scraper ─▶ Server: one thread ─▶ Connection ─▶ request ─▶ answer ◀─ text ◀─ Family ◀─ the job's counters
//! ```
//!
//! The thread reads counters that the job publishes anyhow; the job never waits for it. Whoever is
//! connected has so much time, may say so much, and shares the thread with so many others.

mod address;
mod board;
mod capture;
mod connection;
mod count;
mod family;
mod ping;
mod request;
mod server;
mod ticks;

pub use address::address;
pub use board::Board;
pub use capture::families as capture_families;
pub use count::families as count_families;
pub use ping::{MOST_TARGETS as MOST_PING_TARGETS, families as ping_families};
pub use server::Server;
pub use ticks::ticks;
