//! `tapline latency`.

mod bars;
mod delays;
mod device;
mod job;
mod live;
mod report;
mod watch;

pub use job::run;
