//! Where requests go: routes to the targets, next hops, and the MAC addresses of neighbours.

mod hop_table;
mod hop_update;
mod hops;
mod intervals;
mod neighbours;
mod route_kind;
mod routes;
mod source_prefixes;

pub(super) use hop_update::{HopUpdate, REFRESH_NS, set_targets};
pub(super) use hops::{HopOptions, NextHopState, NextHops};
pub(super) use routes::{is_in_vrf, is_up};
