//! In which order things are looked at.

use super::super::place::{Place, Roots};
use super::super::report::Report;
use super::{
    bpf_filters, buffers, clock, clock_utc, coalescing, ebpf, icmp, interrupts, locked_memory,
    neighbours, offloads, ping_sockets, polling, programs, queues, rings, spinning, stamps, state,
    timer, xdp,
};

/// The machine and the network namespace.
pub(in super::super) const OF_THE_MACHINE: [fn(&Roots, &mut Report); 12] = [
    rings::check,
    timer::check,
    ebpf::check,
    bpf_filters::check,
    xdp::check_sockets,
    locked_memory::check,
    buffers::check,
    spinning::check,
    clock::check,
    ping_sockets::check,
    neighbours::check,
    icmp::check,
];

/// An interface.
pub(in super::super) const OF_AN_INTERFACE: [fn(&Place<'_>, &mut Report); 10] = [
    state::check,
    xdp::check,
    programs::check,
    stamps::check,
    clock_utc::check,
    offloads::check,
    queues::check,
    coalescing::check,
    polling::check,
    interrupts::check,
];
