//! Captures: what they accept, what they write, and what they report.

mod account;
mod drop;
mod failures;
mod files;
mod filter;
mod index;
mod metrics;
pub mod netns;
mod options;
mod output;
pub mod readers;
mod recorder;
mod ringbuf;
mod sample;
mod signals;
mod sockets;
mod tls_secrets;
mod usage;
mod who;
