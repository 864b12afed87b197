//! `tapline latency`.

mod bars;
mod device;
mod job;
mod live;
mod report;
mod watch;

pub use job::run;
