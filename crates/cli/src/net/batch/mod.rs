//! `tapline batch`: many commands, few system calls, an answer for each.

mod apart;
mod job;
mod line;
mod renamed;

pub use job::run;
