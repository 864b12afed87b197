//! Control of running captures: the server in a capture, and `tapline ctl`.

mod ctl;
mod hwtstamp;
mod server;
mod settings;
mod start;

pub use ctl::run;
pub use server::{Control, RunningControl, socket};
