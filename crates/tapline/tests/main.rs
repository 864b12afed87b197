//! All tests of this crate in one program, with one module per subject.

mod support;

use lab::{uml, vm};

/// The tests that run under User-Mode Linux.
static UML: uml::Tests = uml::Tests::named(&[
    "doctor::machine::",
    // Needs a kernel with VLANs of bridges.
    "examples::changes::a_bridge_has_the_ports_and_vlans_that_bridge_shows",
]);

/// The tests that run under other kernels in QEMU.
static VM: vm::Tests = vm::Tests::named(&[
    "ping::xdp::kernels::newer::",
    // Needs a kernel with VRFs.
    "ping::respond::vrf::",
    "ping::xdp::sources::vrf::",
]);
static OLDER_VM: vm::OlderTests =
    vm::OlderTests::named(&["ping::xdp::kernels::older::", "older_kernels::"]);

mod alone;
mod capture;
mod count;
mod doctor;
mod errors;
mod examples;
mod latency;
mod net;
mod older_kernels;
mod ping;
mod read;
mod send;
