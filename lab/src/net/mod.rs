//! Test hosts: namespaces of their own, joined by veth, silent until a test sends.
//!
//! ```text
//!   Host "left"                         Host "right"
//!   left0  10.1.0.1/24, fd00:1::1/64 ── right0  10.1.0.2/24, fd00:1::2/64
//!   02:00:00:00:01:01                   02:00:00:00:01:02
//! ```
//!
//! A host is an anonymous namespace: it is gone when the value is dropped and when the process ends,
//! however that happens. Nothing here touches the machine's own interfaces: every way into a host goes
//! through a guard that refuses the namespace of the machine and that of the test process.
//!
//! Hosts know each other's hardware addresses and do not ask for them, so nothing but the test's own
//! packets crosses a link and counters can be compared exactly.

mod guard;
mod host;
mod join;
mod quiet;
mod wait;

pub use guard::refuse_the_machine;
pub use host::{Host, Interface};
pub use join::Net;
