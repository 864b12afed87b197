//! `tapline batch`: many commands, in few system calls, with a result for each line.

mod command;
mod job;
mod line;

pub use job::run;
