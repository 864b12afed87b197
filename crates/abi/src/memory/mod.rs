//! Memory: shared with the kernel, locked, and as the CPU fetches it.

pub mod pages;
pub mod prefetch;
pub mod region;
pub mod ring_buffer;
