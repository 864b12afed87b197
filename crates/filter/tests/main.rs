//! Tests of this crate: one program, one module for each subject.

mod corpus;
mod programs;

mod accept;
mod differences;
mod ebpf;
mod engines;
mod errors;
mod explain;
mod kernel;
mod layers;
mod libpcap;
mod listings;
mod native;
mod reject;
mod text;
mod warnings;
