//! Test hosts in namespaces, traffic, skips that are counted and the tools to compare with, for the
//! tests of tapline. Never shipped.
//!
//! Everything here serves tests: what goes wrong panics, so that the test's line is shown.

#![forbid(unsafe_code)]
#![expect(clippy::missing_panics_doc, reason = "said above, for all of it")]

pub mod generator;
pub mod guest;
pub mod held;
pub mod net;
pub mod oracle;
pub mod refusal;
pub mod rerun;
pub mod skip;
pub mod tool;
pub mod uml;
pub mod vm;
pub mod wait;

/// For the tests of rooms that may not know it, such as those of the rings that its programs feed.
pub use bpf;
pub use net::{Host, Interface, Net};
