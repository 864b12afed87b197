//! Tests of this crate: one program, one module for each subject.

mod allocations;
mod fields;
mod hostile;
mod stand_in;
