//! `--metrics`: the counters of a job for Prometheus, in OpenMetrics text over HTTP.
//!
//! ```text
//! scraper ─▶ Server: one thread ─▶ Connection ─▶ request ─▶ answer ◀─ text ◀─ Family ◀─ counters of the job
//! ```
//!
//! The thread reads counters that the job publishes anyway. The job never waits for it. Lifetime, request size and
//! number of connections are limited.

mod capture;
mod count;
mod family;
mod histogram;
mod latency;
mod latest;
mod monitor;
mod ping;
mod read;
mod request;
mod respond;
mod send;
mod serve;
mod server;

pub use capture::families as capture_families;
pub use count::families as count_families;
pub use family::{Counters, Family, Sample};
pub use latency::families as latency_families;
pub use latest::{LatestMetrics, ticks};
pub use monitor::families as monitor_families;
pub use ping::{ChangeCounts, MOST_TARGETS as MOST_PING_TARGETS, families as ping_families};
pub use read::families as read_families;
pub use respond::families as respond_families;
pub use send::families as send_families;
pub use serve::families as serve_families;
pub use server::{Server, address};
