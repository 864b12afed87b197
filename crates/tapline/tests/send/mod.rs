//! Sending: jobs, paths, generated packets, and interfaces that are refused.

mod ends;
mod generate;
mod job;
pub mod paths;
mod uplink;
