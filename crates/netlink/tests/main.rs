//! Tests of this crate: one program, one module for each subject.

mod allocations;
mod hostile;
mod stand_in;
