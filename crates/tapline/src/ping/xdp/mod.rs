//! The back end in the kernel: programs send the probes, and count the replies.

mod af_xdp;
mod counters;
mod engine;
mod hop_table;
mod hop_update;
mod hops;
mod intervals;
mod link_monitor;
mod link_outage;
mod neighbours;
mod requests;
mod route_kind;
mod routes;
mod setup;
mod source_prefixes;
mod waiting_probes;

pub(super) use engine::XdpEngine;
pub(super) use setup::{bytes_per_target, is_privilege};
