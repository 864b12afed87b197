//! Native code: the fastest way to ask one filter of many packets, made by Cranelift.
//!
//! A [`Program`] gives for every packet what [`Filter::run`](crate::Filter::run) gives.
//!
//! ```text
//! graph ─▶ footprint: bytes a node reads ─▶ need: bytes every accepting way reads
//!                                        ─▶ plan: tests that become one without a branch
//!       ─▶ tables: sets as bits, hashes, ranges ─▶ walk: Cranelift's form ─▶ machine code
//! ```
//!
//! * A packet too short for every accepting way is refused as soon as that is known: one check
//!   stands for many, and no verdict changes.
//! * Values are computed once on a way, and constants are swapped instead of loads.
//! * A filter that ends in one choice ends without a branch, which nobody can predict wrongly.

mod beside;
/// Where Cranelift writes code for the machine.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]
mod code;
/// Elsewhere there is no native code.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
)))]
#[path = "native/none.rs"]
mod code;
mod error;
mod program;

use code::make;
pub use error::NativeError;
pub use program::{Packet, Program};
