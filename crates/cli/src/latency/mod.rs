//! `tapline latency`.

mod bars;
mod delays;
mod device;
mod job;
mod live;
mod page;
mod report;
mod watch;

pub use delays::time;
pub use job::run;
