//! Tests of this crate: one program, one module for each subject.

mod allocations;
mod fake_kernel;
mod fields;
mod hostile;
