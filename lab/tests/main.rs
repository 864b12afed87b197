//! Tests of the lab, and of several crates together.

mod witness;

use tapline_lab::{uml, vm};

/// The tests that run under user-mode-linux.
static UML: uml::Tests = uml::Tests::named(&[
    "net_fake::rare_links_are_deleted_with_their_lower_link",
    "net_faults::vlans_under_faults",
    "net_kinds::",
    "net_packet_route::recorded::links_of_all_kinds_are_seen_alike",
    "net_vlan::",
    "send_txtime::",
    "send_uplink::",
    // Last, since it sets the clock.
    "ping_clock::",
]);

/// The tests that run under a newer kernel in QEMU.
static VM: vm::Tests = vm::Tests::named(&["net_newest::", "hwtstamp::", "steering::"]);

mod benchmarks;
mod filter_differences;
mod filter_differential;
mod generator;
mod hwtstamp;
mod net_addr;
mod net_again;
mod net_batch;
mod net_burst;
mod net_drivers;
mod net_ethtool;
mod net_ethtool_set;
mod net_fake;
mod net_faults;
mod net_fdb;
mod net_fdb_watch;
mod net_host;
mod net_kinds;
mod net_link;
mod net_mdb;
mod net_names;
mod net_neigh;
mod net_newer;
mod net_newest;
mod net_nexthop;
mod net_objects;
mod net_odd;
mod net_packet_route;
mod net_route;
mod net_route_refusals;
mod net_route_watch;
mod net_rule;
mod net_silence;
mod net_stats;
mod net_tun;
mod net_vlan;
mod net_watch;
mod ping_clock;
mod send_txtime;
mod send_uplink;
mod steering;
mod tidy;
