//! `tapline latency`.

mod job;
mod report;
mod watch;

pub use job::run;
