//! The checks: each one subject, and one thing to be found out about it.

mod bpf_filters;
mod buffers;
mod clock;
mod clock_utc;
mod coalescing;
mod ebpf;
mod icmp;
mod interrupts;
mod locked_memory;
mod neighbours;
mod offloads;
mod ping_sockets;
mod polling;
mod programs;
mod queues;
mod rings;
mod spinning;
mod stall;
mod stamps;
mod state;
mod table;
mod timer;
mod xdp;

pub(super) use table::{OF_AN_INTERFACE, OF_THE_MACHINE};
