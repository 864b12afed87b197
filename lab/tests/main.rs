//! Tests of the lab, and of several crates together.

mod witness;

use tapline_lab::{uml, vm};

/// The tests that run under user-mode-linux.
static UML: uml::Tests = uml::Tests::named(&[
    "netlink::transport::fake::rare_links_are_deleted_with_their_lower_link",
    "netlink::transport::faults::vlans_under_faults",
    "netlink::link::kinds::",
    "netlink::packet_route::recorded::links_of_all_kinds_are_seen_alike",
    "netlink::bridge::vlan::",
    "send::txtime::",
    "send::uplink::",
    // Last, since it sets the clock.
    "ping_clock::",
]);

/// The tests that run under a newer kernel in QEMU.
static VM: vm::Tests = vm::Tests::named(&["netlink::link::newest::", "hwtstamp::", "steering::"]);

mod benchmarks;
mod filter;
mod generator;
mod hwtstamp;
mod net;
mod netlink;
mod ping_clock;
mod send;
mod steering;
mod tidy;
