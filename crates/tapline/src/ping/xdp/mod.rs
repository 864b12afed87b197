//! The back end in the kernel: programs send the probes, and count the replies.

mod engine;
mod hops;
mod requests;

pub(super) use engine::{XdpEngine, bytes_per_target, is_privilege};
