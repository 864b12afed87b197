//! `tapline read`.
//!
//! Packets go from the inputs through the selection to the screen or into a copy; with `--summary`
//! each file is digested and reported instead.

mod copy;
mod cut;
mod destination;
mod digest;
mod input;
mod job;
mod overwrite;
mod report;
mod selection;
mod stream;
mod tally;

pub use job::run;
