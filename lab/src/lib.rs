//! Test support for tapline: test hosts in namespaces, traffic, counted skips and the tools to compare with. Never
//! shipped.
//!
//! Everything here panics on failure, so that the panic points to the line of the test.

#![forbid(unsafe_code)]
#![expect(clippy::missing_panics_doc, reason = "said above, for all of it")]

pub mod benchmarks;
pub mod generator;
pub mod guest;
pub mod kernel;
pub mod mutate;
pub mod net;
pub mod once;
pub mod oracle;
pub mod refusal;
pub mod rerun;
pub mod resources;
pub mod skip;
pub mod stamp_device;
pub mod systemd;
pub mod tool;
pub mod uml;
pub mod vm;
pub mod wait;

/// For tests of crates that must not depend on `bpf`, such as `ring`, which receives from its programs.
pub use bpf;
pub use net::{Host, Interface, Net};

/// The Rust examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/library.md")]
struct Guide;

/// The Rust examples in the readme of the library.
#[cfg(doctest)]
#[doc = include_str!("../../crates/tapline/README.md")]
struct Readme;
