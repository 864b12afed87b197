//! Test hosts.

mod host;
mod silence;
