//! `tapline read`.
//!
//! `words` tells files and filter apart. Packets go from the inputs through the selection to the screen or into a copy; with `--summary`
//! each file is digested and reported instead.

mod copy;
mod cut;
mod destination;
mod digest;
mod expression;
mod input;
mod job;
mod judge;
mod matcher;
mod overwrite;
mod report;
mod selection;
mod sieve;
mod stream;
mod tally;
mod words;
mod work;

pub use job::run;
