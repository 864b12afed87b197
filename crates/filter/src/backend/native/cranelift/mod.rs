//! Cranelift code generation.

mod branches;
mod compile;
mod merge_tests;
mod required_bytes;
mod set_lookup;
mod set_tables;
mod values;
mod writer;

pub(super) use compile::generate;
