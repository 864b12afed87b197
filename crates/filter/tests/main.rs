//! Tests of this crate: one program, one module for each subject.

mod corpus;
mod programs;

mod accept;
mod apply;
mod differences;
mod ebpf;
mod errors;
mod explain;
mod kernel;
mod libpcap;
mod listings;
mod native;
mod reject;
mod sets;
mod tcpdump;
mod text;
mod warnings;
