//! Native code: the fastest way to run one filter on many packets, generated with Cranelift.
//!
//! A [`NativeProgram`] returns for every packet what [`Filter::run`](crate::Filter::run) returns.
//!
//! ```text
//! graph ─▶ required_bytes: bytes that a node reads, and bytes that every accepting path reads
//!       ─▶ merge_tests: tests that become one condition without a branch
//!       ─▶ set_tables: sets as bitmaps, hash tables and range indexes
//!       ─▶ writer: Cranelift IR ─▶ machine code
//! ```
//!
//! * A packet too short for every accepting path is rejected as soon as that is known: one length check
//!   replaces many, and no verdict changes.
//! * Each value is computed once on a path, and constants are byte-swapped instead of loads.
//! * A filter that ends in a single choice ends without a branch, so nothing can be mispredicted.

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
))]
mod cranelift;
/// Architectures for which Cranelift generates no code.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_endian = "little"
)))]
#[path = "unsupported.rs"]
mod cranelift;
mod program;

use cranelift::generate;
pub use program::{NativeError, NativePacket, NativeProgram};
