//! Kernel interfaces: definitions from the kernel's headers, and everything that needs `unsafe`.
//!
//! Everything here is mechanism: uapi structs with their layouts, system calls that have no safe
//! wrapper elsewhere, memory shared with the kernel, descriptors and clocks. It knows nothing of
//! packets' contents and has no policy. Each `unsafe` block names the check, the owner or the
//! kernel rule that makes it sound; the rooms above build on safe functions only, but for `ring`,
//! which walks memory that the kernel writes.

pub mod bpf;
pub mod clock;
mod devices;
pub mod kernel;
pub mod machine;
mod memory;
mod processes;
mod security;
mod sockets;
pub mod uapi;

pub use devices::{ethtool, interface, tun};
pub use memory::{pages, prefetch, region, ring_buffer};
pub use processes::{executable, process, scheduling, signal};
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use security::attacker;
pub use security::{landlock, namespace, seccomp, user};
pub use sockets::{datagram, open_socket, packet, socket, timestamp, xdp};
