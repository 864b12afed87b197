//! Back ends: each turns the graph of a filter into something that runs, and each gives the same verdict.

pub(crate) mod classic;
pub mod ebpf;
mod interpreter;
#[allow(unsafe_code, reason = "generated code is called through its address")]
pub mod native;
