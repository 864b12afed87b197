//! The back end in the kernel: programs send the probes, and count the replies.

mod af_xdp;
mod counters;
mod engine;
mod link_monitor;
mod link_outage;
mod requests;
mod routing;
mod setup;
mod waiting_probes;

pub(super) use engine::XdpEngine;
pub(super) use setup::{bytes_per_target, is_privilege};
