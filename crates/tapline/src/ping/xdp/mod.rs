//! The back end in the kernel: programs send the probes, and count the replies.

mod af_xdp;
mod change_watch;
mod counters;
mod engine;
mod hops;
mod requests;
mod setup;

pub(super) use engine::XdpEngine;
pub(super) use setup::{bytes_per_target, is_privilege};
