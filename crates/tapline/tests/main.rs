//! All tests of this crate in one program, with one module per subject.

mod count_support;
mod support;

use lab::{uml, vm};

/// The tests that run under User-Mode Linux.
static UML: uml::Tests = uml::Tests::named(&[
    "doctor_machine::",
    // Needs a kernel with VLANs of bridges.
    "examples::changes::a_bridge_has_the_ports_and_vlans_that_bridge_shows",
]);

/// The tests that run under other kernels in QEMU.
static VM: vm::Tests = vm::Tests::named(&[
    "ping_kernels::newer::",
    // Needs a kernel with VRFs.
    "ping_respond::vrf::",
    "ping_xdp_sources::vrf::",
]);
static OLDER_VM: vm::OlderTests =
    vm::OlderTests::named(&["ping_kernels::older::", "older_kernels::"]);

mod allocations;
mod alone;
mod change;
mod change_memory;
mod conservation;
mod count_changes;
mod count_ends;
mod count_exact;
mod count_groups;
mod count_leaks;
mod count_offload;
mod count_stamps;
mod doctor;
mod doctor_machine;
mod doctor_programs;
mod drop;
mod drop_slots;
mod ends;
mod errors;
mod examples;
mod latency;
mod links;
mod net;
mod older_kernels;
mod ping;
mod ping_answers;
mod ping_changes;
mod ping_errors;
mod ping_kernels;
mod ping_limits;
mod ping_neighbours;
mod ping_reply_batches;
mod ping_respond;
mod ping_ring;
mod ping_settings;
mod ping_sweeps;
mod ping_xdp;
mod ping_xdp_follows;
mod ping_xdp_forged;
mod ping_xdp_limits;
mod ping_xdp_neighbours;
mod ping_xdp_sources;
mod pull;
mod read;
mod read_index;
mod ringbuf;
mod rotation;
mod send;
mod send_ends;
mod send_generate;
mod send_paths;
mod send_uplink;
