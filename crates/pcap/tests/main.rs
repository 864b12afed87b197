//! Tests of libpcap's interface: the same programs with libpcap and with this library.

mod abi;
mod adapter;
mod bindings;
mod calls;
mod files;
mod filters;
mod fuzzing;
mod guide;
mod programs;
mod rejected_packets;
mod scenarios;
mod support;
mod tools;
mod unwinding;
