//! Processes and threads: their programs, their scheduling, their signals.

pub mod executable;
pub mod process;
pub mod scheduling;
pub mod signal;
