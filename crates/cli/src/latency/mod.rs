//! `tapline latency`.

mod device;
mod job;
mod report;
mod watch;

pub use job::run;
