//! The checks. Each examines one subject and adds its result to the report.

mod clocks;
mod ebpf;
mod icmp;
mod interrupts;
mod neighbours;
mod offloads;
mod queues;
mod rings;
mod sandbox;
mod sockets;
mod xdp;

use super::paths::{InterfaceContext, SystemPaths};
use super::report::Report;

/// Checks of the host and the network namespace, in the order of the report.
pub(super) const HOST_CHECKS: [fn(&SystemPaths, &mut Report); 13] = [
    rings::check_versions,
    rings::check_block_timer,
    ebpf::check,
    sockets::check_filter_length,
    xdp::check_sockets,
    sockets::check_locked_memory,
    sockets::check_buffers,
    sockets::check_busy_polling,
    clocks::check_clock_source,
    sockets::check_ping_sockets,
    neighbours::check,
    icmp::check,
    sandbox::check,
];

/// Checks of an interface, in the order of the report.
pub(super) const INTERFACE_CHECKS: [fn(&InterfaceContext<'_>, &mut Report); 10] = [
    queues::check_link_state,
    xdp::check_driver,
    xdp::check_programs,
    clocks::check_time_stamping,
    clocks::check_device_clock,
    offloads::check,
    queues::check_queues,
    interrupts::check_coalescing,
    interrupts::check_polling,
    interrupts::check_affinity,
];
