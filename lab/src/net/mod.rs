//! Test hosts: network namespaces joined by veth pairs, silent until a test sends.
//!
//! ```text
//!   Host "left"                         Host "right"
//!   left0  10.1.0.1/24, fd00:1::1/64 ── right0  10.1.0.2/24, fd00:1::2/64
//!   02:00:00:00:01:01                   02:00:00:00:01:02
//! ```
//!
//! A host is an anonymous namespace. The kernel removes it when the value is dropped or the process exits, even if it
//! is killed. The machine's own interfaces are never changed: every method checks that the namespace is neither the
//! machine's nor the test process's own.
//!
//! Hosts have static neighbour entries and send no ARP or NDP requests. Only the test's packets cross a link, so tests
//! can compare counters exactly.

mod guard;
mod host;
mod join;
mod quiet;
mod wait;

pub use guard::refuse_the_machine;
pub use host::{Host, Interface};
pub use join::Net;
