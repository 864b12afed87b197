//! Kernel interfaces: definitions from the kernel's headers, and everything that needs `unsafe`.
//!
//! Everything here is mechanism: uapi structs with their layouts, system calls that have no safe
//! wrapper elsewhere, memory shared with the kernel, descriptors and clocks. It knows nothing of
//! packets' contents and has no policy. Each `unsafe` block names the check, the owner or the
//! kernel rule that makes it sound; the rooms above build on safe functions only, but for `ring`,
//! which walks memory that the kernel writes.

pub mod bpf;
pub mod clock;
pub mod datagram;
pub mod ethtool;
pub mod executable;
pub mod interface;
pub mod kernel;
pub mod landlock;
pub mod machine;
pub mod namespace;
pub mod packet;
pub mod pages;
pub mod prefetch;
pub mod process;
pub mod region;
pub mod ring_buffer;
pub mod scheduling;
pub mod seccomp;
pub mod signal;
pub mod socket;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod takeover;
pub mod timestamp;
pub mod tun;
pub mod uapi;
pub mod user;
pub mod xdp;
